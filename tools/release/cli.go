package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	operator = "kube8-operator"    // with `render`
	plugin   = "kubectl-collector" // for kubectl
)

// commandLines are archives of the two command lines, one for each platform on which people use them, and the manifest by
// which krew installs the plugin.
func (t *tree) commandLines(platforms []string) (archives []file, err error) {
	manifest := t.krew()
	for _, program := range []string{operator, plugin} {
		for _, platform := range platforms {
			archive, err := t.commandLine(program, platform)
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", program, platform, err)
			}
			archives = append(archives, archive)
			if program == plugin {
				manifest.add(t.version, platform, archive)
			}
		}
	}
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return nil, fmt.Errorf("write krew's manifest: %w", err)
	}
	return append(archives, file{name: manifest.Metadata.Name + ".yaml", body: text}), nil
}

func (t *tree) commandLine(program, platform string) (file, error) {
	os, arch, _ := strings.Cut(platform, "/")
	files, err := readFiles(t.dir, "LICENSE")
	if err != nil {
		return file{}, err
	}
	binary, err := readFiles(t.dir, "bin/cli-"+os+"-"+arch+"/"+program)
	if err != nil {
		return file{}, err
	}
	extension, pack := ".tar.gz", t.tarGz
	if os == "windows" {
		extension, pack = ".zip", t.zip
	}
	body, err := pack(append(files, file{name: executable(program, os), executable: true, body: binary[0].body}))
	return file{name: program + "_" + t.version + "_" + os + "_" + arch + extension, body: body}, err
}

// executable is the name of a program's file.
func executable(program, os string) string {
	if os == "windows" {
		return program + ".exe"
	}
	return program
}

// krewManifest is what krew knows of a plugin: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
type krewManifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   krewName `json:"metadata"`
	Spec       krewSpec `json:"spec"`
}

type krewName struct {
	Name string `json:"name"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector krewSelector `json:"selector"`
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Files    []krewFile   `json:"files"`
	Bin      string       `json:"bin"`
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type krewFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const homepage = "https://github.com/kube8/kube8-operator"

// krew returns the manifest without platforms.
func (t *tree) krew() *krewManifest {
	return &krewManifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: krewName{"collector"},
		Spec: krewSpec{
			Version: "v" + t.version, Homepage: homepage,
			ShortDescription: "Create, change and explain telemetry collectors",
			Description: "Works with the Collectors of kube8-operator: creates them, edits and compares\n" +
				"their configurations, explains why one is not ready, rolls back, and writes\nsupport bundles without secrets.\n",
		},
	}
}

// add adds the archive of a platform.
func (m *krewManifest) add(version, platform string, archive file) {
	os, arch, _ := strings.Cut(platform, "/")
	bin := executable(plugin, os)
	m.Spec.Platforms = append(m.Spec.Platforms, krewPlatform{
		Selector: krewSelector{map[string]string{"os": os, "arch": arch}},
		URI:      homepage + "/releases/download/v" + version + "/" + archive.name,
		SHA256:   fmt.Sprintf("%x", sha256.Sum256(archive.body)),
		Files:    []krewFile{{From: bin, To: "."}, {From: "LICENSE", To: "."}},
		Bin:      bin,
	})
}
