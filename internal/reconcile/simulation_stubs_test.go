package reconcile

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// simEvents drops events.
type simEvents struct{}

func (simEvents) Event(_ runtime.Object, _, _, _ string)                                          {}
func (simEvents) Eventf(_ runtime.Object, _, _, _ string, _ ...any)                               {}
func (simEvents) AnnotatedEventf(_ runtime.Object, _ map[string]string, _, _, _ string, _ ...any) {}

// simCached takes the version of the user's Secret from the informer cache.
type simCached struct{ simRevisions }

func (r simCached) Render(
	ctx context.Context, collector *unstructured.Unstructured, values map[string]any, running string,
) (*history.Revision, error) {
	now, _, failed := r.Inputs(ctx, collector)
	rendered, err := r.simRevisions.Render(ctx, collector, values, running)
	if err == nil {
		rendered.Inputs = now
	}
	return rendered, errors.Join(failed, err)
}

// simUnfinished finds no revision that was begun before the operator started, or withdraws none.
type simUnfinished struct {
	records
	deployed          int
	isLost, neverGoes bool
}

func (r simUnfinished) Read(ctx context.Context, revision int) (history.Content, error) {
	if r.isLost && revision > r.deployed {
		return history.Content{}, errors.ErrUnsupported
	}
	return r.records.Read(ctx, revision)
}

func (r simUnfinished) Withdraw(ctx context.Context, begun v1alpha1.RecordedRevision) error {
	if r.neverGoes {
		return nil
	}
	return r.records.Withdraw(ctx, begun)
}

// simIncomplete says of each record that something of it is not there.
type simIncomplete struct{ simRevisions }

func (r simIncomplete) Recorded(
	ctx context.Context, collector *unstructured.Unstructured, of history.Content, beside *history.Revision,
) (*history.Revision, error) {
	found, err := r.simRevisions.Recorded(ctx, collector, of, beside)
	if err == nil {
		found.Objects = append(slices.Clone(found.Objects), render.Object{Ref: simRef("Service", "lacked"), Stage: render.Network})
	}
	return found, err
}

// simUnshown says only of what the informer cache has that it is used.
type simUnshown struct{ simReader }

func (r simUnshown) Used(
	ctx context.Context, collector client.Object, objects map[live.Reference]live.Object,
) (live.Used, []live.Pod, error) {
	used, pods, err := r.simReader.Used(ctx, collector, objects)
	var shown []string
	for what := range objects {
		if used.Has(what) {
			shown = append(shown, what.Use())
		}
	}
	return live.UsedBy(cache.UsesOf(shown)), pods, err
}

func (c simCluster) Retain(context.Context, live.Reference, types.UID) error {
	return errors.New("no spec of the model retains claims")
}
