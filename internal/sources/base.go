// Package sources has what a configuration is made of besides the spec: the platform's bases, the Secret that a Collector refers to in
// place of a configuration, and the Secrets and ConfigMaps that its pods refer to.
//
// A base is a ConfigMap or Secret in the operator's namespace with one key. It becomes a further file of each Collector that names it, or
// whose namespace does. Nothing is merged here: the collector reads one file after the other. The informer cache holds all bases with
// their content, so a changed base costs no request to read.
//
// The post-renderer needs the hash of a referenced Secret's content and refuses to deploy a configuration that is missing or wrong. A
// changed Secret or ConfigMap starts a reconcile of the Collectors that refer to it. The informer cache holds only objects with the
// Collector label. A configuration's Secret without the label is looked for on the API server, to tell its user that the label is missing.
package sources

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/configuration"
)

// basesField is where a Collector names its bases.
const basesField = "spec.collector.bases"

// Base is a part of the configuration of a Collector.
type Base struct {
	Name     string
	Position v1alpha1.BasePosition
	Version  string // of its content, see v1alpha1.CollectorStatus
	File     string // its name in /etc/collector
	content  []byte // of the informer cache

	// Refused says what is wrong with the base as it is now, or is empty. Then the version is the deployed one, and Restore has the rest.
	// Without a version, the Collector has no such base deployed, and stays without it.
	Refused string

	outside bool // of what the Collector names
	number  int  // of the name, among all that are named
}

// Bases are those of one Collector, as it reads them one after the other. Its own configuration comes between the first and the last ones.
type Bases []Base

// BaseReader reads bases.
type BaseReader struct {
	// Cache is the informer cache that holds bases and, with Namespaces, the namespaces that name some.
	Cache client.Reader

	// Namespace is where bases are.
	Namespace string

	// Namespaces says that the operator may read namespaces, so that their label counts.
	Namespaces bool
}

// Of returns the bases of a Collector. A refused base is there in the version that the Collector has deployed, see Restore. The error is a
// *configuration.Error if the platform or the user has to mend something. It has no content.
func (r *BaseReader) Of(ctx context.Context, collector *unstructured.Unstructured) (Bases, error) {
	var bases Bases
	all := r.named(ctx, collector)
	found, refusals := make([]Base, len(all)), make([]error, len(all))
	for i, named := range all {
		found[i], refusals[i] = r.find(ctx, named)
	}
	refuseTogether(collector, all, found, refusals)
	for i, named := range all {
		base, err := found[i], refusals[i]
		if err != nil {
			base, err = base.asDeployed(collector, named, err)
		}
		if err != nil {
			return nil, err
		}
		if base.outside, base.number = named.outside, i; named.position != "" {
			base.Position = named.position
		}
		bases = append(bases, base)
	}
	return bases.inOrder(), nil
}

// inOrder returns the bases as a Collector reads them.
func (b Bases) inOrder() Bases {
	place := func(base Base) int {
		switch {
		case base.Position == v1alpha1.BaseFirst && base.outside:
			return 0
		case base.Position == v1alpha1.BaseLast && base.outside:
			return 3
		case base.Position == v1alpha1.BaseLast:
			return 2
		}
		return 1
	}
	return slices.SortedFunc(slices.Values(b), func(a, b Base) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.number, b.number))
	})
}

// names tells whether a Collector has a base of a name.
func (r *BaseReader) names(ctx context.Context, collector *unstructured.Unstructured, name string) bool {
	return slices.ContainsFunc(r.named(ctx, collector), func(n named) bool { return n.name == name })
}

// named is a base by its name.
type named struct {
	name     string
	position v1alpha1.BasePosition // empty leaves it to the base
	by       string                // the field or label that names it
	outside  bool                  // of what the Collector names
}

// named returns the names of a Collector's bases, those of its namespace first. A base that both name is the namespace's.
func (r *BaseReader) named(ctx context.Context, collector *unstructured.Unstructured) (all []named) {
	namespace := &corev1.Namespace{}
	key := client.ObjectKey{Name: collector.GetNamespace()}
	if r.Namespaces && r.Cache.Get(ctx, key, namespace, client.UnsafeDisableDeepCopy) == nil {
		by := fmt.Sprintf("label %s of namespace %s", v1alpha1.BasesLabel, key.Name)
		for name := range strings.SplitSeq(namespace.Labels[v1alpha1.BasesLabel], "_") {
			if name != "" && !slices.ContainsFunc(all, func(known named) bool { return known.name == name }) {
				all = append(all, named{name: name, by: by, outside: true})
			}
		}
	}
	own, _, _ := unstructured.NestedFieldNoCopy(collector.Object, "spec", "collector", "bases")
	items, _ := own.([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		position, _ := fields["position"].(string)
		if !slices.ContainsFunc(all, func(known named) bool { return known.name == name }) {
			all = append(all, named{name: name, position: v1alpha1.BasePosition(position), by: basesField})
		}
	}
	return all
}

// find returns a base as the informer cache has it.
func (r *BaseReader) find(ctx context.Context, named named) (found Base, err error) {
	var objects []client.Object
	for _, object := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}} {
		err := r.Cache.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: named.name}, object, client.UnsafeDisableDeepCopy)
		if err == nil {
			objects = append(objects, object)
		} else if !apierrors.IsNotFound(err) {
			return found, fmt.Errorf("read base %s: %w", named.name, err)
		}
	}
	switch len(objects) {
	case 0:
		return found, &configuration.Error{Field: named.by, Missing: true, Reason: fmt.Sprintf(
			"namespace %s has no base %q; create a ConfigMap of that name with the label %s=%s, or name another base",
			r.Namespace, named.name, v1alpha1.BaseLabel, v1alpha1.BaseFirst)}
	case 2:
		return found, &configuration.Error{Field: named.by, Reason: fmt.Sprintf(
			"namespace %s has a ConfigMap and a Secret for base %q; remove the label %s from one", r.Namespace, named.name, v1alpha1.BaseLabel)}
	}
	found, reason := read(objects[0])
	if reason != "" {
		return found, &configuration.Error{Field: named.by, Reason: fmt.Sprintf("base %q in namespace %s: %s", named.name, r.Namespace, reason)}
	}
	return found, nil
}

// DescribedBases tells versions of the bases in a chart's values apart, as a Collector's status does.
func DescribedBases(values map[string]any) string {
	var versions []string
	bases, _ := values["bases"].([]any)
	for _, item := range bases {
		fields, _ := item.(map[string]any)
		versions = append(versions, fmt.Sprintf("%v@%v", fields["name"], fields["version"]))
	}
	return strings.Join(versions, " ")
}

// Inputs tells apart all that the chart renders of the bases, and why some are refused.
func (b Bases) Inputs() string {
	var inputs []string
	for _, base := range b {
		inputs = append(inputs, base.Name+"@"+base.Version+" "+string(base.Position)+" "+cmp.Or(base.Refused, base.File))
	}
	return strings.Join(inputs, "\n")
}

// Values returns the bases as the chart's value bases, or nil without any.
func (b Bases) Values() (values []any) {
	for _, base := range b {
		values = append(values, map[string]any{
			"name": base.Name, "version": base.Version, "position": string(base.Position), "file": base.File,
			"content": base64.StdEncoding.EncodeToString(base.content),
		})
	}
	return values
}
