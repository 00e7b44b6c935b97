// Command registry serves images over TLS from a folder, the paths of whose files are those of the registry API.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: registry FOLDER CERTIFICATE KEY, got %q", args)
	}
	files := http.FileServer(http.Dir(args[0]))
	serve := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		}
		files.ServeHTTP(w, r)
	}
	return http.ListenAndServeTLS(":5000", args[1], args[2], http.HandlerFunc(serve)) //nolint:gosec // it serves a test
}
