package release

import (
	"context"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/render"
)

// simCapabilities are what the cluster offers, which never changes.
type simCapabilities struct{ offered *render.Offered }

func (c simCapabilities) Get(context.Context) (*render.Offered, error) { return c.offered, nil }
func (c simCapabilities) Ask(context.Context) (*render.Offered, error) { return c.offered, nil }

// simEvents drops events.
type simEvents struct{}

func (simEvents) Event(_ runtime.Object, _, _, _ string)                                          {}
func (simEvents) Eventf(_ runtime.Object, _, _, _ string, _ ...any)                               {}
func (simEvents) AnnotatedEventf(_ runtime.Object, _ map[string]string, _, _, _ string, _ ...any) {}

// simLive tells whether a Collector is still one of the operator's.
type simLive struct {
	client.Client
	world *simWorld
	shard string
}

func (c simLive) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetNamespace(key.Namespace)
	if s := c.world.of(object); s.exists && s.shard == c.shard {
		return nil
	}
	return errors.NewNotFound(schema.GroupResource{Resource: "collectors"}, key.Name)
}
