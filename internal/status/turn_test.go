package status_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/status"
)

// The operator that leads now has a clock that is behind that of the one before. The Collector is not ready since its turn came.
func TestAClockThatIsBehindForgetsNobodyWhoIsOnItsWay(t *testing.T) {
	const stored = `
observedGeneration: 3
version: 0.150.0
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 2, digest: d1}
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "False", reason: ReleaseFailed, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: UpdatePending, status: "False", reason: RollingOut, lastTransitionTime: "2026-02-02T00:00:05Z"}
`
	for name, row := range map[string]struct {
		before     string
		isOnItsWay bool
	}{
		"one that was ready":                                {"beforeUpdate: {ready: true}", true},
		"one that was not ready":                            {"beforeUpdate: {ready: false}", false},
		"one of which an earlier version has not said that": {"", true},
	} {
		told := stored + row.before
		written := update(t, told, told, outcome{Deployed: deployed}, record.NewFakeRecorder(9))
		if written == nil {
			t.Fatalf("%s: nothing is written", name)
		}
		if is := v1alpha1.ConditionOf(written, v1alpha1.UpdatePending).Reason == v1alpha1.ReasonRollingOut; is != row.isOnItsWay {
			t.Errorf("%s is on its way: %t, want %t", name, is, row.isOnItsWay)
		}
	}
}

// The informer cache does not have the status yet that was written: by the old one the Collector would take the next change at once.
func TestACollectorIsReadWithTheStatusThatWasWrittenLast(t *testing.T) {
	old := collector(t, `conditions: [{type: UpdatePending, status: "False", reason: RollingOut, lastTransitionTime: "2026-02-02T00:00:05Z"}]`)
	old.SetResourceVersion("999")
	recording := receiving(t, new(*unstructured.Unstructured))
	cached := fake.NewClientBuilder().WithObjects(old, served(t)).WithInterceptorFuncs(recording).Build()
	c := status.NewClient(cached, cached, outcome{Deployed: deployed}, flows{}, record.NewFakeRecorder(9))
	reasonOf := func() string {
		found := old.DeepCopy()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), found); err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(found.Object, "status", "version") // it is the caller's
		return v1alpha1.ConditionOf(found, v1alpha1.UpdatePending).Reason
	}
	if reason := reasonOf(); reason != v1alpha1.ReasonRollingOut {
		t.Fatalf("reason %q before anything is written", reason)
	}
	isReady := collector(t, `{version: 0.150.0, conditions: [{type: Ready, status: "True"}]}`)
	if err := c.Status().Update(t.Context(), isReady); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if reason := reasonOf(); reason == v1alpha1.ReasonRollingOut {
			t.Error("it is read with the status of before")
		}
	}
}
