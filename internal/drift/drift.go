// Package drift finds and repairs what differs between a release and its objects.
//
// It decorates the stock action client's Reconcile, which reads every object of a release from the API server on every
// pass and patches a PodDisruptionBudget each time, because its patch for one is never empty. The decorated Reconcile
// makes the same comparison with the objects in the informer cache, and hands on only those that are missing or that
// the patch would change. Whatever it is not sure of, it hands on.
package drift

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// NewActionClientGetter decorates the clients that next gives. cluster reads from the informer cache.
func NewActionClientGetter(next helmclient.ActionClientGetter, cluster client.Client) helmclient.ActionClientGetter {
	return helmclient.ActionClientGetterFunc(func(ctx context.Context, obj client.Object) (helmclient.ActionInterface, error) {
		actions, err := next.ActionClientFor(ctx, obj)
		if err != nil {
			return nil, err
		}
		return actionClient{ActionInterface: actions, ctx: ctx, cluster: cluster}, nil
	})
}

// actionClient serves one pass over one Collector.
type actionClient struct {
	helmclient.ActionInterface
	ctx     context.Context //nolint:containedctx // of that pass; the interface has no room for it
	cluster client.Client
}

// Reconcile brings the objects of rel back to what they should be.
func (c actionClient) Reconcile(rel *release.Release) error {
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(rel.Manifest)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the manifest of release %s: %w", rel.Name, err)
		}
		expected := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &expected.Object); err != nil {
			return fmt.Errorf("read the manifest of release %s: %w", rel.Name, err)
		}
		if len(expected.Object) == 0 || c.isAsExpected(expected) {
			continue
		}
		if err := c.repair(rel, text, expected); err != nil {
			return err
		}
	}
}

// repair has the stock action client repair one object. Its patch merges lists by key; where an edited key makes the
// result invalid, such as two ports of one name, the lists are replaced instead.
func (c actionClient) repair(rel *release.Release, text []byte, expected *unstructured.Unstructured) error {
	one := *rel
	one.Manifest = string(text)
	err := c.ActionInterface.Reconcile(&one)
	if !apierrors.IsInvalid(err) {
		return err
	}
	whole, err := expected.MarshalJSON()
	if err != nil {
		return fmt.Errorf("write %s %s: %w", expected.GetKind(), expected.GetName(), err)
	}
	if err := c.cluster.Patch(c.ctx, expected, client.RawPatch(types.MergePatchType, whole)); err != nil {
		return fmt.Errorf("repair %s %s: %w", expected.GetKind(), expected.GetName(), err)
	}
	return nil
}

// isAsExpected tells whether the cached object needs no patch. An object that cannot be read does.
func (c actionClient) isAsExpected(expected *unstructured.Unstructured) bool {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(expected.GroupVersionKind())
	if err := c.cluster.Get(c.ctx, client.ObjectKeyFromObject(expected), live); err != nil {
		return false
	}
	same, err := unchanged(live, expected)
	return err == nil && same
}
