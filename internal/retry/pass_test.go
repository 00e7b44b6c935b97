package retry

import (
	"context"
	"errors"
	"testing"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var (
	key       = types.NamespacedName{Namespace: "tenant-acme", Name: "gateway"}
	errBroken = errors.New("broken")
)

// helm is an action client whose actions end as they are told.
type helm struct {
	helmclient.ActionInterface
	get, install, upgrade, dryRun, reconcile, uninstall error
}

func (h helm) Get(string, ...helmclient.GetOption) (*release.Release, error) { return nil, h.get }

func (h helm) Install(string, string, *chart.Chart, map[string]any, ...helmclient.InstallOption) (*release.Release, error) {
	return nil, h.install
}

func (h helm) Upgrade(_, _ string, _ *chart.Chart, _ map[string]any, opts ...helmclient.UpgradeOption) (*release.Release, error) {
	if len(opts) > 0 {
		return nil, h.dryRun
	}
	return nil, h.upgrade
}

func (h helm) Reconcile(*release.Release) error { return h.reconcile }

func (h helm) Uninstall(string, ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	return nil, h.uninstall
}

func dryRun(upgrade *action.Upgrade) error {
	upgrade.DryRun = true
	return nil
}

// pass makes calls in the order of the stock reconciler, which goes on after a failed Get, and returns the last error.
type pass func(helmclient.ActionInterface) error

func get(actions helmclient.ActionInterface) error {
	_, err := actions.Get("gateway")
	return err
}

func install(actions helmclient.ActionInterface) error {
	_, err := actions.Install("gateway", "tenant-acme", nil, nil)
	return err
}

func upgradeDry(actions helmclient.ActionInterface) error {
	_, err := actions.Upgrade("gateway", "tenant-acme", nil, nil, dryRun)
	return err
}

func upgrade(actions helmclient.ActionInterface) error {
	_, err := actions.Upgrade("gateway", "tenant-acme", nil, nil)
	return err
}

func repair(actions helmclient.ActionInterface) error { return actions.Reconcile(nil) }

func uninstall(actions helmclient.ActionInterface) error {
	_, err := actions.Uninstall("gateway")
	return err
}

func inTurn(calls ...pass) pass {
	return func(actions helmclient.ActionInterface) (err error) {
		for _, call := range calls {
			err = call(actions)
		}
		return err
	}
}

// controller is a controller's queue with its sources, and an operator that passes over one Collector.
type controller struct {
	*Queue
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
	sources    []source.Source
	generation int64
}

// Watch takes a source.
func (c *controller) Watch(src source.Source) error {
	c.sources = append(c.sources, src)
	return nil
}

func newController(t *testing.T) *controller {
	t.Helper()
	c := &controller{
		Queue: New(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(c.queue.ShutDown)
	if err := c.Setup(c); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *controller) start(t *testing.T) {
	t.Helper()
	for _, src := range c.sources {
		if err := src.Start(t.Context(), c.queue); err != nil {
			t.Fatal(err)
		}
	}
}

// pass makes one pass with actions that end as helm says.
func (c *controller) pass(t *testing.T, helm helm, calls pass) error {
	t.Helper()
	getter := c.ActionClients(helmclient.ActionClientGetterFunc(
		func(context.Context, client.Object) (helmclient.ActionInterface, error) { return helm, nil }))
	obj := &unstructured.Unstructured{}
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	obj.SetGeneration(c.generation)
	actions, err := getter.ActionClientFor(t.Context(), obj)
	if err != nil {
		t.Fatal(err)
	}
	return calls(actions)
}

// next waits for the next pass and returns how long that took. Call it in a synctest bubble.
func (c *controller) next(t *testing.T) time.Duration {
	t.Helper()
	since := time.Now()
	request, _ := c.queue.Get()
	c.queue.Done(request)
	if request.NamespacedName != key {
		t.Errorf("a pass over %s", request)
	}
	return time.Since(since)
}
