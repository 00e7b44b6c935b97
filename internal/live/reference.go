// Package live is what a Collector has: the objects that it controls, by the informer cache, and what its pods use. Each object has one
// state: what has become of it, beside what the operator expects of it, which is what it last wrote, or found in order.
//
// An object says itself what was applied to it: an annotation has the hash of the rendered object, and managedFields say
// which of its fields no other client has changed since. So an operator that has just started knows as much as one that ran.
// Nothing here writes to the cluster.
package live

import (
	"fmt"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reference names an object in the Collector's namespace.
type Reference struct {
	kind unique.Handle[schema.GroupVersionKind] // a sixth of the kind's size: there are many references, and few kinds
	name string
}

// NewReference returns the reference to an object of a kind.
func NewReference(kind schema.GroupVersionKind, name string) Reference {
	return Reference{unique.Make(kind), name}
}

// ReferenceTo returns the reference to an object.
func ReferenceTo(object *unstructured.Unstructured) Reference {
	return NewReference(object.GroupVersionKind(), object.GetName())
}

// Kind returns the object's kind.
func (r Reference) Kind() schema.GroupVersionKind { return r.kind.Value() }

// Name returns the object's name.
func (r Reference) Name() string { return r.name }

// Use returns kind and name as a view has them.
func (r Reference) Use() string { return r.Kind().Kind + "/" + r.name }

// String returns kind and name as messages have them.
func (r Reference) String() string { return fmt.Sprintf("%s %q", r.Kind().Kind, r.name) }
