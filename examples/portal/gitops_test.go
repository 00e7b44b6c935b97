package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/cel-go/cel"
	. "github.com/onsi/gomega"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// TestTheHealthChecksForGitOps runs the checks in docs/gitops.md as Argo CD and Flux do. Both wait while
// observedGeneration is behind: Argo CD by the check, Flux before it asks.
func TestTheHealthChecksForGitOps(t *testing.T) {
	flux, argo := healthChecks(t)
	for _, row := range []struct {
		name       string
		status     v1alpha1.CollectorStatus
		argo, flux string
	}{
		{name: "a new Collector", argo: "Progressing", flux: "in progress"},
		{name: "a status of an older generation", status: ready(1, corev1.ConditionTrue, v1alpha1.ReasonAvailable), argo: "Progressing", flux: "current"},
		{name: "pods that serve", status: ready(2, corev1.ConditionTrue, v1alpha1.ReasonAvailable), argo: "Healthy", flux: "current"},
		{name: "a rollout", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonProgressing), argo: "Progressing", flux: "in progress"},
		{name: "pods that do not serve", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonPodsNotReady), argo: "Degraded", flux: "in progress"},
		{name: "a wrong configuration", status: ready(2, corev1.ConditionFalse, v1alpha1.ReasonConfigInvalid), argo: "Degraded", flux: "failed"},
		{name: "a pause", status: ready(2, corev1.ConditionUnknown, v1alpha1.ReasonPaused), argo: "Suspended", flux: "in progress"},
	} {
		t.Run(row.name, func(t *testing.T) {
			collector := &v1alpha1.Collector{Status: row.status}
			collector.Generation = 2
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(collector)
			if err != nil {
				t.Fatal(err)
			}
			g := NewWithT(t)
			g.Expect(argo(object)).To(Equal(row.argo))
			g.Expect(flux(object)).To(Equal(row.flux))
		})
	}
}

func ready(generation int64, status corev1.ConditionStatus, reason string) v1alpha1.CollectorStatus {
	return v1alpha1.CollectorStatus{
		ObservedGeneration: generation,
		Conditions:         []v1alpha1.Condition{{Type: "Initialized", Status: "True"}, {Type: "Ready", Status: status, Reason: reason, Message: "m"}},
	}
}

// healthChecks returns what Flux and Argo CD think of a Collector, by the checks in the document.
func healthChecks(t *testing.T) (flux, argo func(object map[string]any) (string, error)) {
	t.Helper()
	text, err := os.ReadFile("../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/gitops.md has %d blocks of YAML, not one for Flux and one for Argo CD", len(blocks))
	}
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []struct{ Current, Failed string }
		}
	}
	var settings struct{ Data map[string]string }
	for i, into := range []any{&kustomization, &settings} {
		if err := yaml.Unmarshal([]byte(blocks[i][1]), into); err != nil {
			t.Fatal(err)
		}
	}
	checks := kustomization.Spec.HealthCheckExprs[0]
	flux = func(object map[string]any) (string, error) {
		for _, check := range []struct{ expression, verdict string }{{checks.Failed, "failed"}, {checks.Current, "current"}} {
			if holds(t, check.expression, object) {
				return check.verdict, nil
			}
		}
		return "in progress", nil
	}
	argo = func(object map[string]any) (string, error) {
		state := lua.NewState()
		defer state.Close()
		state.SetGlobal("obj", luaValue(state, object))
		if err := state.DoString(settings.Data["resource.customizations.health.kube8.dev_Collector"]); err != nil {
			return "", err
		}
		health := state.Get(-1)
		return lua.LVAsString(state.GetField(health, "status")), nil
	}
	return flux, argo
}

// holds says whether an expression is true. Flux waits where one is about a status that is not there yet.
func holds(t *testing.T, expression string, object map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv()
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(parsed)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(object)
	if _, hasStatus := object["status"]; err != nil && hasStatus {
		t.Fatal(err)
	}
	return err == nil && value.Value() == true
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
	default:
		return lua.LNil
	}
}
