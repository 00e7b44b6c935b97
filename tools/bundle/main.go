// Command bundle completes the ClusterServiceVersion that operator-sdk generates: with the image that it installs, the
// icon, and what the CRD says of the fields that the console shows. It takes the time of creation from the hand-written
// base, because operator-sdk's would differ with each run.
package main

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

const csvFile = "kube8-operator.clusterserviceversion.yaml"

func main() {
	image := flag.String("image", "", "the operator's image")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: bundle --image=IMAGE CONFIG-FOLDER BUNDLE-FOLDER")
	}
	flag.Parse()
	if flag.NArg() != 2 || *image == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*image, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(image, config, bundle string) error {
	var csv, base, crd map[string]any
	path := filepath.Join(bundle, "manifests", csvFile)
	for path, into := range map[string]*map[string]any{
		path: &csv,
		filepath.Join(config, "manifests", "bases", csvFile):         &base,
		filepath.Join(config, "crd/bases/kube8.dev_collectors.yaml"): &crd,
	} {
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a manifest: %w", err)
		}
		if err := yaml.Unmarshal(content, into); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	icon, err := os.ReadFile(filepath.Join(config, "manifests", "icon.svg"))
	if err != nil {
		return fmt.Errorf("read the icon: %w", err)
	}
	if err := complete(csv, base, image, base64.StdEncoding.EncodeToString(icon)); err != nil {
		return err
	}
	if err := describe(csv, crd); err != nil {
		return err
	}
	out, err := yaml.Marshal(csv)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, out, 0o644); err != nil {
		return fmt.Errorf("write the ClusterServiceVersion: %w", err)
	}
	return nil
}
