package integration

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// wave is a fleet whose pods become ready, or do not.
type wave struct {
	args  []string // that the shared operator had before, and gets back
	fleet map[string]*v1alpha1.Collector

	change func(*appsv1.Deployment) string // tells what the operator has brought to it; the registry of its image by default

	mutex   sync.Mutex
	broken  string              // pods of that change never become ready
	stuck   string              // the namespace where that is so; "" is all
	order   map[string][]string // by change, Collectors in the order in which they had it
	atOnce  map[string]int      // by change, how many were on their way, at most
	written map[string]bool     // Collectors that had an image before their status said that it is on its way
}

// newWave creates Collectors, each in a namespace with labels, and waits until all are ready. Those that hold do so themselves.
func newWave(t *testing.T, labels map[string]map[string]string) *wave {
	t.Helper()
	w := &wave{
		args: shared.args, fleet: map[string]*v1alpha1.Collector{}, change: registryOf,
		order: map[string][]string{}, atOnce: map[string]int{}, written: map[string]bool{},
	}
	t.Cleanup(func() { restart(t, w.args) })
	for name, set := range labels {
		w.fleet[name] = newCollector(newNamespace(t), name)
		if set[v1alpha1.RolloutLabel] == v1alpha1.RolloutHold {
			w.fleet[name].Labels = map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold}
		}
		w.label(t, name, v1alpha1.RingLabel, set[v1alpha1.RingLabel])
		w.label(t, name, v1alpha1.RolloutLabel, strings.TrimPrefix(set[v1alpha1.RolloutLabel], v1alpha1.RolloutHold))
		create(t, w.fleet[name])
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { wait.UntilWithContext(ctx, w.look, 20*time.Millisecond) })
	t.Cleanup(func() { cancel(); watching.Wait() })
	w.awaitReady(t, "ghcr.io/")
	return w
}

// label gives the namespace of a Collector a label, unless the value is empty.
func (w *wave) label(t *testing.T, name, label, value string) {
	t.Helper()
	if value == "" {
		return
	}
	setLabel(t, w.fleet[name].Namespace, label, value)
}

// deployments returns those of the Collectors.
func (w *wave) deployments(ctx context.Context) ([]appsv1.Deployment, error) {
	var all appsv1.DeploymentList
	err := plane.client.List(ctx, &all, client.HasLabels{v1alpha1.CollectorLabel})
	return slices.DeleteFunc(all.Items, func(deployment appsv1.Deployment) bool {
		collector := w.fleet[deployment.Name]
		return collector == nil || collector.Namespace != deployment.Namespace
	}), err
}

// look does what the Deployment controller would, and notes who is on the way.
func (w *wave) look(ctx context.Context) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	deployments, err := w.deployments(ctx)
	if err != nil {
		return
	}
	onTheirWay := map[string]int{}
	for i := range deployments {
		deployment := &deployments[i]
		status, registry := &deployment.Status, w.change(deployment)
		if status.ObservedGeneration == deployment.Generation && status.AvailableReplicas > 0 {
			continue
		}
		onTheirWay[registry]++
		if !slices.Contains(w.order[registry], deployment.Name) {
			w.order[registry] = append(w.order[registry], deployment.Name)
		}
		*status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1}
		if registry != w.broken || w.stuck != "" && w.stuck != deployment.Namespace {
			status.ReadyReplicas, status.AvailableReplicas = 1, 1
		}
		_ = plane.client.Status().Update(ctx, deployment) // or the next time
	}
	for registry, number := range onTheirWay {
		w.atOnce[registry] = max(w.atOnce[registry], number)
	}
}

func registryOf(deployment *appsv1.Deployment) string {
	registry, _, _ := strings.Cut(deployment.Spec.Template.Spec.Containers[0].Image, "/")
	return registry + "/"
}

// have returns the Collectors that have images below a registry.
func (w *wave) have(t *testing.T, registry string) (names []string) {
	t.Helper()
	deployments, err := w.deployments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range deployments {
		if w.change(&deployments[i]) == registry {
			names = append(names, deployments[i].Name)
		}
	}
	return names
}

// awaitReady waits until Collectors, or all of them, are ready with images below a registry, and wait for nothing.
func (w *wave) awaitReady(t *testing.T, registry string, names ...string) {
	t.Helper()
	if names == nil {
		names = slices.Collect(maps.Keys(w.fleet))
	}
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(w.have(t, registry)).To(ContainElements(names))
		for _, name := range names {
			found := get(t, w.fleet[name], "", &v1alpha1.Collector{})
			g.Expect(found.Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", corev1.ConditionTrue))), name)
			g.Expect(found.Status.Conditions).NotTo(ContainElement(HaveField("Type", v1alpha1.UpdatePending)), name)
		}
	}).WithTimeout(time.Minute).Should(Succeed())
}

// bring starts the shared operator with another default registry.
func (w *wave) bring(t *testing.T, registry string, args ...string) {
	t.Helper()
	restart(t, append(slices.Clone(w.args), append(args, "--collector-registry="+strings.TrimSuffix(registry, "/"))...))
}
