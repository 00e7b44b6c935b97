// Package v1alpha1 is step 1 of the data flow: the Collector, in Go.
//
// It is the one source of the schema: controller-gen derives the CRD from it, the chart's values.schema.json is
// derived from the CRD, and an application that drives the operator imports it. To write Collectors by server-side apply,
// such an application takes the types in api/applyconfiguration, which are derived from these: examples/portal does. The
// operator itself reads Collectors as unstructured objects, because their spec is rendered as the chart's values without
// a translation.
//
// +kubebuilder:object:generate=true
// +groupName=kube8.dev
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="../applyconfiguration"
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the API group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: "kube8.dev", Version: "v1alpha1"}

	// SchemeGroupVersion is GroupVersion, as generated code calls it.
	SchemeGroupVersion = GroupVersion

	// SchemeBuilder collects the types of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
		s.AddKnownTypes(GroupVersion, &Collector{}, &CollectorList{})
		metav1.AddToGroupVersion(s, GroupVersion)
		return nil
	})

	// AddToScheme adds the types of this package to a scheme, so that a client can read and write them.
	AddToScheme = SchemeBuilder.AddToScheme
)
