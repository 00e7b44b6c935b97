package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// The tests in this file have the operator bring a change, by another default registry, and so are not parallel.

// wave is a fleet whose pods become ready, or do not.
type wave struct {
	args      []string // that the shared operator had before, and gets back
	namespace string
	fleet     map[string]*v1alpha1.Collector

	mutex   sync.Mutex
	broken  string              // images below it have pods that never become ready
	order   map[string][]string // by registry, Collectors in the order in which they had its images
	atOnce  map[string]int      // by registry, how many were on their way, at most
	written map[string]bool     // Collectors that had an image before their status said that it is on its way
}

// newWave creates Collectors, with labels, and waits until all are ready.
func newWave(t *testing.T, labels map[string]map[string]string) *wave {
	t.Helper()
	w := &wave{
		args: shared.args, namespace: newNamespace(t), fleet: map[string]*v1alpha1.Collector{},
		order: map[string][]string{}, atOnce: map[string]int{}, written: map[string]bool{},
	}
	t.Cleanup(func() { restart(t, w.args) })
	for name, set := range labels {
		w.fleet[name] = newCollector(w.namespace, name)
		w.fleet[name].Labels = set
		create(t, w.fleet[name])
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { wait.UntilWithContext(ctx, w.look, 20*time.Millisecond) })
	t.Cleanup(func() { cancel(); watching.Wait() })
	w.awaitReady(t, "ghcr.io/")
	return w
}

// look does what the Deployment controller would, and notes who is on the way.
func (w *wave) look(ctx context.Context) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var collectors v1alpha1.CollectorList
	var deployments appsv1.DeploymentList
	if errors.Join(plane.client.List(ctx, &deployments, client.InNamespace(w.namespace)),
		plane.client.List(ctx, &collectors, client.InNamespace(w.namespace))) != nil {
		return
	}
	onTheirWay := map[string]int{}
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		status, registry := &deployment.Status, registryOf(deployment)
		if status.ObservedGeneration == deployment.Generation && status.AvailableReplicas > 0 {
			continue
		}
		onTheirWay[registry]++
		if !slices.Contains(w.order[registry], deployment.Name) {
			w.order[registry] = append(w.order[registry], deployment.Name)
		}
		*status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1}
		if registry != w.broken {
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
	var deployments appsv1.DeploymentList
	if err := plane.client.List(t.Context(), &deployments, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range deployments.Items {
		if registryOf(&deployments.Items[i]) == registry {
			names = append(names, deployments.Items[i].Name)
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

func ring(number string) map[string]string { return map[string]string{v1alpha1.RingLabel: number} }

func TestAChangeByTheOperatorReachesTheFleetInWaves(t *testing.T) {
	g := NewWithT(t)
	w := newWave(t, map[string]map[string]string{
		"a-first": {v1alpha1.RolloutLabel: v1alpha1.RolloutNow}, "b-held": {v1alpha1.RolloutLabel: v1alpha1.RolloutHold, v1alpha1.RingLabel: "0"},
		"c-last": nil, "d-last": nil, "e-last": ring("none"), "f-one": ring("1"), "g-one": ring("1"), "h-one": ring("1"), "i-zero": ring("0"), "j-zero": ring("0"),
	})
	w.bring(t, "mirror.example.com/", "--rollout-budget=2")
	g.Eventually(func() v1alpha1.Condition { return condition(t, w.fleet["c-last"], v1alpha1.UpdatePending) }).Should(And(
		HaveField("Status", corev1.ConditionTrue), HaveField("Reason", "Waiting"), HaveField("Message", MatchRegexp(`after all rings, place \d`))))
	moved := slices.DeleteFunc(slices.Sorted(maps.Keys(w.fleet)), func(name string) bool { return name == "b-held" })
	w.awaitReady(t, "mirror.example.com/", moved...)

	g.Expect(condition(t, w.fleet["b-held"], v1alpha1.UpdatePending)).To(And(
		HaveField("Status", corev1.ConditionTrue), HaveField("Reason", "LeftOut"), HaveField("Message", ContainSubstring("kube8.dev/rollout"))))
	g.Expect(condition(t, w.fleet["b-held"], "Ready").Status).To(Equal(corev1.ConditionTrue))
	w.mutex.Lock()
	order, atOnce := w.order["mirror.example.com/"], w.atOnce["mirror.example.com/"]
	w.mutex.Unlock()
	g.Expect(order).To(HaveLen(len(moved)))
	// It is admitted when it is reconciled. A look at the fleet can come before that, and admit ring 0 alone.
	g.Expect(slices.Index(order, "a-first")).To(BeNumerically("<=", 4), "with ring 1 at the latest")
	order = slices.DeleteFunc(slices.Clone(order), func(name string) bool { return name == "a-first" })
	g.Expect(order[:2]).To(ConsistOf("i-zero", "j-zero"))
	g.Expect(order[2:5]).To(ConsistOf("f-one", "g-one", "h-one"))
	g.Expect(atOnce).To(BeNumerically("<=", 3), "two, and the one that is to be first in any case")

	change(t, w.fleet["b-held"], func(c *v1alpha1.Collector) { c.Labels = nil })
	w.awaitReady(t, "mirror.example.com/", "b-held")
}

func TestAChangeByTheOperatorThatBreaksPodsHolds(t *testing.T) {
	g := NewWithT(t)
	labels := map[string]map[string]string{}
	for i := range 9 {
		labels[fmt.Sprintf("gateway-%d", i)] = ring(strconv.Itoa(i / 3))
	}
	w := newWave(t, labels)
	w.mutex.Lock()
	w.broken = "broken.example.com/"
	w.mutex.Unlock()
	w.bring(t, w.broken, "--rollout-budget=25%", "--rollout-deadline=3s")
	for range 2 {
		g.Eventually(func() []string { return w.have(t, w.broken) }).ShouldNot(BeEmpty())
		if err := shared.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		forgetLeader(t)
		if err := shared.start(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="held"}`) }).Should(BeEquivalentTo(7))
	broken := w.have(t, w.broken)
	g.Expect(broken).To(HaveLen(2))
	g.Expect(value(t, `kube8_rollout_collectors{state="overdue"}`)).To(BeEquivalentTo(2))
	for _, name := range broken {
		g.Expect(w.fleet[name].Labels).To(HaveKeyWithValue(v1alpha1.RingLabel, "0"))
		g.Expect(condition(t, w.fleet[name], v1alpha1.UpdatePending)).To(And(
			HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "RollingOut")))
		g.Eventually(func() map[string]int { return events(t, w.fleet[name]) }).Should(HaveKey(
			"Warning RolloutHeld: not ready 3s after the operator's change; with 2 such Collectors the change goes no further, and 7 wait"))
	}

	t.Run("and an owner's change goes at once", func(t *testing.T) {
		change(t, w.fleet["gateway-8"], func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
		NewWithT(t).Eventually(func() []string { return w.have(t, w.broken) }).Should(ContainElement("gateway-8"))
	})
	t.Run("and what somebody deletes is there again at once", func(t *testing.T) {
		if err := plane.client.Delete(t.Context(), get(t, w.fleet["gateway-7"], "", &corev1.Service{})); err != nil {
			t.Fatal(err)
		}
		NewWithT(t).Eventually(func() error {
			return plane.client.Get(t.Context(), client.ObjectKeyFromObject(w.fleet["gateway-7"]), &corev1.Service{})
		}).Should(Succeed())
	})
	t.Run("and goes on for a namespace that asks for it", func(t *testing.T) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"kube8.dev/rollout":"now"}}}`))
		if err := plane.client.Patch(t.Context(), namespace, patch); err != nil {
			t.Fatal(err)
		}
		NewWithT(t).Eventually(func() []string { return w.have(t, w.broken) }).Should(HaveLen(9))
	})
	t.Run("until a version mends it", func(t *testing.T) {
		w.bring(t, "mended.example.com/", "--rollout-budget=25%")
		w.awaitReady(t, "mended.example.com/")
	})
}

func TestAnotherVersionOfTheOperatorThatRendersTheSameWritesNoObject(t *testing.T) {
	w := newWave(t, map[string]map[string]string{"gateway": {}})
	text, err := os.ReadFile(shared.binary)
	if err != nil {
		t.Fatal(err)
	}
	before := shared.binary
	defer func() { shared.binary = before }()
	shared.binary = filepath.Join(t.TempDir(), "kube8-operator")
	if err := os.WriteFile(shared.binary, append(text, '\n'), 0o700); err != nil { // what follows the sections of a program is passed over
		t.Fatal(err)
	}
	requests, since := plane.audit.mark(t), shared.log.mark()
	restart(t, w.args)
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(w.fleet["gateway"]))
	for _, request := range plane.audit.writes(t, requests, w.namespace) {
		NewWithT(t).Expect(request).To(Or(HavePrefix("update collectors/status"), HavePrefix("update deployments/status")))
	}
}

func TestTheCommandsForChangesThatTheOperatorBringsDoWhatThePageSays(t *testing.T) {
	gateway := installSample(t)
	edge := newCollector(gateway.Namespace, "edge")
	create(t, edge)
	defer runScript(t, t.TempDir(), "kubectl label namespace "+gateway.Namespace+" "+v1alpha1.RolloutLabel+"-", nil)
	script, err := docs.Script("docs/operations.md", "Changes that the operator brings")
	shown := runScript(t, t.TempDir(), script, err)
	g := NewWithT(t)
	g.Expect(shown).To(MatchRegexp(`tenant-acme +gateway +<none>`))
	g.Expect(get(t, gateway, "", &v1alpha1.Collector{}).Labels).To(HaveKeyWithValue(v1alpha1.RingLabel, "0"))
	g.Expect(get(t, edge, "", &v1alpha1.Collector{}).Labels).To(HaveKeyWithValue(v1alpha1.RolloutLabel, v1alpha1.RolloutHold))
	namespace := &corev1.Namespace{}
	g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Name: gateway.Namespace}, namespace)).To(Succeed())
	g.Expect(namespace.Labels).To(HaveKeyWithValue(v1alpha1.RolloutLabel, v1alpha1.RolloutNow))
}
