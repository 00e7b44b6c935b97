package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

const (
	operator = "kube8-operator"    // with `render`
	plugin   = "kubectl-collector" // for kubectl
)

//go:embed krew.yaml.tmpl
var krewTemplate string

// krewPlatform is what krew's manifest says of an archive of the plugin.
type krewPlatform struct{ OS, Arch, Archive, SHA256, Bin string }

// commandLines are archives of the two command lines, one for each platform, and the manifest that krew installs the plugin
// with.
func (t *tree) commandLines(platforms []string) (archives []file, err error) {
	license, err := readFiles(t.dir, "LICENSE")
	if err != nil {
		return nil, err
	}
	var plugins []krewPlatform
	for _, program := range []string{operator, plugin} {
		for _, platform := range platforms {
			os, arch, _ := strings.Cut(platform, "/")
			binary, err := readFiles(t.dir, "bin/cli-"+os+"-"+arch+"/"+program)
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", program, platform, err)
			}
			bin, extension, pack := program, ".tar.gz", t.tarGz
			if os == "windows" {
				bin, extension, pack = program+".exe", ".zip", t.zip
			}
			body, err := pack(slices.Concat(license, []file{{name: bin, executable: true, body: binary[0].body}}))
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", program, platform, err)
			}
			archive := file{name: program + "_" + t.version + "_" + os + "_" + arch + extension, body: body}
			archives = append(archives, archive)
			if program == plugin {
				plugins = append(plugins, krewPlatform{os, arch, archive.name, fmt.Sprintf("%x", sha256.Sum256(body)), bin})
			}
		}
	}
	manifest, err := template.New("krew.yaml.tmpl").Parse(krewTemplate)
	if err != nil {
		return nil, fmt.Errorf("read krew's manifest: %w", err)
	}
	var text bytes.Buffer
	if err := manifest.Execute(&text, map[string]any{"Version": t.version, "Platforms": plugins}); err != nil {
		return nil, fmt.Errorf("write krew's manifest: %w", err)
	}
	return append(archives, file{name: "collector.yaml", body: text.Bytes()}), nil
}
