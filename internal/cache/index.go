package cache

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ControllerIndex is the name of the informer cache's index from a Collector to what it controls.
	ControllerIndex = "controller"

	// fieldIndex precedes the name in the index that a cache of controller-runtime looks into for client.MatchingFields.
	fieldIndex = "field:"
)

// Indexers have the informer cache find what a Collector controls. Unlike client.IndexField they make no key for lists of all
// namespaces, which are not asked for: each key takes memory for each object.
var Indexers = toolscache.Indexers{fieldIndex + ControllerIndex: byController}

func byController(in any) ([]string, error) {
	object, ok := in.(client.Object)
	if !ok {
		return nil, fmt.Errorf("a %T has no controller", in)
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return []string{shared(object.GetNamespace() + "/" + string(owner.UID))}, nil
	}
	return nil, nil
}
