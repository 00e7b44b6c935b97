package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewManifest has every field that krew knows and we use.
type krewManifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description string
		Platforms                                        []struct {
			Selector         struct{ MatchLabels map[string]string }
			URI, SHA256, Bin string
			Files            []krewFile
		}
	}
}

type krewFile struct{ From, To string }

// checkKrew checks a manifest by the rules that krew documents and enforces, and against the archives that it names. krew
// itself is no Go module that can be had.
func checkKrew(text []byte, version string, archives map[string][]byte) error {
	var m krewManifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return err
	}
	var problems []error
	require := func(holds bool, format string, values ...any) {
		if !holds {
			problems = append(problems, fmt.Errorf(format, values...))
		}
	}
	require(m.APIVersion == "krew.googlecontainertools.github.com/v1alpha2" && m.Kind == "Plugin", "it is %s %s", m.APIVersion, m.Kind)
	require(regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(m.Metadata.Name), "the name %q cannot be a plugin's", m.Metadata.Name)
	require(m.Spec.Version == "v"+version, "the version is %s", m.Spec.Version)
	require(strings.HasPrefix(m.Spec.Homepage, "https://"), "the homepage is %q", m.Spec.Homepage)
	require(m.Spec.ShortDescription != "" && len(m.Spec.ShortDescription) <= 50 && !strings.Contains(m.Spec.ShortDescription, "\n"),
		"the short description %q has no text, more than 50 characters, or more than one line", m.Spec.ShortDescription)
	for line := range strings.Lines(m.Spec.Description) {
		require(len(line) <= 81, "a line of the description has more than 80 characters: %s", line)
	}
	require(len(m.Spec.Platforms) == len(archives), "it has %d platforms for %d archives", len(m.Spec.Platforms), len(archives))
	seen := map[string]bool{}
	for _, p := range m.Spec.Platforms {
		platform := p.Selector.MatchLabels["os"] + "_" + p.Selector.MatchLabels["arch"]
		require(len(p.Selector.MatchLabels) == 2 && !seen[platform], "the selector %v overlaps, or has other keys than os and arch", p.Selector)
		seen[platform] = true
		name := path.Base(p.URI)
		body, found := archives[name]
		require(found && strings.Contains(name, "_"+platform+"."), "%s is no archive of %s", p.URI, platform)
		require(p.URI == homepage+"/releases/download/v"+version+"/"+name, "the URI is %s", p.URI)
		require(p.SHA256 == fmt.Sprintf("%x", sha256.Sum256(body)), "%s has another SHA-256", name)
		inside, err := namesIn(name, body)
		require(err == nil, "%s: %v", name, err)
		installed := false
		for _, f := range p.Files {
			require(slices.Contains(inside, f.From) && f.To == ".", "%s has no %s", name, f.From)
			installed = installed || f.From == p.Bin
		}
		require(installed && slices.ContainsFunc(p.Files, func(f krewFile) bool { return f.From == "LICENSE" }), "%s: %s or LICENSE is not installed", name, p.Bin)
	}
	return errors.Join(problems...)
}

// namesIn returns the names of the files in an archive.
func namesIn(name string, body []byte) (names []string, err error) {
	if strings.HasSuffix(name, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return nil, err
		}
		for _, f := range r.File {
			names = append(names, f.Name)
		}
		return names, nil
	}
	compressed, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(compressed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, header.Name)
	}
}

func TestAManifestThatKrewWouldRefuseIsFound(t *testing.T) {
	tree := newTree(t, map[string]string{
		"LICENSE": "text", "bin/cli-linux-amd64/kube8-operator": "ELF", "bin/cli-linux-amd64/kubectl-collector": "ELF too",
	})
	archives, err := tree.commandLines([]string{"linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string][]byte{archives[1].name: archives[1].body}
	if err := checkKrew(archives[2].body, "1.2.3", named); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct{ from, to, want string }{
		"another version of the schema": {"v1alpha2", "v1", "it is krew"},
		"an unknown field":              {"homepage:", "homePages:", "unknown field"},
		"a version without v":           {"version: v1", "version: 1", "the version is"},
		"another checksum":              {"sha256: ", "sha256: 0", "has another SHA-256"},
		"another release":               {"download/v1.2.3", "download/v1.2.4", "the URI is"},
		"a selector of something else":  {"arch: amd64", "cpu: amd64", "is no archive of linux_"},
		"a program that is not there":   {"bin: kubectl-collector", "bin: kubectl-collectors", "is not installed"},
		"a file that is not there":      {"from: LICENSE", "from: LICENCE", "has no LICENCE"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(string(archives[2].body), row.from, row.to)
			if err := checkKrew([]byte(text), "1.2.3", named); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
