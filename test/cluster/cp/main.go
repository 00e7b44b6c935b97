// Command cp copies one file, for images that have no other: OLM unpacks a
// bundle with the cp of its own image.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	var paths []string
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-") {
			paths = append(paths, arg)
		}
	}
	if len(paths) != 2 {
		fmt.Fprintln(os.Stderr, "usage: cp [-Rv] FILE COPY")
		os.Exit(2)
	}
	content, err := os.ReadFile(paths[0])
	if err == nil {
		err = os.WriteFile(paths[1], content, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cp:", err)
		os.Exit(1)
	}
}
