package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/internal/helm"
)

// Chart is a chart, and what its templates tell about the objects that it can render.
type Chart struct {
	*helm.Chart

	// Kinds are those that every cluster has.
	Kinds []schema.GroupVersionKind

	// Optional are the kinds that the chart tests for, by the name in the test.
	Optional map[string]schema.GroupVersionKind

	// Digest is a hash over what the chart renders from.
	Digest string

	templates *templates // nil if only Helm's engine can render them
}

var (
	kindInTemplate = regexp.MustCompile(`(?m)^apiVersion: (\S+)\nkind: (\S+)$`)
	testInTemplate = regexp.MustCompile(`\.Capabilities\.APIVersions\.Has "([^"]+)"`)
)

// NewChart reads the templates of a chart. It is an error if one of them does not say in so many words which kind it
// renders: the operator watches, prunes and owns by kind.
func NewChart(chrt *helm.Chart) (*Chart, error) {
	c := &Chart{Chart: chrt, Optional: map[string]schema.GroupVersionKind{}, Digest: digestOf(chrt), templates: parseTemplates(chrt)}
	tested := map[string]bool{}
	for _, template := range chrt.Templates {
		for _, found := range testInTemplate.FindAllSubmatch(template.Data, -1) {
			tested[string(found[1])] = true
		}
	}
	for _, template := range chrt.Templates {
		for _, found := range kindInTemplate.FindAllSubmatch(template.Data, -1) {
			apiVersion, kind := string(found[1]), string(found[2])
			if strings.Contains(apiVersion+kind, "{{") {
				return nil, fmt.Errorf("template %s computes the kind of an object; write the kind out", template.Name)
			}
			gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
			if name := apiVersion + "/" + kind; tested[name] {
				c.Optional[name] = gvk
			} else if !slices.Contains(c.Kinds, gvk) {
				c.Kinds = append(c.Kinds, gvk)
			}
		}
	}
	return c, nil
}

// renders tells whether the chart can render objects of a kind.
func (c *Chart) renders(kind schema.GroupVersionKind) bool {
	_, served := c.Optional[kind.GroupVersion().String()+"/"+kind.Kind]
	return served || slices.Contains(c.Kinds, kind)
}

// digestOf returns a hash over what a chart renders from.
func digestOf(chrt *helm.Chart) string {
	sum := sha256.New()
	for _, file := range chrt.Raw {
		write(sum, []byte(file.Name))
		write(sum, file.Data)
	}
	write(sum, fmt.Append(nil, chrt.Values, chrt.Metadata.Annotations)) // fmt sorts keys
	return hex.EncodeToString(sum.Sum(nil))
}

// write adds a part so that no other parts add up to the same.
func write(sum hash.Hash, part []byte) {
	fmt.Fprintf(sum, "%d ", len(part))
	sum.Write(part)
}
