package status_test

import (
	"cmp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/status"
)

// flows are what is known of the flow of each Collector.
type flows struct {
	reason              string
	observed, areWaited bool
}

func (f flows) Condition(client.Object) *v1alpha1.Condition {
	if f.reason == "" {
		return nil
	}
	is := map[string]corev1.ConditionStatus{
		v1alpha1.ReasonFlowing: "True", v1alpha1.ReasonNoTraffic: "Unknown", v1alpha1.ReasonUnreachable: "Unknown",
		v1alpha1.ReasonAllDropped: "False", v1alpha1.ReasonPartlyDropped: "False", v1alpha1.ReasonRefusing: "False",
	}[f.reason]
	return &v1alpha1.Condition{Type: v1alpha1.DataFlowing, Status: is, Reason: f.reason}
}

func (f flows) Observed(client.Object) time.Time {
	if f.observed {
		return time.Now()
	}
	return time.Time{}
}
func (f flows) AreAwaited() bool { return f.areWaited }

const (
	flowingSince = `{type: DataFlowing, status: "True", reason: Flowing, lastTransitionTime: "2026-02-01T00:00:00Z"}`
	droppedAfter = `{type: DataFlowing, status: "False", reason: AllDropped, lastTransitionTime: "2026-02-02T12:00:00Z"}`
	droppedSince = `{type: DataFlowing, status: "False", reason: AllDropped, lastTransitionTime: "2026-02-01T00:00:00Z"}`
	onItsWay     = `{type: UpdatePending, status: "False", reason: RollingOut, lastTransitionTime: "2026-02-02T00:00:00Z", message: on its way}`
	flowed       = "{ready: true, dataFlowing: true}"
	idle         = "{ready: true, dataFlowing: false}"
	notYetReady  = `{type: Ready, status: "False", reason: Progressing, message: 0/1 available, lastTransitionTime: "2026-02-02T06:00:00Z"}`
	nowReady     = `{type: Ready, status: "True", reason: Available, message: 1/1 available, lastTransitionTime: "2026-02-02T06:00:00Z"}`
)

func TestTheStatusSaysWhetherDataFlows(t *testing.T) {
	for _, row := range []struct {
		name, conditions string
		before           string // what was true before the change, or "" if the status does not say
		noFlow           bool
		known            flows
		want, pending    string
	}{
		{"what is known is said", "[]", "", false, flows{reason: "Flowing"}, "True Flowing", ""},
		{"nothing is said until something is known", "[]", "", false, flows{}, " ", ""},
		{"an operator that has just started knows nothing, and the condition stays", "[" + flowingSince + "]", "", false, flows{}, "True Flowing", ""},
		{"without spec.flow there is no condition", "[" + flowingSince + "]", "", true, flows{}, " ", ""},
		{"a change that is awaited until data flows is on its way until then", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "Flowing", areWaited: true}, "True Flowing", "RollingOut"},
		{"it ends when data flows", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "Flowing", areWaited: true, observed: true}, "True Flowing", ""},
		{"not when data flowed before the pods were ready", "[" + flowingSince + "," + onItsWay + "," + notYetReady + "]", flowed, false,
			flows{reason: "Flowing", areWaited: true, observed: true}, "True Flowing", "RollingOut"},
		{"not when no pod was ready that could be asked", "[" + onItsWay + "," + notYetReady + "]", flowed, false,
			flows{reason: "Unreachable", areWaited: true}, "Unknown Unreachable", "RollingOut"},
		{"it ends when new pods cannot be asked", "[" + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "Unreachable", areWaited: true, observed: true}, "Unknown Unreachable", ""},
		{"it ends when pods are ready, if the flow is not awaited", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "Flowing"}, "True Flowing", ""},
		{"it goes on when data stops", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "AllDropped", areWaited: true, observed: true}, "False AllDropped", "RollingOut"},
		{"it goes on while most data is refused", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "Refusing", areWaited: true, observed: true}, "False Refusing", "RollingOut"},
		{"it goes on while a part is lost", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "PartlyDropped", areWaited: true, observed: true}, "False PartlyDropped", "RollingOut"},
		{"it goes on while nothing comes in", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "NoTraffic", areWaited: true, observed: true}, "Unknown NoTraffic", "RollingOut"},
		{"it goes on while data has stopped since then", "[" + droppedAfter + "," + onItsWay + "," + nowReady + "]", flowed, false,
			flows{reason: "AllDropped", areWaited: true, observed: true}, "False AllDropped", "RollingOut"},
		{"it does not wait for a Collector whose data had stopped before", "[" + droppedSince + "," + onItsWay + "," + nowReady + "]", idle, false,
			flows{reason: "AllDropped", areWaited: true, observed: true}, "False AllDropped", ""},
		{"nor for one through which nothing flowed, and whose data is dropped now", "[" + droppedAfter + "," + onItsWay + "," + nowReady + "]", idle, false,
			flows{reason: "AllDropped", areWaited: true, observed: true}, "False AllDropped", ""},
		{"nor for one through which nothing flowed, and that nobody has observed", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]", idle, false,
			flows{reason: "Flowing", areWaited: true}, "True Flowing", ""},
		{"it waits where an earlier version of the operator has not said whether data flowed", "[" + flowingSince + "," + onItsWay + "," + nowReady + "]",
			"", false, flows{reason: "Flowing", areWaited: true}, "True Flowing", "RollingOut"},
	} {
		t.Run(row.name, func(t *testing.T) {
			stored := collector(t, "{observedGeneration: 3, beforeUpdate: "+cmp.Or(row.before, "null")+", conditions: "+row.conditions+"}")
			stored.Object["spec"] = map[string]any{"flow": map[string]any{}}
			if row.noFlow {
				stored.Object["spec"] = map[string]any{}
			}
			got := stored.DeepCopy()
			c := fake.NewClientBuilder().WithObjects(stored, served(t)).WithInterceptorFuncs(receiving(t, &got)).Build()
			err := status.NewClient(c, c, outcome{InOrder: true}, row.known, record.NewFakeRecorder(9)).Status().Update(t.Context(), stored.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			is := v1alpha1.ConditionOf(got, v1alpha1.DataFlowing)
			if said := string(is.Status) + " " + is.Reason; said != row.want {
				t.Errorf("DataFlowing is %q, want %q", said, row.want)
			}
			if pending := v1alpha1.ConditionOf(got, v1alpha1.UpdatePending).Reason; pending != row.pending {
				t.Errorf("UpdatePending is %q, want %q", pending, row.pending)
			}
		})
	}
}
