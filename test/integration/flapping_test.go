package integration

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// Not parallel: it flaps faster than the operator looks, which other tests would slow down.
func TestAPodThatFlapsIsNotFollowedFlapByFlap(t *testing.T) {
	collector := install(t)
	flapping := pod(t, collector, corev1.PodStatus{})
	serve(t, collector, 1)
	awaitReady(t, collector, "True", "Available", "1/1 available")

	const flaps = 21
	requests, began := plane.audit.mark(t), time.Now()
	for i := range flaps {
		state, available := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, int32(1)
		if i%2 == 0 { // the first and the last
			state, available = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, 0
		}
		flapping.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "collector", State: state}}
		if err := plane.client.Status().Update(t.Context(), flapping); err != nil {
			t.Fatal(err)
		}
		serve(t, collector, available)
	}
	took := time.Since(began)
	awaitReady(t, collector, "False", "PodsNotReady", "0/1 available; pod "+flapping.Name+": CrashLoopBackOff")

	// The time between two reconciles that news brings begins with 500 ms and doubles each time. News of readiness and other news have one
	// each. A status that is written brings one more reconcile, which can see the next flap.
	most := 6 + 2*math.Log2(1+2*took.Seconds())
	NewWithT(t).Expect(plane.audit.all(t, requests, collector.Namespace)).To(And(
		HaveEach(HavePrefix("patch collectors/status")),
		WithTransform(func(made []string) int { return len(made) }, BeNumerically("<=", most))), "%d flaps in %s", flaps, took)
}
