package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/kustomize"
)

// shardLabel is by which config/sharded shares a fleet out.
const shardLabel = "kube8.dev/shard"

// startShards starts the operators of config/sharded until the test ends, by the value of the label that they are for, and
// returns where the metrics of each are.
func startShards(t *testing.T) (operators map[string]*operator, metrics map[string]string) {
	t.Helper()
	objects, err := kustomize.Build("config/sharded")
	if err != nil {
		t.Fatal(err)
	}
	operators, metrics = map[string]*operator{}, map[string]string{}
	for _, object := range objects {
		switch object.GetKind() {
		case "Role": // of the Leases
			before := object.DeepCopy()
			if err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(object), before); err != nil {
				t.Fatal(err)
			}
			object.SetResourceVersion(before.GetResourceVersion())
			if err := plane.client.Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				before.SetResourceVersion("")
				if err := plane.client.Update(context.Background(), before); err != nil {
					t.Error(err)
				}
			})
		case "Deployment":
			deployment := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
				t.Fatal(err)
			}
			shard := deployment.Labels[shardLabel]
			if metrics[shard], err = freeAddress(); err != nil {
				t.Fatal(err)
			}
			args := slices.DeleteFunc(deployment.Spec.Template.Spec.Containers[0].Args, func(arg string) bool {
				return strings.Contains(arg, "-bind-address") || strings.Contains(arg, "--metrics-secure")
			})
			operators[shard] = startAnother(t, "", append(args, "--leader-election-namespace="+systemNamespace,
				"--metrics-bind-address="+metrics[shard], "--metrics-secure=false")...)
		}
	}
	return operators, metrics
}

// installSharded starts the operators of config/sharded in place of the shared one, and has that of a install a Collector.
func installSharded(t *testing.T) *v1alpha1.Collector {
	t.Helper()
	g, collector := NewWithT(t), newCollector(newNamespace(t), "gateway")
	g.Expect(shared.stop()).To(Succeed())
	startSharedAgain(t)
	startShards(t)
	collector.Labels = map[string]string{shardLabel: "a"}
	g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
	awaitRevision(t, collector, 1)
	return collector
}

// cachedSecrets returns how many Secrets an operator has in its informer caches.
func cachedSecrets(t *testing.T, metrics string) (number int) {
	t.Helper()
	_, found, _ := strings.Cut(scrapeInsecurely(t, metrics), `kube8_cache_objects{kind="Secret"} `)
	if _, err := fmt.Sscan(found, &number); err != nil {
		t.Fatal(err)
	}
	return number
}

// Not parallel: it stops the shared operator.
func TestACollectorThatIsSoonBackFromAnotherOperatorKeepsNothingOfThat(t *testing.T) {
	g, collector := NewWithT(t), installSharded(t)
	namespace := collector.Namespace
	first := get(t, collector, "", &appsv1.Deployment{}).Labels[v1alpha1.OperatorLabel]
	isBusy, isBack := make(chan struct{}), make(chan struct{})
	var asked atomic.Int32
	var begins atomic.Bool
	validateBy(t, namespace, answerReviews(t, func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if asked.Add(1); !*r.DryRun && begins.CompareAndSwap(false, true) {
			close(isBusy)
			<-isBack
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	}))
	goOn := sync.OnceFunc(func() { close(isBack) })
	t.Cleanup(goOn)
	g.Eventually(func() int32 {
		_ = plane.client.Create(t.Context(), deploymentIn(namespace), client.DryRunAll)
		return asked.Load()
	}).Should(BeNumerically(">", 0))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	<-isBusy // the first operator is in the middle of its change
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Labels[shardLabel], c.Spec.NetworkPolicy = "b", &v1alpha1.NetworkPolicy{Enabled: true}
		c.Spec.Collector.Configuration = []byte("elsewhere: {}")
	})
	awaitRevision(t, collector, 2)
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Labels[shardLabel], c.Spec.NetworkPolicy = "a", nil
		c.Spec.Collector.Configuration = []byte("again: {}")
	})
	goOn()
	g.Eventually(func() string { return get(t, collector, "", &v1alpha1.Collector{}).Status.ConfigHash }).WithTimeout(20 * time.Second).
		Should(Equal(sha256Of("again: {}")))
	g.Eventually(func() map[string]string {
		operators := map[string]string{}
		for name, object := range contents(t, namespace, client.HasLabels{collectorLabel}) {
			operators[name] = object.GetLabels()[v1alpha1.OperatorLabel]
		}
		return operators
	}).WithTimeout(20 * time.Second).Should(And(Not(HaveKey("NetworkPolicy/gateway")), HaveEach(first)))
}

// Not parallel: it stops the shared operator.
func TestOperatorsShareAFleetByLabels(t *testing.T) {
	g, namespace := NewWithT(t), newNamespace(t)
	if err := shared.stop(); err != nil {
		t.Error(err)
	}
	startSharedAgain(t)
	operators, metrics := startShards(t)
	g.Expect(operators).To(HaveLen(3))
	var fleet []*v1alpha1.Collector
	for i, shard := range []string{"a", "a", "a", "b", "b", "elsewhere", ""} {
		collector := newCollector(namespace, fmt.Sprintf("collector-%d", i))
		if shard != "" {
			collector.Labels = map[string]string{shardLabel: shard}
		}
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		fleet = append(fleet, collector)
	}
	for _, collector := range fleet {
		g.Eventually(func() *v1alpha1.DeployedRelease {
			return get(t, collector, "", &v1alpha1.Collector{}).Status.DeployedRelease
		}).
			ShouldNot(BeNil(), "or the next operator would not know of the revision")
	}
	// b refers to what a user created, which has no label of an operator.
	backend := createSecret(t, namespace, "team-config", "first: {}")
	referring := newReferring(namespace, "referring")
	referring.Labels = map[string]string{shardLabel: "b"}
	if err := plane.client.Create(t.Context(), referring); err != nil {
		t.Fatal(err)
	}
	awaitRevision(t, referring, 1)
	changeSecret(t, backend, func(s *corev1.Secret) { s.Data["collector.yaml"] = []byte("second: {}") })
	awaitRevision(t, referring, 2)

	moved := fleet[0]
	g.Eventually(func() int { return cachedSecrets(t, metrics["a"]) - cachedSecrets(t, metrics["others"]) }).Should(Equal(1), "3 have 1, and 2 have 1")
	for i, configuration := range []string{"unused: {}", config} {
		change(t, moved, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(configuration) })
		awaitRevision(t, moved, i+2)
	}
	for shard, number := range map[string]int{"a": 3, "b": 3, "others": 2} {
		g.Eventually(func() string { return scrapeInsecurely(t, metrics[shard]) }).Should(And(
			ContainSubstring(`kube8_cache_objects{kind="Collector"} %d`, number), ContainSubstring(`kube8_cache_objects{kind="Deployment"} %d`, number)))
	}

	before := get(t, moved, "", &appsv1.Deployment{})
	unused := get(t, moved, filesOf("unused: {}"), &corev1.Secret{})
	change(t, moved, func(c *v1alpha1.Collector) { c.Labels[shardLabel] = "b" })
	g.Eventually(func() map[string]string { return get(t, moved, "", &corev1.Service{}).Labels }).
		ShouldNot(HaveKeyWithValue(v1alpha1.OperatorLabel, before.Labels[v1alpha1.OperatorLabel]))
	g.Eventually(func() string { return scrapeInsecurely(t, metrics["a"]) }).Should(ContainSubstring(`kube8_cache_objects{kind="Deployment"} 2`))
	after := get(t, moved, "", &appsv1.Deployment{})
	g.Expect(after.UID).To(Equal(before.UID))
	g.Expect(after.Spec).To(Equal(before.Spec), "no pod is restarted")
	g.Expect(deployedRevision(t, moved)).To(Equal(3))
	g.Eventually(func() map[string]string { return get(t, moved, filesOf("unused: {}"), unused).Labels }).
		Should(HaveKeyWithValue(v1alpha1.OperatorLabel, after.Labels[v1alpha1.OperatorLabel]), "or its new operator would not see it, and never prune it")
	g.Expect(events(t, moved)).NotTo(HaveKey(ContainSubstring("DriftRepaired")))

	a, last := operators["a"], operators["a"].log.mark()
	if err := plane.client.Delete(t.Context(), get(t, moved, "", &corev1.Service{})); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(moved), &corev1.Service{})
	}).Should(Succeed())
	change(t, moved, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("moved: {}") })
	awaitRevision(t, moved, 4)
	g.Expect(a.log.reconciles(last, client.ObjectKeyFromObject(moved))).To(BeEmpty(), "the first operator has forgotten it")

	// Back, and gone before the first operator has applied anything: nothing is left.
	change(t, moved, func(c *v1alpha1.Collector) { c.Labels[shardLabel] = "a" })
	if err := plane.client.Delete(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, moved)
	g.Eventually(func() error { return plane.client.Get(t.Context(), client.ObjectKeyFromObject(unused), unused) }).ShouldNot(Succeed())
}
