// Package probing has what is asked of objects.
package probing

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type (
	Prober any
	And    []Prober

	ConditionProbe   struct{ Type, Status string }
	FieldsEqualProbe struct{ FieldA, FieldB string }
	FieldValueProbe  struct{ FieldPath, Value string }

	ObservedGenerationProbe struct{ Prober Prober }
	GroupKindSelector       struct {
		GroupKind schema.GroupKind
		Prober    Prober
	}
	LabelSelector struct {
		Selector labels.Selector
		Prober   Prober
	}
)
