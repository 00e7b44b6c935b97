package integration

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// All workers wait for the webhook of one tenant, and more of the tenant's Collectors wait for a worker than another one, which comes last.
// The first worker that is done takes that one.
func TestTenantsWithASlowWebhookKeepNobodyElseWaiting(t *testing.T) {
	slow, other := newNamespace(t), newCollector(newNamespace(t), "other")
	workers := int64(2 * runtime.GOMAXPROCS(0))
	var asked, tried atomic.Int64
	next, ends := make(chan struct{}), make(chan struct{})
	server := answerReviews(t, func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if *request.DryRun {
			tried.Add(1)
			return &admissionv1.AdmissionResponse{Allowed: true}
		}
		asked.Add(1)
		select {
		case <-next:
		case <-ends:
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	validateBy(t, slow, server)
	defer close(ends)
	g := NewWithT(t)
	g.Eventually(func() int64 {
		_ = plane.client.Create(t.Context(), deploymentIn(slow), client.DryRunAll)
		return tried.Load()
	}).ShouldNot(BeZero(), "the API server knows the webhook")

	began := time.Now()
	for number := range 4 * workers {
		g.Expect(plane.client.Create(t.Context(), newCollector(slow, fmt.Sprintf("slow-%d", number)))).To(Succeed())
	}
	g.Eventually(asked.Load).Should(Equal(workers), "all workers wait")
	g.Expect(plane.client.Create(t.Context(), other)).To(Succeed())
	next <- struct{}{}
	// The API server waits 30 s for the webhook, and then the other workers are free, too.
	g.Eventually(func() int { return deployedRevision(t, other) }).WithTimeout(28*time.Second - time.Since(began)).Should(Equal(1))
}
