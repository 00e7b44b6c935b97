package integration

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// refuse has the API server refuse an operation on the Collector's Deployment, until it is told to allow that.
func refuse(t *testing.T, collector *v1alpha1.Collector, operation admissionv1.OperationType) (allow func()) {
	t.Helper()
	withdraw := forbid(t, collector.Namespace, "apps", "deployments", "false", operation)
	try := func() error {
		deployment := get(t, collector, "", &appsv1.Deployment{})
		if operation == admissionv1.Delete {
			return plane.client.Delete(t.Context(), deployment, client.DryRunAll)
		}
		return plane.client.Update(t.Context(), deployment, client.DryRunAll)
	}
	NewWithT(t).Eventually(try).Should(MatchError(ContainSubstring("not in this test")))
	return func() {
		withdraw()
		NewWithT(t).Eventually(try).Should(Succeed())
	}
}

// fiveMinutesOfReconciles watches the reconciles of a Collector, begun since a mark, until they are 8 s apart, and returns how
// many there will have been after 5 minutes: each doubles the time to the next, up to 2 minutes.
func fiveMinutesOfReconciles(t *testing.T, since int, collector *v1alpha1.Collector) int {
	t.Helper()
	start := time.Now()
	var reconciles []time.Duration
	var last time.Duration // between two reconciles
	NewWithT(t).Eventually(func() time.Duration {
		for range len(shared.log.reconciles(since, client.ObjectKeyFromObject(collector))) - len(reconciles) {
			reconciles = append(reconciles, time.Since(start))
		}
		if len(reconciles) > 1 {
			last = reconciles[len(reconciles)-1] - reconciles[len(reconciles)-2]
		}
		return last.Round(time.Second)
	}).Should(BeNumerically(">=", 8*time.Second), "from one reconcile to the next")
	t.Logf("reconciles after %s", reconciles)

	count := len(reconciles)
	for next := reconciles[count-1]; ; count++ {
		last = min(2*last, 2*time.Minute)
		if next += last; next > 5*time.Minute {
			return count
		}
	}
}

func TestACollectorThatCannotBeDeployedIsTriedTwelveTimesInFiveMinutes(t *testing.T) {
	t.Parallel()
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			spoil(collector)
			since := shared.log.mark()
			if err := plane.client.Create(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			g := NewWithT(t)
			g.Expect(fiveMinutesOfReconciles(t, since, collector)).To(BeNumerically("<=", 12))

			since = shared.log.mark()
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec = newCollector("", "").Spec })
			shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
			g.Expect(shared.log.reconciles(since, client.ObjectKeyFromObject(collector))[0]).To(BeEmpty(), "the first reconcile after it was fixed")
			g.Expect(deployedRevision(t, collector)).To(BeNumerically(">", 0))
		})
	}
}

func TestAFailedUpgradeIsRetriedForwardAndNotRolledBack(t *testing.T) {
	t.Parallel()
	collector := install(t)
	before := get(t, collector, "", &appsv1.Deployment{})
	allow := refuse(t, collector, admissionv1.Update)
	since := shared.log.mark()
	changed := []byte("changed: " + secret)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = changed })
	awaitFailures(t, since, collector, 4)

	g := NewWithT(t)
	g.Expect(condition(t, collector, "Ready")).To(And(HaveField("Reason", v1alpha1.ReasonReleaseFailed),
		HaveField("Message", fmt.Sprintf("Deployment %q: ValidatingAdmissionPolicy '%[2]s' with binding '%[2]s' denied request: not in this test",
			collector.Name, collector.Namespace+"-deployments"))))
	g.Expect(get(t, collector, filesOf(string(changed)), &corev1.Secret{}).Data).To(HaveKeyWithValue("config.yaml", changed), "what came before the Deployment")
	g.Expect(get(t, collector, "", &appsv1.Deployment{})).To(Equal(before))
	g.Expect(statusesOfRevisions(t, collector)).To(Equal([]string{"1 deployed"}))

	allow()
	touch(t, collector)
	awaitRevision(t, collector, 2)
	g.Eventually(func() corev1.ConditionStatus { return condition(t, collector, "ReleaseFailed").Status }).Should(Equal(corev1.ConditionFalse))
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Annotations).To(
		HaveKeyWithValue(hashAnnotation, sha256Of(string(changed))))
}

// statusesOfRevisions returns the number and the status of each revision of a Collector's release, in order.
func statusesOfRevisions(t *testing.T, collector *v1alpha1.Collector) []string {
	t.Helper()
	statuses := map[int]string{}
	for _, stored := range revisions(t, collector) {
		number, err := strconv.Atoi(stored.Labels["version"])
		if err != nil {
			t.Fatal(err)
		}
		statuses[number] = stored.Labels["status"]
	}
	var inOrder []string
	for _, number := range slices.Sorted(maps.Keys(statuses)) {
		inOrder = append(inOrder, fmt.Sprintf("%d %s", number, statuses[number]))
	}
	return inOrder
}

func TestACollectorThatCannotBeUninstalledIsTriedTwelveTimesInFiveMinutes(t *testing.T) {
	t.Parallel()
	collector := install(t)
	allow := refuse(t, collector, admissionv1.Delete)
	since := shared.log.mark()
	if err := plane.client.Delete(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Expect(fiveMinutesOfReconciles(t, since, collector)).To(BeNumerically("<=", 12))
	g.Expect(condition(t, collector, "ReleaseFailed").Status).To(Equal(corev1.ConditionTrue))

	allow()
	touch(t, collector)
	awaitGone(t, collector)
	g.Expect(names(contents(t, collector.Namespace))).To(BeEmpty())
}
