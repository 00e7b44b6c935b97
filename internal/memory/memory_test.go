package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/retry"
)

const manifest = `
apiVersion: v1
kind: Service
metadata: {name: gateway, namespace: team-a}
spec: {type: ClusterIP}
`

// helm is an action client that notes what it is asked, and whose release is always the same.
type helm struct {
	helmclient.ActionInterface
	config   *action.Configuration
	manifest string
	asked    []string
	status   release.Status
	err      error // of everything
	refused  error // of upgrades
}

func (h *helm) Config() *action.Configuration { return h.config }

func (h *helm) note(what string) (*release.Release, error) {
	h.asked = append(h.asked, what)
	return &release.Release{
		Name: "gateway", Version: 4, Manifest: h.manifest, Info: &release.Info{Status: h.status},
		Config: map[string]any{"collector": map[string]any{"version": "0.150.0"}},
	}, h.err
}

func (h *helm) Get(string, ...helmclient.GetOption) (*release.Release, error) { return h.note("get") }

func (h *helm) Upgrade(_, _ string, _ *chart.Chart, _ map[string]any, opts ...helmclient.UpgradeOption) (*release.Release, error) {
	if retry.IsDryRun(opts) {
		return h.note("dry run")
	}
	rel, err := h.note("upgrade")
	return rel, cmp.Or(err, h.refused)
}

func (h *helm) Reconcile(*release.Release) error {
	_, err := h.note("repair")
	return err
}

func (h *helm) Uninstall(string, ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	_, err := h.note("uninstall")
	return nil, err
}

// world is a Collector whose release is deployed, and an operator that has made passes over it.
type world struct {
	memory        *Memory
	helm          *helm
	cluster       client.Client // what the cache has
	live          client.Client
	collector     *unstructured.Unstructured
	chart         *chart.Chart
	values        map[string]any
	configuration string
	capabilities  int
	again         int
}

func newWorld() *world {
	collector := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector",
		"metadata": map[string]any{"name": "gateway", "namespace": "team-a", "uid": "u", "generation": int64(1)},
	}}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "gateway", Namespace: "team-a", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "kube8.dev/v1alpha1", Kind: "Collector", Name: "gateway", UID: "u", Controller: new(true)},
		}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP},
	}
	offers := &action.Configuration{Capabilities: chartutil.DefaultCapabilities.Copy()}
	w := &world{helm: &helm{config: offers, manifest: manifest, status: release.StatusDeployed}, cluster: fake.NewClientBuilder().WithObjects(service).Build(), collector: collector}
	w.live = w.cluster
	w.chart = &chart.Chart{Metadata: &chart.Metadata{}, Raw: []*chart.File{{Name: "Chart.yaml", Data: []byte("name: collector")}}}
	w.values = map[string]any{"mode": "deployment"}
	w.restart()
	return w
}

// restart has the operator forget what it knows.
func (w *world) restart() {
	w.memory = &Memory{
		Cache:         w.cluster,
		Configuration: func(*unstructured.Unstructured) string { return w.configuration },
		Capabilities:  func(context.Context) int { return w.capabilities },
		Period:        time.Hour,
	}
}

// pass makes the calls of one pass of the stock reconciler, as long as there is no error, and returns what Helm was asked.
func (w *world) pass(t *testing.T) []string {
	t.Helper()
	w.helm.asked = nil
	next := drift.Getter{
		Next: helmclient.ActionClientGetterFunc(func(context.Context, client.Object) (helmclient.ActionInterface, error) {
			return w.helm, nil
		}),
		Cluster: w.cluster, Live: w.live, Events: record.NewFakeRecorder(10),
	}
	getter := w.memory.ActionClients(next, func(client.ObjectKey, time.Duration) { w.again++ })
	actions, err := getter.ActionClientFor(t.Context(), w.collector)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = actions.Get("gateway") // its error is ignored, to be met again
	if w.collector.GetDeletionTimestamp() != nil {
		_, _ = actions.Uninstall("gateway")
		return w.helm.asked
	}
	current, err := actions.Get("gateway")
	if err != nil {
		return w.helm.asked
	}
	dryRun := func(upgrade *action.Upgrade) error { upgrade.DryRun = true; return nil }
	wanted, err := actions.Upgrade("gateway", "team-a", w.chart, w.values, dryRun)
	if err != nil {
		return w.helm.asked
	}
	if wanted.Manifest != current.Manifest {
		t.Fatal("the manifest is always the same, but the pass would upgrade")
	}
	if current.Info.Status == release.StatusFailed {
		_, _ = actions.Upgrade("gateway", "team-a", w.chart, w.values)
		return w.helm.asked
	}
	_ = actions.Reconcile(current)
	return w.helm.asked
}

func (w *world) changeService(t *testing.T, change func(*corev1.Service)) {
	t.Helper()
	service := &corev1.Service{}
	if err := w.cluster.Get(t.Context(), client.ObjectKeyFromObject(w.collector), service); err != nil {
		t.Fatal(err)
	}
	change(service)
	if err := w.cluster.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
}

func TestPassesAfterAFullOne(t *testing.T) {
	full := []string{"get", "dry run"}
	tests := map[string]struct {
		happens func(*testing.T, *world)
		want    []string
	}{
		"nothing happened": {happens: func(*testing.T, *world) {}},
		"an object's status changed": {
			happens: func(t *testing.T, w *world) {
				t.Helper()
				w.changeService(t, func(s *corev1.Service) {
					s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
				})
			},
		},
		"an object has got a label that nobody minds": {
			happens: func(t *testing.T, w *world) {
				t.Helper()
				w.changeService(t, func(s *corev1.Service) { s.Labels = map[string]string{"added": "by-somebody"} })
			},
			want: full,
		},
		"an object was edited": {
			happens: func(t *testing.T, w *world) {
				t.Helper()
				w.changeService(t, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
			},
			want: append(full, "repair"),
		},
		"an object was deleted": {
			happens: func(t *testing.T, w *world) {
				t.Helper()
				if err := w.cluster.DeleteAllOf(t.Context(), &corev1.Service{}, client.InNamespace("team-a")); err != nil {
					t.Fatal(err)
				}
			},
			want: append(full, "repair"),
		},
		"the spec changed": {
			happens: func(_ *testing.T, w *world) { w.collector.SetGeneration(2) },
			want:    full,
		},
		"a configuration that is not in the spec changed": {
			happens: func(_ *testing.T, w *world) { w.configuration = "2" },
			want:    full,
		},
		"the cluster offers something else": {
			happens: func(_ *testing.T, w *world) { w.capabilities++ },
			want:    full,
		},
		"the Collector was replaced by another of its name": {
			happens: func(_ *testing.T, w *world) { w.collector.SetUID("v") },
			want:    full,
		},
		"the reconcile period is over": {
			happens: func(_ *testing.T, w *world) { w.memory.Period = 0 },
			want:    full,
		},
		"the Collector is being deleted": {
			happens: func(_ *testing.T, w *world) { w.collector.SetDeletionTimestamp(new(metav1.Now())) },
			want:    []string{"get", "uninstall"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if got := w.pass(t); !slices.Equal(got, full) {
				t.Fatalf("the first pass asked Helm for %q, want %q", got, full)
			}
			if outcome := w.memory.Of("u"); !outcome.InOrder || outcome.Deployed.Revision != 4 || outcome.Deployed.Version != "0.150.0" {
				t.Errorf("after the first pass: %+v, deployed %+v", outcome, outcome.Deployed)
			}
			test.happens(t, w)
			if got := w.pass(t); !slices.Equal(got, test.want) {
				t.Errorf("asked Helm for %q, want %q", got, test.want)
			}
		})
	}
}

func TestACollectorThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld()
	w.pass(t)
	w.collector.SetDeletionTimestamp(new(metav1.Now()))
	w.pass(t)
	if outcome := w.memory.Of("u"); outcome != (Outcome{}) || len(w.memory.entries) > 0 { // the status is asked for once more
		t.Errorf("remembered: %+v, %d entries", outcome, len(w.memory.entries))
	}
}

func TestAFailedPassIsFollowedByAFullOne(t *testing.T) {
	w := newWorld()
	w.pass(t)
	w.collector.SetGeneration(2)
	w.helm.err = errors.New("refused")
	w.pass(t)
	if outcome := w.memory.Of("u"); !errors.Is(outcome.Err, w.helm.err) || outcome.InOrder {
		t.Errorf("after a failed pass: %+v", outcome)
	}
	w.helm.err = nil
	w.collector.SetGeneration(1)
	if got, want := w.pass(t), []string{"get", "dry run"}; !slices.Equal(got, want) {
		t.Errorf("asked Helm for %q, want %q", got, want)
	}
	if outcome := w.memory.Of("u"); outcome.Err != nil || !outcome.InOrder {
		t.Errorf("after the next pass: %+v", outcome)
	}
}

func TestObjectsThatTheCacheHasNotSeenAreLookedForAgain(t *testing.T) {
	w := newWorld()
	w.cluster = fake.NewClientBuilder().Build()
	w.pass(t)
	if outcome := w.memory.Of("u"); outcome.InOrder || w.again != 1 {
		t.Errorf("in order: %t, asked for %d more passes", outcome.InOrder, w.again)
	}
}
