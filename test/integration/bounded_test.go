package integration

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A StatefulSet's controller tells in events why it makes no pods. A tenant can create as many about the same StatefulSet.
func TestEventsOfATenantMakeNoMoreRequests(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), newCollector(newNamespace(t), "gateway")
	collector.Spec.Mode = v1alpha1.ModeStatefulSet
	create(t, collector)
	awaitRevision(t, collector, 1)
	set := get(t, collector, "", &appsv1.StatefulSet{})
	begin := time.Now().Add(-time.Minute)
	tell := func(prefix string, count int) {
		for i := range count {
			event := &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: set.Namespace, Name: fmt.Sprintf("%s.%016x", prefix, i)},
				InvolvedObject: corev1.ObjectReference{Kind: "StatefulSet", Namespace: set.Namespace, Name: set.Name, UID: set.UID},
				Type:           corev1.EventTypeWarning, Reason: "FailedCreate", Message: fmt.Sprintf("%s says %d", prefix, i),
				LastTimestamp: metav1.NewTime(begin.Add(time.Duration(i) * time.Second)),
			}
			if err := plane.client.Create(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
	}
	listsOf := func() (lists, reconciles int) {
		since, mark := plane.audit.mark(t), shared.log.mark()
		touch(t, collector)
		for _, request := range requestsAbout(t, since, collector.Namespace) {
			if request == "list events" {
				lists++
			}
		}
		return lists, len(shared.log.reconciles(mark, client.ObjectKeyFromObject(collector)))
	}

	const most = 37 // client-go's in the hour for which the API server keeps them
	tell("gateway", most)
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation}
	g.Expect(plane.client.Status().Update(t.Context(), set)).To(Succeed())
	awaitReady(t, collector, "False", "PodsNotReady", fmt.Sprintf("0/1 updated; FailedCreate: gateway says %d", most-1))

	tell("forged", 300)
	lists, reconciles := listsOf()
	g.Expect(lists).To(And(BeNumerically(">", 0), BeNumerically("<=", 3*(reconciles+1))),
		"lists in %d reconciles and one that has begun", reconciles)
}
