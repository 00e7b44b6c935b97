package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/helm"
)

func TestTheSpecOfARevisionHasNoDefaultsThatTheSpecDoesNotHave(t *testing.T) {
	const defaults = "{mode: deployment, replicas: 1, env: [], image: {}, collector: {format: yaml}, ports: {otlp: {port: 4317}}}"
	for name, row := range map[string]struct{ values, current, want string }{
		"nothing but defaults": {
			values: "{mode: deployment, replicas: 1, env: [], image: {}, collector: {format: yaml}, ports: {otlp: {port: 4317}}}",
			want:   "{}",
		},
		"a default that the spec says, too": {
			values: "{mode: deployment, replicas: 1, image: {}}", current: "{mode: deployment, image: {}, collector: {format: yaml}}",
			want: "{mode: deployment, image: {}, collector: {format: yaml}}",
		},
		"a value that is no default": {
			values: "{replicas: 3, env: [{name: A}], collector: {format: yaml, name: a}}", current: "{replicas: 2}",
			want: "{replicas: 3, env: [{name: A}], collector: {name: a}}",
		},
		"a default that the spec has changed": {values: "{replicas: 1}", current: "{replicas: 2}", want: "{}"},
		"a default that is not wanted":        {values: "{collector: null, image: {a: null}}", want: "{collector: null, image: {a: null}}"},
		"an object without a default":         {values: "{check: {}}", want: "{check: {}}"},
		"a map that has more than its default": {
			values: "{ports: {otlp: {port: 4317}, zipkin: {port: 9411}}}", want: "{ports: {zipkin: {port: 9411}}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(text string) (fields map[string]any) {
				if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
					t.Fatal(err)
				}
				return fields
			}
			// Earlier operators recorded the defaults, too.
			for recorded, values := range map[string]map[string]any{"without": read(row.values), "with": with(read(row.values), read(defaults))} {
				rel := &helm.Release{Config: values, Chart: &helm.Chart{Values: read(defaults)}}
				if difference := cmp.Diff(read(row.want), revisionOf(rel, "deployed").Spec(read(row.current))); difference != "" {
					t.Errorf("recorded %s defaults: %s", recorded, difference)
				}
			}
		})
	}
	if got := (Revision{}).Spec(map[string]any{"mode": "deployment"}); got != nil {
		t.Errorf("of a spec that is not recorded: %v", got)
	}
}
