package live

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// ConflictError says that an object which the Collector needs exists with another owner. Only a change by a user helps.
type ConflictError struct{ Message string }

// Error names what is in the way, whose it is, and what to do.
func (e *ConflictError) Error() string { return e.Message }

// Verify returns a *ConflictError if live, an object as it is in the cluster, is not the Collector's.
func Verify(live, collector client.Object, what Reference) error {
	if metav1.IsControlledBy(live, collector) {
		return nil
	}
	advice := "delete or rename it, or rename the Collector"
	_, isMade := live.GetAnnotations()[v1alpha1.AppliedAnnotation]
	if isMade && metav1.GetControllerOf(live) == nil { // pods may serve with it
		advice = "the operator has made it, so add the Collector to its ownerReferences again, or delete it"
	}
	return &ConflictError{fmt.Sprintf("%s exists and %s; %s", what, OwnerOf(live, collector), advice)}
}

// OwnerOf says which owner an object has, as far as the object tells.
func OwnerOf(object, collector client.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		name := owner.Kind + "/" + owner.Name
		if name == "Collector/"+collector.GetName() {
			return "belongs to an earlier " + name
		}
		return "belongs to " + name
	}
	release, namespace := object.GetAnnotations()["meta.helm.sh/release-name"], object.GetAnnotations()["meta.helm.sh/release-namespace"]
	switch {
	case release == "":
		return "has no owner"
	case namespace == "" || namespace == object.GetNamespace():
		return fmt.Sprintf("belongs to Helm release %q", release)
	}
	return fmt.Sprintf("belongs to Helm release %q of namespace %q", release, namespace)
}
