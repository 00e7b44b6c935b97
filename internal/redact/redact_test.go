package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, text string) (fields map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestWhatMayBeConfidentialIsHidden(t *testing.T) {
	for name, row := range map[string]struct{ object, want string }{
		"a configuration, files and their names' likeness to harmless fields": {
			object: "{kind: Collector, spec: {collector: {name: a, version: '1', configuration: c2VjcmV0, files: {name: c2VjcmV0}}}}",
			want:   "{kind: Collector, spec: {collector: {name: a, version: '1', configuration: (hidden), files: {name: (hidden)}}}}",
		},
		"the content of bases, but not their names and versions": {
			object: "{bases: [{name: a, version: b, position: last, file: secret, content: c2VjcmV0}], status: {bases: [a@b]}}",
			want:   "{bases: [{name: a, version: b, position: last, file: (hidden), content: (hidden)}], status: {bases: [a@b]}}",
		},
		"environment variables, but not where they come from": {
			object: "{env: [{name: A, value: secret}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]}",
			want:   "{env: [{name: A, value: (hidden)}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]}",
		},
		"a field that is unknown": {object: "{spec: {later: secret, count: 3, on: true}}", want: "{spec: {later: (hidden), count: 3, on: true}}"},
		"annotations that are not the operator's": {
			object: "{metadata: {annotations: {a: secret, kube8.dev/paused: 'true'}, labels: {a: shown}, managedFields: [{manager: m}]}}",
			want:   "{metadata: {annotations: {a: (hidden), kube8.dev/paused: 'true'}, labels: {a: shown}}}",
		},
		"what a trigger of KEDA is given": {
			object: "{spec: {triggers: [{type: rabbitmq, name: a, metadata: {host: secret, resource: secret, version: secret}}]}, metadata: {name: a}}",
			want:   "{spec: {triggers: [{type: rabbitmq, name: a, metadata: {host: (hidden), resource: (hidden), version: (hidden)}}]}, metadata: {name: a}}",
		},
		"data of a Secret": {object: "{kind: Secret, data: {name: secret}, type: Opaque}", want: "{kind: Secret, data: {name: (hidden)}, type: Opaque}"},
		"what a container prints when it ends": {
			object: "{kind: Pod, status: {containerStatuses: [{name: c, lastState: {terminated: {exitCode: 1, reason: Error, message: secret}}}]}}",
			want:   "{kind: Pod, status: {containerStatuses: [{name: c, lastState: {terminated: {exitCode: 1, reason: Error, message: (hidden)}}}]}}",
		},
		"nothing of a Collector's conditions": {
			object: "{kind: Collector, status: {conditions: [{type: Ready, message: said}]}}", want: "{kind: Collector, status: {conditions: [{type: Ready, message: said}]}}",
		},
		"nothing of what the operator tells": {
			object: "{kind: Event, message: told, source: {component: kube8-operator}}", want: "{kind: Event, message: told, source: {component: kube8-operator}}",
		},
		"what a probe prints": {
			object: "{kind: Event, reason: Unhealthy, message: secret, source: {component: kubelet}}",
			want:   "{kind: Event, reason: Unhealthy, message: (hidden), source: {component: kubelet}}",
		},
		"what an unknown client tells": {
			object: "{kind: Event, message: secret, source: {component: other}}", want: "{kind: Event, message: (hidden), source: {component: other}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := read(t, row.object)
			if difference := cmp.Diff(read(t, row.want), Object(object)); difference != "" {
				t.Error(difference)
			}
			if difference := cmp.Diff(read(t, row.object), object); difference != "" {
				t.Errorf("the object itself has changed: %s", difference)
			}
		})
	}
	if _, err := JSON(func() {}); err == nil || !strings.Contains(err.Error(), "write an object") {
		t.Errorf("what is no object: %v", err)
	}
}

func TestWhatIsHiddenIsComparedNevertheless(t *testing.T) {
	for name, row := range map[string]struct{ before, after, want string }{
		"nothing was":                {"{}", "{later: secret}", "{later: (hidden)}"},
		"the same":                   {"{later: secret}", "{later: secret}", "{later: (hidden)}"},
		"another text":               {"{later: secret}", "{later: other}", "{later: (changed)}"},
		"a text that is kept":        {"{version: '1'}", "{version: '2'}", "{version: '2'}"},
		"a list without names":       {"{args: [a, b]}", "{args: [a, c, d]}", "{args: [(hidden), (changed), (hidden)]}"},
		"an item that moved":         {"{env: [{name: A, value: a}]}", "{env: [{name: B, value: b}, {name: A, value: a}]}", "{env: [{name: B, value: (hidden)}, {name: A, value: (hidden)}]}"},
		"items that share one name":  {"{env: [{name: A, value: a}, {name: A, value: b}]}", "{env: [{name: A, value: a}, {name: A, value: a}]}", "{env: [{name: A, value: (hidden)}, {name: A, value: (changed)}]}"},
		"a value in place of a text": {"{later: [{b: c}]}", "{later: secret}", "{later: (hidden)}"},
	} {
		if difference := cmp.Diff(read(t, row.want), Since(read(t, row.before), read(t, row.after))); difference != "" {
			t.Error(name, difference)
		}
	}
}
