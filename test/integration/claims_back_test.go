package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A user who has named a StorageClass that is not there takes that back, at any time. Pods that served serve on, and the others start.
func TestAStorageClassThatIsMissingIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		right    []string // queue=slow if it is nil
		wrong    []string
		replicas int32
		claims   int // at least, once the change has done what it can: Kubernetes' controller may try pods that it cannot update, too
		ready    int // meanwhile
	}{
		"before any pod needs it":               {wrong: []string{"queue=missing"}, replicas: 3, claims: 3, ready: 3},
		"when a pod more waits for its claim":   {wrong: []string{"queue=missing"}, replicas: 4, claims: 4, ready: 3},
		"when a template of that class comes":   {wrong: []string{"queue=slow", "spool=missing"}, replicas: 3, claims: 4, ready: 2},
		"when the template has another name":    {wrong: []string{"buffer=missing"}, replicas: 3, claims: 4, ready: 2},
		"when the first template comes":         {right: []string{}, wrong: []string{"spool=missing"}, replicas: 3, claims: 1, ready: 2},
		"when the class and the number go back": {wrong: []string{"queue=missing"}, replicas: 5, claims: 5, ready: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.right == nil {
				row.right = []string{"queue=slow"}
			}
			g, collector := NewWithT(t), newSet(t, row.right...)
			awaitServing := func(pods int32) {
				t.Helper()
				g.Eventually(func() bool {
					_, _, ready := claimsAndPods(t, collector.Namespace)
					return len(ready) == int(pods) && string(condition(t, collector, "Ready").Status) == "True"
				}).WithTimeout(60*time.Second).Should(BeTrue(), "%v", condition(t, collector, "Ready"))
			}
			awaitServing(3)
			_, _, before := claimsAndPods(t, collector.Namespace)

			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.VolumeClaimTemplates, c.Spec.Replicas = templatesOf(row.wrong...), new(row.replicas)
			})
			g.Eventually(func() []string { return templatesIn(t, collector) }).WithTimeout(60 * time.Second).Should(Equal(row.wrong))
			g.Eventually(func() bool {
				classes, _, ready := claimsAndPods(t, collector.Namespace)
				return len(classes) >= row.claims && len(ready) == row.ready
			}).WithTimeout(60*time.Second).Should(BeTrue(), "%d claims or more, and %d pods that run", row.claims, row.ready)
			after := row.replicas
			if after == 5 {
				after = 3
			}
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.VolumeClaimTemplates, c.Spec.Replicas = templatesOf(row.right...), new(after)
			})
			g.Eventually(func() []string { return templatesIn(t, collector) }).WithTimeout(60 * time.Second).Should(Equal(row.right))
			awaitServing(after)
			classes, _, now := claimsAndPods(t, collector.Namespace)
			if len(row.right) > 0 {
				for claim, class := range ofPods(map[string]string{"queue": "slow"}, int(after)) {
					g.Expect(classes).To(HaveKeyWithValue(claim, class))
				}
			}
			if row.ready == 3 {
				for pod, uid := range before {
					g.Expect(now).To(HaveKeyWithValue(pod, uid), "it serves on")
				}
			}
		})
	}
}

// templatesIn returns the claim templates of a Collector's StatefulSet, name=class. It has none while the operator creates it again.
func templatesIn(t *testing.T, collector *v1alpha1.Collector) []string {
	t.Helper()
	var sets appsv1.StatefulSetList
	NewWithT(t).Expect(plane.client.List(t.Context(), &sets, client.InNamespace(collector.Namespace))).To(Succeed())
	templates := []string{}
	for _, set := range sets.Items {
		for _, template := range set.Spec.VolumeClaimTemplates {
			templates = append(templates, template.Name+"="+*template.Spec.StorageClassName)
		}
	}
	return templates
}
