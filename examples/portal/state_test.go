package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestTheListSaysInWhichStateSinceWhenAndWhy(t *testing.T) {
	at := func(hour int) *metav1.Time { return new(metav1.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)) }
	for _, row := range []struct {
		name      string
		status    corev1.ConditionStatus
		reason    string
		message   string
		others    []v1alpha1.Condition
		isNewer   bool // than what the operator has seen
		isDeleted bool
		state     string
		since     int
		cause     string
	}{
		{name: "pods serve", status: "True", reason: v1alpha1.ReasonAvailable, message: "1/1 available", state: isReady, since: 3},
		{name: "pods serve, and no data flows", status: "True", reason: v1alpha1.ReasonAvailable, state: isReady, since: 3,
			others: []v1alpha1.Condition{{Type: v1alpha1.DataFlowing, Status: "False", Reason: v1alpha1.ReasonAllDropped, Message: "data comes in, and none goes out"}},
			cause:  "AllDropped: The collector takes data, and sends none of it."},
		{name: "a cause that is known, in a sentence", status: "False", reason: v1alpha1.ReasonPodsNotReady, message: "0/1 updated; pod a: CrashLoopBackOff, exit code 1",
			state: isNotReady, since: 3, cause: "The collector starts, and ends by itself."},
		{name: "a message that is long", status: "False", reason: v1alpha1.ReasonConfigInvalid, message: strings.Repeat("é", 200),
			state: isNotReady, since: 3, cause: strings.Repeat("é", shortest) + "…"},
		{name: "a rollout", status: "False", reason: v1alpha1.ReasonProgressing, message: "1/2 updated", state: isChanging, since: 3, cause: "1/2 updated"},
		{name: "a check", status: "False", reason: v1alpha1.ReasonChecking, message: "Job a", state: isChanging, since: 3, cause: "Job a"},
		{name: "a canary", status: "False", reason: v1alpha1.ReasonProving, message: "canary pods (1 of 3) prove the change until noon", state: isChanging, since: 3,
			cause: "canary pods (1 of 3) prove the change until noon"},
		{name: "a canary that has failed", status: "False", reason: v1alpha1.ReasonRolledBack, message: "pod a: CrashLoopBackOff, exit code 1",
			state: isNotReady, since: 3, cause: "The collector starts, and ends by itself."},
		{name: "a reason of a later version", status: "False", reason: "Sleepy", message: "zzz", state: isNotReady, since: 3, cause: "zzz"},
		{name: "a pause", status: "Unknown", reason: v1alpha1.ReasonPaused, isNewer: true, state: isPaused, since: 3},
		{name: "a change that no operator has seen, since a client wrote it", status: "True", reason: v1alpha1.ReasonAvailable, isNewer: true,
			state: isChanging, since: 5, cause: unobserved},
		{name: "a deletion", status: "True", reason: v1alpha1.ReasonAvailable, isDeleted: true, state: isChanging, since: 7},
	} {
		t.Run(row.name, func(t *testing.T) {
			collector := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *at(1), Generation: 2, ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubectl", Time: at(5)}, {Manager: "kube8-operator", Time: at(6)}, {Manager: "other", Subresource: "status", Time: at(6)},
			}}}
			collector.Status.ObservedGeneration = 2
			if row.isNewer {
				collector.Status.ObservedGeneration = 1
			}
			if row.isDeleted {
				collector.DeletionTimestamp = at(7)
			}
			collector.Status.Conditions = slices.Concat(row.others, []v1alpha1.Condition{
				{Type: "Ready", Status: row.status, Reason: row.reason, Message: row.message, LastTransitionTime: *at(3)},
			})
			s, g := show(collector), NewWithT(t)
			g.Expect(s.State).To(Equal(row.state))
			g.Expect(s.Since).To(Equal(at(row.since).Time))
			g.Expect(s.Cause).To(Equal(row.cause))
		})
	}
}

func TestEachReasonSaysWhatIsKnownOfBothWays(t *testing.T) {
	g := NewWithT(t)
	collector := &v1alpha1.Collector{}
	g.Expect(flowOf(collector)).To(BeNil())
	collector.Spec.Flow = &v1alpha1.Flow{}
	g.Expect(*flowOf(collector)).To(HaveField("Received", "not known"))
	for reason, want := range map[string][2]string{
		v1alpha1.ReasonFlowing: {"yes", "yes"}, v1alpha1.ReasonNoTraffic: {"no", "no"}, v1alpha1.ReasonExportFails: {"not known", "no"},
		v1alpha1.ReasonUnreachable: {"not known", "not known"},
	} {
		collector.Status.Conditions = []v1alpha1.Condition{{Type: v1alpha1.DataFlowing, Reason: reason, Message: "m"}}
		is := flowOf(collector)
		g.Expect([2]string{is.Received, is.Sent}).To(Equal(want), reason)
		g.Expect(is.Means).To(Equal("m"))
	}
}

func TestTheHistoryTellsWhoseChangesRevisionsAre(t *testing.T) {
	found := revisionsOf(&v1alpha1.CollectorStatus{
		DeployedRelease: &v1alpha1.DeployedRelease{Revision: 4},
		History:         []v1alpha1.RecordedRevision{{Revision: 1, Generation: 1}, {Revision: 2, Generation: 3}, {Revision: 3, Generation: 3}, {Revision: 4}},
	})
	told := []string{}
	for _, is := range found {
		told = append(told, is.Changed)
	}
	g := NewWithT(t)
	g.Expect(told).To(Equal([]string{"", "A base, the operator or a Secret that the spec refers to.", "The spec.", "The Collector is new."}))
	g.Expect(found[0].IsDeployed).To(BeTrue())
	g.Expect(found[1].IsDeployed).To(BeFalse())
}
