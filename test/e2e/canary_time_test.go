//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// manyPods is how many pods have to get a good change, and longHold is for how long the first of them has to be ready before.
	manyPods, longHold = 10, 20 * time.Second

	// timeMargin is how much longer than longHold and a rolling update the change may take, for pods that start more slowly than others.
	timeMargin = 15 * time.Second
)

// Not parallel: it measures.
func TestAGoodChangeOfTenPodsTakesHoldAndOneRollingUpdate(t *testing.T) {
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	collector.Spec.Replicas = new(int32(manyPods))
	collector.Spec.ReadinessProbe = &corev1.Probe{ // or a pod that is not ready at the first probe is so 10 seconds later
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(13133)}},
		PeriodSeconds: 1,
	}
	create(t, collector)
	awaitReady(t, collector)
	alone := roll(t, collector, "detailed")

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Canary = &v1alpha1.Canary{Hold: longHold.String()} })
	awaitReady(t, collector) // the pods have changed once
	proven := roll(t, collector, "normal")
	t.Logf("%s: %d pods have a change after %s, and after %s with a canary of %s",
		t.Name(), manyPods, alone.Round(time.Second), proven.Round(time.Second), longHold)
	g := NewWithT(t)
	g.Expect(proven).To(BeNumerically(">=", longHold), "the hold")
	g.Expect(proven).To(BeNumerically("<=", longHold+alone+timeMargin), "the hold and one rolling update")
}

// roll changes what a Collector prints, and returns how long it takes until all of its pods do that and are ready.
func roll(t *testing.T, collector *v1alpha1.Collector, verbosity string) time.Duration {
	t.Helper()
	config := printing(verbosity)
	began := time.Now()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(config) })
	NewWithT(t).Eventually(func() (changed int) {
		for _, pod := range podsOf(t, collector) {
			if pod.Annotations[hashAnnotation] == sha256Of([]byte(config)) && pod.DeletionTimestamp == nil && isReady(pod) {
				changed++
			}
		}
		return changed
	}).WithTimeout(5 * time.Minute).Should(Equal(manyPods))
	took := time.Since(began)
	awaitReady(t, collector)
	return took
}
