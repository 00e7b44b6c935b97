// Package owned confines Helm to what the Collector owns.
//
// Helm takes every object and every release of a fitting name for its own: it patches and deletes whatever bears the
// names of the chart's objects, and upgrades whoever's release is called like the Collector. Here an object is the
// Collector's if the Collector is its controller, by UID, as the stock reconciler writes into all that it renders. What
// is somebody else's stays as it is, and the Collector says whose it is.
//
// The package decorates what the stock reconciler gives to Helm: the kube client (NewActionConfigGetter), the client of
// the Secrets that hold releases (NewSecrets), and the actions (NewActionClientGetter). Helm's own check for owners, by
// annotations that anybody can write, is thereby off.
package owned

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// What Helm notes on the objects of a release.
	releaseNameAnnotation      = "meta.helm.sh/release-name"
	releaseNamespaceAnnotation = "meta.helm.sh/release-namespace"

	// What the stock reconciler notes on objects that can have no owner reference.
	primaryAnnotation     = "operator-sdk/primary-resource"
	primaryKindAnnotation = "operator-sdk/primary-resource-type"
)

// ConflictError says that something which the Collector needs is there and belongs to somebody else. Nothing but a
// change by a user helps. Helm's errors wrap it, so errors.As finds it.
type ConflictError struct{ message string }

// Error names what is in the way, whose it is, and what to do.
func (e *ConflictError) Error() string { return e.message }

// Verify returns a *ConflictError if live, an object as it is in the cluster, is not collector's.
func Verify(live *unstructured.Unstructured, collector client.Object) error {
	if metav1.IsControlledBy(live, collector) || isKeptFor(live, collector) {
		return nil
	}
	return &ConflictError{fmt.Sprintf("%s %q exists and belongs to %s; delete or rename it, or rename the Collector",
		live.GetKind(), live.GetName(), ownerOf(live, collector))}
}

// isKeptFor tells whether obj is one that Helm is told to keep when the Collector goes. The stock reconciler marks those
// with annotations, because an owner reference would have them deleted.
func isKeptFor(obj, collector client.Object) bool {
	return metav1.GetControllerOf(obj) == nil &&
		obj.GetAnnotations()[primaryAnnotation] == client.ObjectKeyFromObject(collector).String() &&
		obj.GetAnnotations()[primaryKindAnnotation] == collector.GetObjectKind().GroupVersionKind().GroupKind().String()
}

// ownerOf says whose obj is, as far as it tells.
func ownerOf(obj, collector client.Object) string {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		name := owner.Kind + "/" + owner.Name
		if name == "Collector/"+collector.GetName() {
			return "an earlier " + name
		}
		return name
	}
	release := obj.GetAnnotations()[releaseNameAnnotation]
	if release == "" {
		return "nobody that it names"
	}
	namespace := obj.GetAnnotations()[releaseNamespaceAnnotation]
	if namespace == "" || namespace == obj.GetNamespace() {
		return fmt.Sprintf("Helm release %q", release)
	}
	return fmt.Sprintf("Helm release %q of namespace %q", release, namespace)
}
