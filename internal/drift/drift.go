// Package drift finds and repairs what differs between a release and its objects.
//
// It decorates the stock action client's Reconcile, which reads every object of a release from the API server on every
// pass and patches a PodDisruptionBudget each time, because its patch for one is never empty. The decorated Reconcile
// makes the same comparison with the objects in the informer cache. It looks closer at those that are missing there or
// that the patch would change, and hands on those that are so on the API server too.
package drift

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/packed"
)

// cacheTimeout is how long a first look at a kind may take. Without it a pass would wait for ever where the kind has
// gone from the cluster since the release was rendered.
const cacheTimeout = 10 * time.Second

// Getter gives action clients that find and repair drift.
type Getter struct {
	// Next gives the clients that are decorated.
	Next helmclient.ActionClientGetter

	// Cluster reads from the informer cache.
	Cluster client.Client

	// Live reads from the API server.
	Live client.Reader

	// Events takes the event DriftRepaired.
	Events record.EventRecorder
}

// For returns the action client of one pass over collector.
func (g Getter) For(ctx context.Context, collector client.Object) (*ActionClient, error) {
	actions, err := g.Next.ActionClientFor(ctx, collector)
	if err != nil {
		return nil, err
	}
	return &ActionClient{ActionInterface: actions, getter: g, ctx: ctx, collector: collector}, nil
}

// ActionClient serves one pass over one Collector.
type ActionClient struct {
	helmclient.ActionInterface
	getter    Getter
	ctx       context.Context //nolint:containedctx // of that pass; the interface has no room for it
	collector client.Object

	inOrder  []Object
	repaired []string
	unsure   bool
}

// Reconcile brings the objects of rel back to what they should be, and reports what it had to repair as one event.
func (c *ActionClient) Reconcile(rel *release.Release) error {
	c.inOrder, c.repaired, c.unsure = nil, nil, false
	defer func() {
		if len(c.repaired) > 0 {
			c.getter.Events.Eventf(c.collector, corev1.EventTypeNormal, "DriftRepaired",
				"brought back to what the release says: %s", strings.Join(c.repaired, ", "))
		}
	}()
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
		if len(expected.Object) == 0 {
			continue
		}
		if err := c.reconcile(rel, text, expected); err != nil {
			return err
		}
	}
}

// InOrder returns the objects of the release as the last Reconcile found them, if it found all of them in the informer
// cache and none in need of a patch.
func (c *ActionClient) InOrder() (objects []Object, all bool) {
	return c.inOrder, !c.unsure
}

func (c *ActionClient) reconcile(rel *release.Release, text []byte, expected *unstructured.Unstructured) error {
	if object := InOrder(c.ctx, c.getter.Cluster, expected); object != nil {
		c.inOrder = append(c.inOrder, *object)
		return nil
	}
	// The cache can be behind what the last pass did, and that is no drift.
	c.unsure = true
	live, err := read(c.ctx, c.getter.Live, expected)
	if err == nil {
		if same, err := unchanged(live, expected); err == nil && same {
			return nil
		}
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read %s %s: %w", expected.GetKind(), expected.GetName(), err)
	}
	if err := c.repair(rel, text, expected); err != nil {
		return err
	}
	c.repaired = append(c.repaired, expected.GetKind()+" "+expected.GetName())
	return nil
}

// repair has the stock action client repair one object. Its patch merges lists by key; where an edited key makes the
// result invalid, such as two ports of one name, the lists are replaced instead.
func (c *ActionClient) repair(rel *release.Release, text []byte, expected *unstructured.Unstructured) error {
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
	if err := c.getter.Cluster.Patch(c.ctx, expected, client.RawPatch(types.MergePatchType, whole)); err != nil {
		return fmt.Errorf("repair %s %s: %w", expected.GetKind(), expected.GetName(), err)
	}
	return nil
}

// InOrder returns the object that is like expected by kind and name, if cache has it and a release would change nothing
// of it, or else nil.
func InOrder(ctx context.Context, cache client.Reader, expected *unstructured.Unstructured) *Object {
	cached, err := read(ctx, cache, expected, packed.Raw)
	if err != nil {
		return nil
	}
	whole := *cached
	if err := packed.Unpack(&whole); err != nil {
		return nil
	}
	if same, err := unchanged(&whole, expected); err != nil || !same {
		return nil
	}
	return newObject(cached)
}

// read reads the object that is like another by kind and name.
func read(
	ctx context.Context, from client.Reader, like *unstructured.Unstructured, opts ...client.GetOption,
) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(like.GroupVersionKind())
	return found, from.Get(ctx, client.ObjectKeyFromObject(like), found, opts...) //nolint:wrapcheck // both callers look at it first
}
