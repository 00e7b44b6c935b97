// Package postrender is step 5 of the data flow: between the chart and the release it decodes the Collector's
// configuration into the chart's Secret.
//
// It is what Helm calls a post-renderer. The Renderer is pure. It takes a manifest, the hash of a configuration that the manifest only
// refers to, and digests of what else its pods refer to. It returns a manifest or one clear error. The same input always gives
// the same output. No error has content of a configuration.
package postrender

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/configuration"
)

// Referenced is a checked configuration that is not in the manifest, but in a Secret of the user that the pods mount.
type Referenced struct {
	Secret  string // its name
	Version string // tells versions of its data apart
	Hash    string // the SHA-256 of the configuration, in hex
	Content []byte
}

// Renderer decodes, checks and hashes the configuration in a rendered manifest.
type Renderer struct {
	// Referenced is the configuration that the manifest only refers to; the zero value for none.
	Referenced Referenced

	// References tells versions of the Secrets and ConfigMaps apart that pods refer to; empty for none.
	References string
}

// ReferencesAnnotation is on each pod template whose pods refer to Secrets and ConfigMaps that the operator follows, so that a
// change of their data rolls the pods. It has a digest of each, which tells nothing of the data.
const ReferencesAnnotation = "kube8.dev/references"

// Document is one object of a manifest.
type Document struct {
	Text string
	Node *yaml.Node // the same, or nil if it was not parsed
}

// Join returns the manifest that has the documents.
func Join(documents []Document) string {
	texts := make([]string, 1, 1+len(documents)) // the separator comes before the first one, too
	for _, document := range documents {
		texts = append(texts, document.Text)
	}
	return strings.Join(texts, separator)
}

// Finish returns what a manifest has, with the configuration decoded and hashed, in a Secret that is named after its content and that
// is immutable. A Job is named after its spec. Other objects that neither have nor mount the configuration come out byte
// for byte as they went in.
func (r Renderer) Finish(manifest string) ([]Document, error) {
	all, objects, err := split(manifest)
	if err != nil {
		return nil, err
	}
	secrets := map[reference]*files{}
	if r.Referenced.Secret != "" {
		secrets[reference{name: r.Referenced.Secret}] = &files{stamps: stamps{ConfigHashAnnotation: r.Referenced.Hash}}
	}
	for _, object := range objects {
		name := object.node.GetName()
		decoded, err := decodeSecret(object.node)
		if err != nil {
			return nil, err
		}
		if decoded != nil {
			secrets[reference{name, ownMark}], object.isChanged = decoded, true
		}
	}
	for _, object := range objects {
		if err := object.finish(secrets, r.References); err != nil {
			return nil, fmt.Errorf("stamp hashes on %s %q: %w", object.node.GetKind(), object.node.GetName(), err)
		}
	}
	documents := make([]Document, len(all))
	for i, object := range all {
		documents[i] = Document{Text: object.text}
		if object.node != nil {
			documents[i].Node = object.node.YNode()
		}
	}
	return documents, nil
}

const separator = "---\n"

// object is one object of a manifest.
type object struct {
	text      string
	node      *yaml.RNode // the same parsed
	isChanged bool        // the node is
}

// template finds what may have a pod template. The post-renderer parses only that, and Secrets.
var template = regexp.MustCompile(`template["']?\s*:`)

// split returns the objects of a manifest, and those of interest, parsed.
func split(manifest string) (all, parsed []*object, err error) {
	for _, text := range Split(manifest) {
		one := &object{text: text}
		all = append(all, one)
		if !strings.Contains(text, "Secret") && !template.MatchString(text) {
			continue
		}
		one.node, err = yaml.Parse(text)
		if errors.Is(err, io.EOF) {
			continue // only comments
		}
		if err != nil {
			return nil, nil, fmt.Errorf("rendered object %d is not YAML", len(all))
		}
		parsed = append(parsed, one)
	}
	return all, parsed, nil
}

// Split returns the documents of a manifest, without the lines between them.
func Split(manifest string) (documents []string) {
	begin, end := 0, 0
	add := func() {
		if begin < end {
			documents = append(documents, manifest[begin:end])
		}
	}
	for line := range strings.SplitAfterSeq(manifest, "\n") {
		if rest, found := strings.CutPrefix(line, "---"); found && strings.TrimSpace(rest) == "" {
			add()
			begin = end + len(line)
		}
		end += len(line)
	}
	add()
	return documents
}

// ownMark is a comment of the chart. It marks where the chart mounts a Secret of its own. The name does not tell that, because the owner of
// a Collector can refer to a Secret by any name. Values cannot have the mark: they come into a manifest without comments.
const ownMark = "# kube8.dev/own"

// reference is how a pod's spec refers to a Secret: by its name, and with ownMark or nothing.
type reference struct{ name, mark string }

// mounts are where a pod's spec names the Secrets that it mounts.
var mounts = [][]string{
	{"volumes", "*", "secret", "secretName"},
	{"volumes", "*", "projected", "sources", "*", "secret", "name"},
}

// podFields are what stamp changes of a workload.
var podFields = [][]string{{"spec", "template", "metadata"}, {"spec", "template", "spec", "volumes"}}

// finish stamps hashes on the object's pod template, and writes the text of an object that was changed.
func (o *object) finish(secrets map[reference]*files, references string) error {
	err := o.stamp(secrets, references)
	if err == nil && o.node.GetKind() == "Job" {
		err = o.nameBySpec()
	}
	if err != nil || !o.isChanged {
		return err
	}
	if kind := o.node.GetKind(); kind != "Secret" && kind != "Job" {
		if text, isDone := o.rewritten(podFields...); isDone {
			o.text = text
			return nil
		}
	}
	o.text, err = o.node.String()
	return err
}

// stamp stamps the hashes of what the object's pods mount and refer to, and names the Secrets of the chart after their content where the
// chart mounts them. A Secret that the owner of the Collector refers to keeps its name.
func (o *object) stamp(secrets map[reference]*files, references string) error {
	pod, err := o.node.Pipe(yaml.Lookup("spec", "template", "spec"))
	if err != nil || pod == nil {
		return err
	}
	stamped := stamps{}
	if references != "" {
		stamped[ReferencesAnnotation], o.isChanged = references, true
	}
	for _, path := range mounts {
		found, err := pod.Pipe(&yaml.PathMatcher{Path: path})
		if err != nil {
			return err
		}
		for _, name := range found.Content() {
			if mounted, ok := secrets[reference{name.Value, name.LineComment}]; ok {
				maps.Copy(stamped, mounted.stamps)
				name.Value, name.LineComment = name.Value+mounted.suffix, ""
				o.isChanged = true
			}
		}
	}
	return errors.Join(stamped.on(o.node, "spec", "template"), o.stampTemplate())
}

// nameBySpec adds a hash of the spec to the name of a Job: what has to be checked anew is another Job.
func (o *object) nameBySpec() error {
	spec, err := o.node.Pipe(yaml.Lookup("spec"))
	if err != nil {
		return err
	}
	text, err := spec.String()
	o.isChanged = true
	return errors.Join(err, o.node.SetName(o.node.GetName()+"-"+configuration.HashOf([]byte(text))[:suffixLength]))
}
