package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/helm"
)

func TestWhatHasChangedIsSaidInWords(t *testing.T) {
	for name, row := range map[string]struct {
		before, after string
		want          []string
	}{
		"a version": {"collector: {version: 0.150.0}", "collector: {version: 0.151.0}", []string{"collector.version: 0.150.0 → 0.151.0"}},
		"a number":  {"replicas: 1", "replicas: 3", []string{"replicas: 1 → 3"}},
		"a large number": {"podSecurityContext: {runAsUser: 1000660000}", "podSecurityContext: {runAsUser: 1000670000}",
			[]string{"podSecurityContext.runAsUser: 1000660000 → 1000670000"}},
		"a fraction":                  {"{}", "targetFraction: 0.5", []string{"targetFraction set to 0.5"}},
		"a row that is none":          {"image: {tag: a}", `image: {tag: "a\n9\tnow"}`, []string{"image.tag changed"}},
		"a column that is none":       {"image: {tag: a}", `image: {tag: "a\tb"}`, []string{"image.tag changed"}},
		"a number that was not":       {"{}", "replicas: 3", []string{"replicas set to 3"}},
		"a number that is not":        {"replicas: 3", "{}", []string{"replicas removed"}},
		"the order of numbers' types": {"replicas: 3", "replicas: 3.0", []string{"nothing in the spec"}},
		"lines of the configuration": {"collector: {configurationText: \"a\\nb\\nc\"}", "collector: {configurationText: \"a\\nB\\nC\"}",
			[]string{"configuration changed (2 lines)"}},
		"a configuration in base64 that becomes text": {"collector: {configuration: YQo=}", "collector: {configurationText: \"a\\n\"}",
			[]string{"nothing in the spec"}},
		"files": {"collector: {files: {a: YQ==, b: YQ==}}", "collector: {files: {b: Yg==, c: YQ==}}",
			[]string{"file a removed", "file b changed (1 line)", "file c added"}},
		"a value of the environment": {"env: [{name: TOKEN, value: hunter2}, {name: A}]", "env: [{name: TOKEN, value: hunter3}, {name: B}]",
			[]string{"env[A] removed", "env[B] added", "env[TOKEN].value changed"}},
		"a value of the environment that was not": {"env: [{name: TOKEN}]", "env: [{name: TOKEN, value: hunter3}]",
			[]string{"env[TOKEN].value added"}},
		"a list without names": {"args: [--token=hunter2]", "args: [--token=hunter3]", []string{"args changed"}},
		"an annotation":        {"podAnnotations: {version: hunter2}", "podAnnotations: {version: hunter3}", []string{"podAnnotations.version changed"}},
		"a limit": {"resources: {limits: {memory: 1Gi}}", "resources: {limits: {memory: 2Gi, cpu: 1}}",
			[]string{"resources.limits.cpu set to 1", "resources.limits.memory: 1Gi → 2Gi"}},
		"a long value": {"priorityClassName: a", "priorityClassName: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			[]string{"priorityClassName changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(text string) (fields map[string]any) {
				if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
					t.Fatal(err)
				}
				return fields
			}
			before := &Revision{Number: 1, values: read(row.before)}
			got := Revision{Number: 2, values: read(row.after)}.changesSince(before)
			if difference := cmp.Diff(row.want, got); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestARevisionIsComparedWithTheOneBeforeThatIsRecorded(t *testing.T) {
	spec := map[string]any{"replicas": 1}
	for name, row := range map[string]struct {
		before *Revision
		after  Revision
		want   []string
	}{
		"the first one":                       {nil, Revision{Number: 1, values: spec}, []string{"created"}},
		"the oldest one that is left":         {nil, Revision{Number: 4, values: spec}, nil},
		"one whose spec was too large":        {&Revision{Number: 1, values: spec}, Revision{Number: 2}, nil},
		"one that was after another":          {&Revision{Number: 1, values: spec}, Revision{Number: 3, values: spec}, []string{"since revision 1: nothing in the spec"}},
		"a configuration that is in a Secret": {&Revision{Number: 1, values: spec, ConfigHash: "a"}, Revision{Number: 2, values: spec, ConfigHash: "b"}, []string{"configuration changed in its Secret"}},
		"a default of another chart":          {&Revision{Number: 1, values: spec, defaults: spec}, Revision{Number: 2, values: map[string]any{"replicas": 2}, defaults: map[string]any{"replicas": 2}}, []string{"nothing in the spec"}},
	} {
		if difference := cmp.Diff(row.want, row.after.changesSince(row.before)); difference != "" {
			t.Error(name, difference)
		}
	}
}

func TestWhoChangedARevisionIsWhatItsRecordSays(t *testing.T) {
	for description, want := range map[string]string{
		"changed by jane@example.com": "jane@example.com", "deployed by kube8-operator": "", "": "",
	} {
		rel := &helm.Release{Version: 2, Info: &helm.Info{Description: description}}
		if got := revisionOf(rel, "deployed").ChangedBy; got != want {
			t.Errorf("%q says %q, not %q", description, got, want)
		}
	}
}

func TestBasesArePartOfTheHistoryAndNotOfTheSpec(t *testing.T) {
	recorded := func(number int, bases ...any) Revision {
		config := map[string]any{"replicas": 1}
		if bases != nil {
			config["bases"] = bases
		}
		return revisionOf(&helm.Release{Version: number, Config: config}, "deployed")
	}
	base := func(name, version string) any {
		return map[string]any{"name": name, "version": version, "content": "aHVudGVyMg=="}
	}
	before := recorded(1, base("limits", "3fa9"), base("gone", "1111"))
	after := recorded(2, base("limits", "b2c1"), base("new", "2222"))
	want := []string{"base gone removed", "base limits: 3fa9 → b2c1", "base new added"}
	if difference := cmp.Diff(want, after.changesSince(&before)); difference != "" {
		t.Error(difference)
	}
	if difference := cmp.Diff(map[string]any{"replicas": 1}, after.Spec(map[string]any{})); difference != "" {
		t.Errorf("the spec to roll back to: %s", difference)
	}
	without := recorded(3)
	if difference := cmp.Diff([]string{"base limits removed", "base new removed"}, without.changesSince(&after)); difference != "" {
		t.Error(difference)
	}
	if difference := cmp.Diff([]string{"base limits added", "base new added"}, after.changesSince(&Revision{Number: 1, values: without.values})); difference != "" {
		t.Error(difference)
	}
}
