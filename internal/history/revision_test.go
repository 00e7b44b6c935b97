package history

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/sources"
)

// rendering returns a source whose chart has one Secret, and one more where the cluster serves an API.
func rendering(t *testing.T, unreadable map[string]error) *Source {
	t.Helper()
	s := sourceOf(t, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"+
		`{{ if .Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject" }}{{ if .Values.scaled }}`+
		"\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: b\n{{ end }}{{ end }}\n")
	s.Served = func(context.Context) (*render.Served, error) {
		return &render.Served{Capabilities: helm.DefaultCapabilities, Unreadable: unreadable}, nil
	}
	s.References = func(*unstructured.Unstructured, string) (string, []string) { return "", nil }
	s.Versions = func(*unstructured.Unstructured) (string, string) { return "", "" }
	s.Configuration = func(context.Context, *unstructured.Unstructured) (postrender.Referenced, error) {
		return postrender.Referenced{}, nil
	}
	return s
}

func TestTheVersionOfAConfigurationIsTakenBeforeItsContent(t *testing.T) {
	s := rendering(t, nil)
	version, read := "before", ""
	s.Versions = func(*unstructured.Unstructured) (string, string) { return version, version }
	s.Configuration = func(context.Context, *unstructured.Unstructured) (postrender.Referenced, error) {
		version = "after" // another client writes it while it is read
		return postrender.Referenced{Version: read}, nil
	}
	rendered, err := s.Render(t.Context(), gateway(), map[string]any{}, "")
	if err != nil || rendered.Inputs.Configuration != "before" || rendered.Inputs.References != "before" {
		t.Errorf("rendered %+v, %v", rendered, err)
	}
	version, read = "before", "read"
	rendered, err = s.Render(t.Context(), gateway(), map[string]any{}, "")
	if err != nil || rendered.Inputs.Configuration != "read" || rendered.Inputs.References != "before" {
		t.Errorf("rendered %+v, %v", rendered, err)
	}
}

func TestAnAPIThatDoesNotAnswerConcernsOnlyCollectorsThatItChanges(t *testing.T) {
	for scaled, wantError := range map[bool]string{
		false: "", true: "nothing is changed until it is known whether the cluster serves keda.sh/v1alpha1/ScaledObject: 503",
	} {
		s := rendering(t, map[string]error{"keda.sh/v1alpha1/ScaledObject": errors.New("503")})
		rendered, err := s.Render(t.Context(), gateway(), map[string]any{"scaled": scaled}, "")
		if wantError == "" && (err != nil || len(rendered.Objects) != 1) || wantError != "" && (err == nil || !strings.Contains(err.Error(), wantError)) {
			t.Errorf("scaled %t: error %v, want %q", scaled, err, wantError)
		}
	}
}

func TestAHistoryTellsWhoseChangeLedToARevision(t *testing.T) {
	now := Inputs{Generation: 2, Configuration: "1"}
	deployed := func(generation int64) Deployed {
		return (&Revision{Want: plan.Want{Hash: "old"}, Inputs: Inputs{Generation: generation}}).Deployed(1)
	}
	for name, row := range map[string]struct {
		deployed Deployed
		before   Inputs
		want     string
	}{
		"the first revision is by who wrote the spec":        {want: "alice"},
		"the spec has changed":                               {deployed: deployed(1), before: Inputs{Generation: 1, Configuration: "1"}, want: "alice"},
		"the spec has not changed, but a Secret that it has": {deployed: deployed(2), before: Inputs{Generation: 2}, want: "what the spec refers to"},
		"nothing but the chart has changed":                  {deployed: deployed(2), before: now, want: "the operator"},
	} {
		rendered := &Revision{Want: plan.Want{Hash: "new"}, Inputs: now}
		if rendered.Attribute("alice", row.deployed, row.before, ""); rendered.ChangedBy != row.want {
			t.Errorf("%s: %q, want %q", name, rendered.ChangedBy, row.want)
		}
	}
}

func TestWhatIsRefusedIsTheOperatorsChangeIfTheOwnerHasChangedNothing(t *testing.T) {
	deployed := (&Revision{Want: plan.Want{Hash: strings.Repeat("0", 20)}, ConfigHash: "c1", Inputs: Inputs{Generation: 2}}).Deployed(1)
	for name, row := range map[string]struct {
		generation int64
		hash       string // of the configuration in a Secret that the spec refers to
		broken     error  // of that
		running    string
		want       bool
	}{
		"the chart refuses":                             {generation: 2, want: true},
		"the chart refuses, beside a Secret":            {generation: 2, hash: "c1", want: true},
		"the spec has changed":                          {generation: 3},
		"the configuration in a Secret has changed":     {generation: 2, hash: "c2"},
		"the configuration in a Secret is refused":      {generation: 2, hash: "c1", broken: errors.New("no YAML")},
		"another Secret has changed that pods refer to": {generation: 2, running: "r0"},
		"all that pods refer to is as it was":           {generation: 2, running: "r1", want: true},
	} {
		s := sourceOf(t, `{{ fail "no" }}`)
		s.Served = rendering(t, nil).Served
		s.Versions = func(*unstructured.Unstructured) (string, string) { return "", "r1" }
		s.References = func(*unstructured.Unstructured, string) (string, []string) { return "r1", nil }
		s.Configuration = func(context.Context, *unstructured.Unstructured) (postrender.Referenced, error) {
			if row.broken != nil {
				return postrender.Referenced{Version: "v"}, row.broken
			}
			return postrender.Referenced{Hash: row.hash}, nil
		}
		collector := gateway()
		collector.SetGeneration(row.generation)
		_ = unstructured.SetNestedField(collector.Object, "c1", "status", "configHash")
		refused, err := s.Render(t.Context(), collector, map[string]any{}, row.running)
		if !errors.As(err, new(*RenderError)) || refused.Hash != "" {
			t.Fatalf("%s: %+v, %v", name, refused, err)
		}
		if got := refused.IsByOperator(deployed, Inputs{}, row.running); got != row.want {
			t.Errorf("%s: by the operator: %t", name, got)
		}
	}
}

func TestTheReferenceToASecretIsReplacedByACopy(t *testing.T) {
	for name, row := range map[string]struct {
		referenced postrender.Referenced
		copy       any
		want       any // the configuration in the values
	}{
		"of its content":                    {referenced: postrender.Referenced{Secret: "s", Content: []byte("a")}, want: "YQ=="},
		"also of none, which is refused":    {referenced: postrender.Referenced{Secret: "s"}, want: ""},
		"not where the owner wants no copy": {referenced: postrender.Referenced{Secret: "s", Content: []byte("a")}, copy: false},
		"not without a Secret":              {copy: true},
	} {
		reference := map[string]any{"copy": row.copy}
		got := withCopy(map[string]any{"collector": map[string]any{"configurationSecret": reference}}, row.referenced)
		collector, _ := got["collector"].(map[string]any)
		if collector["configuration"] != row.want || (collector["configurationSecret"] == nil) != (row.want != nil) {
			t.Errorf("%s: %v", name, collector)
		}
	}
}

func TestABaseThatIsRefusedIsRenderedAsTheRecordHasIt(t *testing.T) {
	const content = "a: {}\n"
	refused := sources.Bases{{Name: "a", Version: sources.VersionOf([]byte(content)), Position: "last", Refused: "no YAML"}}
	values := map[string]any{"bases": []any{map[string]any{
		"name": "a", "version": refused[0].Version, "position": "last", "file": "base-a.yaml", "content": base64.StdEncoding.EncodeToString([]byte(content)),
	}}}
	for name, row := range map[string]struct {
		recorded  Content
		err       error
		isRefused bool // a *RenderError, which lasts until the inputs change
		wantErr   string
	}{
		"with the content of the record":   {recorded: Content{Values: values}},
		"not without a record":             {err: errors.New("it has gone"), isRefused: true, wantErr: "is not in the record of the deployed revision"},
		"not while the API server is down": {err: apierrors.NewServiceUnavailable("starting"), wantErr: "starting"},
	} {
		s := rendering(t, nil)
		s.Bases = func(context.Context, *unstructured.Unstructured) (sources.Bases, error) { return refused, nil }
		s.Record = func(context.Context, *unstructured.Unstructured, int) (Content, error) {
			return row.recorded, row.err
		}
		now, _, _ := s.Inputs(t.Context(), gateway())
		rendered, err := s.Render(t.Context(), gateway(), map[string]any{}, "")
		switch {
		case row.wantErr == "" && (err != nil || rendered.Bases != "a@"+refused[0].Version || rendered.Inputs != now):
			t.Errorf("%s: rendered %+v of %+v, %v", name, rendered, now, err)
		case row.wantErr != "" && (err == nil || !strings.Contains(err.Error(), row.wantErr) || errors.As(err, new(*RenderError)) != row.isRefused):
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(now.Refused, "no YAML") {
			t.Errorf("%s: the inputs tell %q", name, now.Refused)
		}
	}
}
