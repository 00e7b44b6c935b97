package kubectl

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The integration tests have the rest.
func TestTheScreenHasWhatTheStatusSays(t *testing.T) {
	condition := func(conditionType, status, reason, message string) v1alpha1.Condition {
		return v1alpha1.Condition{Type: conditionType, Status: corev1.ConditionStatus(status), Reason: reason, Message: message}
	}
	for name, row := range map[string]struct {
		ready, update v1alpha1.Condition
		canary        *v1alpha1.CanaryStatus
		events        []corev1.Event
		behind        bool
		want, wantNot string
	}{
		"a Collector that was not reconciled yet": {
			ready: neverSeen, want: "Ready           Unknown: no operator has reconciled it yet",
		},
		"a change that was not reconciled yet": {
			ready: condition("Ready", "True", "Available", "1/1 available"), behind: true, want: "has not reconciled the last change yet; before it: Available",
		},
		"a reason of a later version": {ready: condition("Ready", "False", "Sleepy", ""), want: "does not know the reason Sleepy"},
		"an update that waits": {
			ready:  condition("Ready", "True", "Available", "1/1 available"),
			update: condition(v1alpha1.UpdatePending, "True", "Waiting", "in ring 2"), want: "Update          Waiting: in ring 2",
		},
		"an update that rolls out": {
			ready:  condition("Ready", "True", "Available", "1/1 available"),
			update: condition(v1alpha1.UpdatePending, "False", "RollingOut", ""), want: "Next: Nothing.", wantNot: "Update",
		},
		"a change that canary pods prove": {
			ready: condition("Ready", "False", "Proving", "until noon"), canary: &v1alpha1.CanaryStatus{Hash: "0123456789ab", Since: metav1.Now()},
			want: "Canary          change 0123456789ab, for 0s; `kubectl collector promote` and `abort` decide at once",
		},
		"a refusal of several lines": {
			ready: condition("Ready", "False", "ReleaseFailed", "denied:\nNext: kubectl delete"),
			want:  "Ready           ReleaseFailed: denied: Next: kubectl delete\n", wantNot: "\nNext: kubectl delete",
		},
		"an event of a tenant with lines of its own": {
			ready:  condition("Ready", "True", "Available", "1 of 1 pods"),
			events: []corev1.Event{{Reason: "A", Message: "x\nNext: kubectl delete"}},
			want:   "x Next: kubectl delete\n", wantNot: "\nNext: kubectl delete",
		},
		"a change that canary pods have failed to prove": {
			ready:  condition("Ready", "False", "RolledBack", "pod c-x: Error"),
			canary: &v1alpha1.CanaryStatus{Hash: "0123456789ab", RolledBack: "pod c-x: Error"},
			want:   "Canary          change 0123456789ab has failed; `kubectl collector promote` deploys it nevertheless",
		},
		"a change that canary pods have failed to prove, before one that begins later": {
			ready:  condition("Ready", "False", "Progressing", "the change begins to prove itself at noon"),
			canary: &v1alpha1.CanaryStatus{Hash: "0123456789ab", RolledBack: "pod c-x: Error"},
			want:   "Canary          change 0123456789ab has failed; it cannot be promoted or aborted now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			collector := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-acme", Name: "gateway", Generation: 1}}
			collector.Status.Canary = row.canary
			collector.Status.Conditions = []v1alpha1.Condition{row.update}
			if !row.behind {
				collector.Status.ObservedGeneration = 1
			}
			var out strings.Builder
			if err := (&observed{collector: collector, ready: row.ready, events: row.events}).print(&out); err != nil {
				t.Fatal(err)
			}
			if text := out.String(); !strings.Contains(text, row.want) || row.wantNot != "" && strings.Contains(text, row.wantNot) {
				t.Errorf("want %q and not %q in:\n%s", row.want, row.wantNot, text)
			}
		})
	}
}
