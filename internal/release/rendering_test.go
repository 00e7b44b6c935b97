package release

import (
	"context"
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
)

// rendering returns the action client of a Collector whose chart has one Secret, and one more where the cluster offers an API.
func rendering(t *testing.T, unreadable map[string]error) *actionClient {
	t.Helper()
	r := clientOf(t, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"+
		`{{ if .Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject" }}{{ if .Values.scaled }}`+
		"\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n{{ end }}{{ end }}\n")
	r.ctx, r.values = t.Context(), map[string]any{}
	r.capabilities = simCapabilities{&render.Offered{Capabilities: chartutil.DefaultCapabilities, Unreadable: unreadable}}
	r.References = func(*unstructured.Unstructured, string) (string, []string) { return "", nil }
	r.ConfigurationVersion = func(*unstructured.Unstructured) string { return "" }
	r.Configuration = func(context.Context, *unstructured.Unstructured) (postrender.Referenced, error) {
		return postrender.Referenced{}, nil
	}
	return r
}

func TestTheVersionOfAConfigurationIsTakenBeforeItsContent(t *testing.T) {
	r := rendering(t, nil)
	version := "before"
	r.ConfigurationVersion = func(*unstructured.Unstructured) string { return version }
	r.Configuration = func(context.Context, *unstructured.Unstructured) (postrender.Referenced, error) {
		version = "after" // somebody writes it while it is read
		return postrender.Referenced{}, nil
	}
	if err := renderChart(r); err != nil || r.rendered.inputs.configuration != "before" {
		t.Errorf("rendered from version %q, %v", r.rendered.inputs.configuration, err)
	}
}

func TestAnAPIThatDoesNotAnswerConcernsOnlyCollectorsThatItChanges(t *testing.T) {
	for scaled, wantError := range map[bool]string{
		false: "", true: "nothing is changed until it is known whether the cluster offers keda.sh/v1alpha1/ScaledObject: 503",
	} {
		r := rendering(t, map[string]error{"keda.sh/v1alpha1/ScaledObject": errors.New("503")})
		r.values["scaled"] = scaled
		err := renderChart(r)
		if wantError == "" && (err != nil || len(r.rendered.Objects) != 1) || wantError != "" && (err == nil || !strings.Contains(err.Error(), wantError)) {
			t.Errorf("scaled %t: error %v, want %q", scaled, err, wantError)
		}
	}
}
