package release

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/inventory"
)

// Pods returns the pods that the informer cache shows, as they are now.
func (r simReader) Pods(_ context.Context, collector client.Object) (found []inventory.Pod, _ error) {
	for _, pod := range r.world.of(collector).cacheOf {
		found = append(found, inventory.Pod{Name: pod.name})
	}
	return found, nil
}
