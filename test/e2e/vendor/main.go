// Command vendor stands in for Grafana Alloy in the end-to-end tests, because no module builds it: it takes Alloy's
// arguments, refuses a configuration with a variable that it does not have, and says where Alloy does that it is ready.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"
)

var variable = regexp.MustCompile(`sys\.env\("([^"]+)"\)`)

func main() {
	fmt.Fprintln(os.Stderr, "vendor:", run(os.Args[1:]))
	os.Exit(1)
}

// run serves until it fails.
func run(args []string) error {
	if slices.Equal(args, []string{"hang"}) { // a sidecar that is slow to end
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		for range signals { // each is ignored
		}
	}
	if len(args) == 0 || args[0] != "run" {
		return errors.New("usage: vendor run [flags] FILE, or vendor hang")
	}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	address := flags.String("server.http.listen-addr", "127.0.0.1:12345", "where to say that it is ready")
	storage := flags.String("storage.path", "data-alloy", "folder for what it keeps")
	flags.Bool("cluster.enabled", false, "not done")
	flags.String("cluster.join-addresses", "", "not joined")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	config, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	if err := check(string(config), os.Getenv); err != nil {
		return err
	}
	if err := os.MkdirAll(*storage, 0o700); err != nil {
		return err
	}
	paths := http.NewServeMux()
	for _, path := range []string{"/-/ready", "/-/healthy"} {
		paths.HandleFunc("GET "+path, func(http.ResponseWriter, *http.Request) {})
	}
	paths.HandleFunc("GET /endless", func(w http.ResponseWriter, r *http.Request) { // for the test of spec.flow
		for r.Context().Err() == nil {
			fmt.Fprintln(w, "alloy_endless 1")
		}
	})
	server := &http.Server{Addr: *address, Handler: paths, ReadHeaderTimeout: time.Second}
	return server.ListenAndServe()
}

// check refuses a configuration that is not Alloy's, or names a variable without a value.
func check(config string, getenv func(string) string) error {
	named := variable.FindAllStringSubmatch(config, -1)
	if len(named) == 0 {
		return errors.New("the configuration has no sys.env")
	}
	for _, match := range named {
		if getenv(match[1]) == "" {
			return fmt.Errorf("the configuration names %s, which has no value", match[1])
		}
	}
	return nil
}
