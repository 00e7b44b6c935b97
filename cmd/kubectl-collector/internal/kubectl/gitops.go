package kubectl

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/internal/explain"
)

// mayChange returns an error if a GitOps tool would change an object back.
func (c consent) mayChange(object metav1.Object) error {
	if tool := explain.Keeper(object); tool != "" && !c.force {
		return fmt.Errorf("%s manages Collector %s/%s and would change it back; change it in git, or add --force",
			tool, object.GetNamespace(), object.GetName())
	}
	return nil
}
