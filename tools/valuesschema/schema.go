package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// minShared is the size in bytes of the smallest part that gets a definition when it occurs again.
const minShared = 80

type props = apiextensions.JSONSchemaProps

// Generate returns the JSON schema (draft-07) of what the spec of the CRD's first version allows.
func Generate(crdYAML []byte) ([]byte, error) {
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crdYAML, &crd); err != nil {
		return nil, fmt.Errorf("not a CustomResourceDefinition: %w", err)
	}
	if len(crd.Spec.Versions) == 0 || crd.Spec.Versions[0].Schema == nil {
		return nil, errors.New("the CustomResourceDefinition has no schema")
	}
	spec, ok := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	if !ok || len(spec.Properties) == 0 {
		return nil, errors.New("the CustomResourceDefinition has no spec, or one without properties")
	}
	if err := simplify(&spec, "spec"); err != nil {
		return nil, err
	}
	// Where the chart is used as a dependency, Helm itself adds the first, and leaves in what the other chart's `condition` reads. No
	// Collector has them: the operator renders without this schema, and the API server has that of the CRD.
	spec.Properties["global"] = props{Type: "object"}
	spec.Properties["enabled"] = props{Type: "boolean"}

	s := sharer{seen: map[string]int{}, names: map[string]string{}, definitions: map[string]props{}}
	s.count(spec)
	return write(s.replaceIn(spec), s.definitions)
}

// simplify removes what JSON schema cannot say (CEL rules, list types: the API server checks those) and what it need not
// say to Helm. It refuses what has another meaning in draft-07, so that nothing is lost unseen.
func simplify(p *props, path string) error {
	if p.ExclusiveMaximum || p.ExclusiveMinimum {
		return fmt.Errorf("%s: exclusive limits mean something else in JSON schema; teach simplify about them", path)
	}
	p.Nullable = false // with null, Helm removes the chart's default and the key before it looks at the schema
	p.Description, p.Title, p.Format, p.Default, p.Example = "", "", "", nil, nil
	p.XValidations, p.XListType, p.XListMapKeys, p.XMapType, p.XEmbeddedResource = nil, nil, nil, nil, false
	open := p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields
	p.XPreserveUnknownFields = nil
	if p.XIntOrString {
		p.XIntOrString = false
		p.AnyOf = []props{{Type: "integer"}, {Type: "string"}}
	}
	if len(p.Properties) > 0 && !open {
		p.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: false}
	}
	return eachChild(p, path, simplify)
}

// eachChild hands every direct part of p to do, and puts back what do made of it.
func eachChild(p *props, path string, do func(*props, string) error) error {
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		child := p.Properties[name]
		if err := do(&child, path+"."+name); err != nil {
			return err
		}
		p.Properties[name] = child
	}
	if p.Items != nil && p.Items.Schema != nil {
		if err := do(p.Items.Schema, path+"[]"); err != nil {
			return err
		}
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		return do(p.AdditionalProperties.Schema, path+".*")
	}
	return nil
}

// sharer gives each part that occurs again a definition, and puts references in its place.
type sharer struct {
	seen        map[string]int
	names       map[string]string
	definitions map[string]props
}

// count notes how often each part occurs. A part that was seen before is not entered again: what it consists of occurs
// once more only inside of it.
func (s *sharer) count(p props) {
	text := compact(p)
	s.seen[text]++
	if s.seen[text] > 1 {
		return
	}
	_ = eachChild(&p, "", func(child *props, _ string) error {
		s.count(*child)
		return nil
	})
}

func (s *sharer) replaceIn(p props) props {
	p = *p.DeepCopy()
	_ = eachChild(&p, "", func(child *props, _ string) error {
		*child = s.replace(*child)
		return nil
	})
	return p
}

func (s *sharer) replace(p props) props {
	text := compact(p)
	if s.seen[text] < 2 || len(text) < minShared {
		return s.replaceIn(p)
	}
	name, ok := s.names[text]
	if !ok {
		name = fmt.Sprintf("d%d", len(s.names))
		s.names[text] = name
		s.definitions[name] = s.replaceIn(p)
	}
	ref := "#/definitions/" + name
	return props{Ref: &ref}
}

// write prints the schema with one line for each property and definition, so that a change of one is one line in a diff.
func write(spec props, definitions map[string]props) ([]byte, error) {
	properties := spec.Properties
	spec.Properties, spec.Definitions = nil, nil
	spec.Schema = "http://json-schema.org/draft-07/schema#"
	var out bytes.Buffer
	out.WriteString("{\n")
	head := compact(spec)
	out.WriteString(head[1 : len(head)-1])
	for _, part := range []struct {
		name    string
		schemas map[string]props
	}{{"properties", properties}, {"definitions", definitions}} {
		fmt.Fprintf(&out, ",\n%q:{", part.name)
		for i, name := range slices.Sorted(maps.Keys(part.schemas)) {
			if i > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, "\n%q:%s", name, compact(part.schemas[name]))
		}
		out.WriteString("\n}")
	}
	out.WriteString("\n}\n")
	if !json.Valid(out.Bytes()) {
		return nil, errors.New("the result is not JSON; please report this as a bug")
	}
	return out.Bytes(), nil
}

// compact is p as JSON on one line; equal parts have equal text.
func compact(p props) string {
	out, err := json.Marshal(p)
	if err != nil {
		// The schema was read from JSON, so it can be written as JSON.
		panic(err)
	}
	return string(out)
}
