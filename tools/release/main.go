// Command release writes everything that a release holds to a folder: images for all platforms as OCI archives, the command
// line for people's machines, manifests, bundle, catalog, charts, SBOMs, VEX, notes and checksums. The same commit gives the same
// bytes, on any machine and with no container tool: times are that of the commit, owners and file modes are normalised, and
// all that is written is sorted.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	version := flag.String("version", "", "the version to release, such as 1.2.3")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "the images' platforms, whose binaries are in bin/OS-ARCH")
	cliPlatforms := flag.String("cli-platforms", "linux/amd64", "the command line's platforms, whose binaries are in bin/cli-OS-ARCH")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: release --version=VERSION [FLAG…] TREE DIST-FOLDER")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 || *version == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := release(flag.Arg(0), flag.Arg(1), *version, strings.Split(*platforms, ","), strings.Split(*cliPlatforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
