// Command catalog adds a bundle, as `opm render` prints it, to a file-based catalog: one file for each bundle, and one for
// the package and its channels.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	channels := flag.String("channels", "", "the channels that the bundle is in")
	icon := flag.String("icon", "", "the package's icon, an SVG file")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: opm render -o yaml BUNDLE | catalog --channels=NAME,… --icon=FILE CATALOG-FOLDER")
	}
	flag.Parse()
	if flag.NArg() != 1 || *channels == "" || *icon == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdin, strings.Split(*channels, ","), *icon, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, channels []string, iconFile, dir string) error {
	bundle, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	icon, err := os.ReadFile(iconFile)
	if err != nil {
		return fmt.Errorf("read the icon: %w", err)
	}
	return add(dir, bundle, icon, channels)
}
