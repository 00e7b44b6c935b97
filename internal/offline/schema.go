package offline

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// crdSchema does offline what the API server does with a new custom resource: the same library, the same messages.
type crdSchema struct {
	structural *schema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

// newCRDSchema reads the schema of the first version of a CustomResourceDefinition.
func newCRDSchema(definition []byte) (*crdSchema, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &crd); err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition: %w", err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		return nil, fmt.Errorf("convert schema of %s: %w", crd.Name, err)
	}
	structural, unread := schema.NewStructural(&props)
	values, _, uncompiled := validation.NewSchemaValidator(&props)
	if err := errors.Join(unread, uncompiled); err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", crd.Name, err)
	}
	return &crdSchema{structural, values, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// admit removes unknown fields from obj and sets its defaults. The error is a ProblemsError with what the API server would
// refuse.
func (s *crdSchema) admit(ctx context.Context, obj *unstructured.Unstructured) error {
	var problems ProblemsError
	unknown := pruning.PruneWithOptions(obj.Object, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		problems = append(problems, Problem{Field: path, Message: "unknown field; check its spelling and its indentation"})
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(obj.Object, s.structural)
	defaulting.Default(obj.Object, s.structural)

	for _, refusal := range s.validate(ctx, obj) {
		problems = append(problems, describe(refusal))
	}
	return problems.asError()
}

// validate returns what the API server's answer would have.
func (s *crdSchema) validate(ctx context.Context, obj *unstructured.Unstructured) field.ErrorList {
	refusals := validation.ValidateCustomResource(nil, obj.Object, s.values)
	if len(refusals) > 0 {
		return refusals
	}
	refusals = listtype.ValidateListSetsAndMaps(nil, s.structural, obj.Object)
	broken, _ := s.rules.Validate(ctx, nil, s.structural, obj.Object, nil, celconfig.RuntimeCELCostBudget)
	return append(refusals, broken...)
}

// describe says what is wrong without the value, which can be a credential or a whole configuration.
func describe(refusal *field.Error) Problem {
	switch {
	case refusal.Detail == "":
		return Problem{Field: refusal.Field, Message: refusal.Type.String()}
	case refusal.Field == (*field.Path)(nil).String(): // a rule of the whole object, whose message names the field
		return Problem{Message: refusal.Detail}
	case refusal.Type == field.ErrorTypeForbidden: // a rule of a value that is not shown
		return Problem{Field: refusal.Field, Message: refusal.Detail}
	}
	return Problem{Field: refusal.Field, Message: fmt.Sprintf("%s: %s", refusal.Type, refusal.Detail)}
}
