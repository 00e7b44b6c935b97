package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// customization is the folder of the health check, in the form of Argo CD's resource_customizations.
const customization = "../../config/argocd/kube8.dev/Collector"

// TestTheHealthOfEachState asks kstatus, as Flux does with `wait: true`, and the health check for Argo CD.
func TestTheHealthOfEachState(t *testing.T) {
	stalled := func(reason string) v1alpha1.CollectorStatus {
		status := ready(2, corev1.ConditionFalse, reason)
		status.Conditions = append(status.Conditions, v1alpha1.Condition{Type: v1alpha1.Stalled, Status: "True", Reason: reason, Message: "m"})
		return status
	}
	for _, row := range []struct {
		name      string
		status    v1alpha1.CollectorStatus
		isDeleted bool
		argo      string
		flux      kstatus.Status
	}{
		{name: "that no operator has seen", status: v1alpha1.CollectorStatus{ObservedGeneration: -1}, argo: "Progressing", flux: kstatus.InProgressStatus},
		{name: "of an older generation", status: ready(1, corev1.ConditionTrue, v1alpha1.ReasonAvailable), argo: "Progressing", flux: kstatus.InProgressStatus},
		{name: "with pods that serve", status: ready(2, corev1.ConditionTrue, v1alpha1.ReasonAvailable), argo: "Healthy", flux: kstatus.CurrentStatus},
		{name: "that rolls out", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonProgressing), argo: "Progressing", flux: kstatus.InProgressStatus},
		{name: "that is checked", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonChecking), argo: "Progressing", flux: kstatus.InProgressStatus},
		{name: "whose check is tried again", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonCheckFailed), argo: "Progressing", flux: kstatus.InProgressStatus},
		{name: "with pods that do not serve", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonPodsNotReady), argo: "Degraded", flux: kstatus.InProgressStatus},
		{name: "that is tried again, because the API server did not answer", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonReleaseFailed), argo: "Progressing", flux: kstatus.InProgressStatus},
		{name: "that a policy refuses", status: stalled(v1alpha1.ReasonReleaseFailed), argo: "Degraded", flux: kstatus.FailedStatus},
		{name: "with a wrong configuration", status: stalled(v1alpha1.ReasonConfigInvalid), argo: "Degraded", flux: kstatus.FailedStatus},
		{name: "without its configuration", status: stalled(v1alpha1.ReasonConfigMissing), argo: "Degraded", flux: kstatus.FailedStatus},
		{name: "in conflict", status: stalled(v1alpha1.ReasonConflict), argo: "Degraded", flux: kstatus.FailedStatus},
		{name: "whose change proves itself", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonProving), argo: "Progressing", flux: kstatus.InProgressStatus},
		{name: "whose change has failed on canary pods", status: stalled(v1alpha1.ReasonRolledBack), argo: "Degraded", flux: kstatus.FailedStatus},
		{name: "whose canary pods have failed, and stay", status: stalled(v1alpha1.ReasonCanaryPaused), argo: "Degraded", flux: kstatus.FailedStatus},
		{name: "that is paused", status: ready(2, corev1.ConditionUnknown, v1alpha1.ReasonPaused), argo: "Suspended", flux: kstatus.InProgressStatus},
		{name: "that is deleted", status: ready(2, corev1.ConditionTrue, v1alpha1.ReasonAvailable), isDeleted: true, argo: "Healthy", flux: kstatus.TerminatingStatus},
	} {
		t.Run("a Collector "+row.name, func(t *testing.T) {
			collector := &v1alpha1.Collector{Status: row.status}
			collector.Generation = 2
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(collector)
			if err != nil {
				t.Fatal(err)
			}
			g, read := NewWithT(t), &unstructured.Unstructured{Object: object}
			read.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
			if row.isDeleted {
				g.Expect(unstructured.SetNestedField(object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")).To(Succeed())
			}
			found, err := kstatus.Compute(read)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Status).To(Equal(row.flux), found.Message)
			health, _ := argo(t, object)
			g.Expect(health).To(Equal(row.argo))
		})
	}
}

// TestTheHealthCheckForArgoCD runs the tests beside the health check, which Argo CD's own tests run, too.
func TestTheHealthCheckForArgoCD(t *testing.T) {
	var suite struct {
		Tests []struct {
			HealthStatus struct{ Status, Message string }
			InputPath    string
		}
	}
	read(t, "health_test.yaml", &suite)
	if len(suite.Tests) == 0 {
		t.Fatal("health_test.yaml has no tests")
	}
	for _, test := range suite.Tests {
		var object map[string]any
		read(t, test.InputPath, &object)
		status, message := argo(t, object)
		if want := test.HealthStatus; status != want.Status || message != want.Message {
			t.Errorf("%s is %s: %s, want %s: %s", test.InputPath, status, message, want.Status, want.Message)
		}
	}
}

// read reads a file of the customization.
func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(customization, path))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func ready(generation int64, status corev1.ConditionStatus, reason string) v1alpha1.CollectorStatus {
	return v1alpha1.CollectorStatus{
		ObservedGeneration: generation,
		Conditions:         []v1alpha1.Condition{{Type: "Initialized", Status: "True"}, {Type: "Ready", Status: status, Reason: reason, Message: "m"}},
	}
}

// argo returns what Argo CD thinks of an object.
func argo(t *testing.T, object map[string]any) (status, message string) {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoFile(filepath.Join(customization, "health.lua")); err != nil {
		t.Fatal(err)
	}
	health := state.Get(-1)
	return lua.LVAsString(state.GetField(health, "status")), lua.LVAsString(state.GetField(health, "message"))
}

// luaValue returns a value of JSON as one of Lua.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range value {
			table.RawSetString(key, luaValue(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(luaValue(state, item))
		}
		return table
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	default:
		return lua.LNil
	}
}
