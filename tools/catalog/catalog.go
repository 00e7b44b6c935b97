package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"
)

const channelsFile = "channels.yaml"

// candidate is the only channel for pre-releases.
const candidate = "candidate"

// steadiest lists all channels; the first that has a bundle is the package's default.
var steadiest = []string{"stable", "fast", candidate}

// pkg is a document of schema olm.package.
type pkg struct {
	Schema         string `json:"schema"`
	Name           string `json:"name"`
	DefaultChannel string `json:"defaultChannel"`
	Icon           icon   `json:"icon"`
}

type icon struct {
	Data      []byte `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// channel is a document of schema olm.channel.
type channel struct {
	Schema  string  `json:"schema"`
	Name    string  `json:"name"`
	Package string  `json:"package"`
	Entries []entry `json:"entries"`
}

// entry is a bundle in a channel. It replaces the one before it, and any older one without a step in between.
type entry struct {
	Name      string `json:"name"`
	Replaces  string `json:"replaces,omitempty"`
	SkipRange string `json:"skipRange"`

	version *semver.Version
}

// add writes the bundle's file, and puts it into exactly these channels. The rest of the catalog stays.
func add(dir string, bundle, svg []byte, channels []string) error {
	var doc struct {
		Schema, Name, Package, Image string
	}
	if err := yaml.Unmarshal(bundle, &doc); err != nil {
		return fmt.Errorf("the bundle: %w", err)
	}
	if doc.Schema != "olm.bundle" || doc.Image == "" {
		return errors.New("the input is no olm.bundle with an image: name the image's template to opm render")
	}
	added, err := newEntry(doc.Name)
	if err != nil {
		return err
	}
	if added.version.Prerelease() != "" && !slices.Equal(channels, []string{candidate}) {
		return fmt.Errorf("%s is a pre-release: set the channels to %s", doc.Name, candidate)
	}

	dir = filepath.Join(dir, doc.Package)
	old, err := read(filepath.Join(dir, channelsFile))
	if err != nil {
		return err
	}
	out, err := documents(doc.Package, svg, old, added, channels)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the catalog's folder: %w", err)
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, doc.Name+".yaml"), bundle, 0o644),
		os.WriteFile(filepath.Join(dir, channelsFile), out, 0o644),
	); err != nil {
		return fmt.Errorf("write the catalog: %w", err)
	}
	return nil
}

// documents returns the package and its channels in YAML.
func documents(name string, svg []byte, old []channel, added entry, channels []string) ([]byte, error) {
	entries := map[string][]entry{}
	for _, channel := range old {
		entries[channel.Name] = slices.DeleteFunc(channel.Entries, func(e entry) bool { return e.Name == added.Name })
	}
	for _, channel := range channels {
		if !slices.Contains(steadiest, channel) {
			return nil, fmt.Errorf("no channel is called %q, choose from: %s", channel, strings.Join(steadiest, " "))
		}
		entries[channel] = append(entries[channel], added)
	}
	head := pkg{Schema: "olm.package", Name: name, Icon: icon{Data: svg, MediaType: "image/svg+xml"}}
	var docs []any
	for _, ch := range steadiest {
		list, err := linked(entries[ch])
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", ch, err)
		}
		if len(list) > 0 {
			head.DefaultChannel = cmp.Or(head.DefaultChannel, ch)
			docs = append(docs, channel{Schema: "olm.channel", Name: ch, Package: name, Entries: list})
		}
	}
	var out bytes.Buffer
	for _, doc := range append([]any{head}, docs...) {
		text, err := yaml.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("write YAML: %w", err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

// linked returns the entries, the oldest first, each with its upgrade edges.
func linked(entries []entry) ([]entry, error) {
	var out []entry
	for _, e := range entries {
		e, err := newEntry(e.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b entry) int { return a.version.Compare(b.version) })
	for i := range out[:max(0, len(out)-1)] {
		out[i+1].Replaces = out[i].Name
	}
	return out, nil
}

func newEntry(name string) (entry, error) {
	_, text, _ := strings.Cut(name, ".v")
	version, err := semver.StrictNewVersion(text)
	if err != nil {
		return entry{}, fmt.Errorf("the bundle's name %q must end in .v and a version such as 1.2.3: %w", name, err)
	}
	return entry{Name: name, SkipRange: "<" + text, version: version}, nil
}

// read returns the channels of a catalog that was written before, or none.
func read(path string) ([]channel, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the channels: %w", err)
	}
	var out []channel
	for text := range bytes.SplitSeq(content, []byte("---\n")) {
		var doc channel
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if doc.Schema == "olm.channel" {
			out = append(out, doc)
		}
	}
	return out, nil
}
