package drift

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestUnchanged(t *testing.T) {
	const budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: gateway, labels: {a: b}}
spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}
`
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway}
spec: {template: {spec: {containers: [{name: collector, image: a, ports: [{containerPort: 1}]}], tolerations: [{key: a}]}}}
`
	const monitor = `
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: gateway}
spec: {endpoints: [{port: metrics}]}
`
	tests := map[string]struct {
		expected, live string
		want           bool
	}{
		"equal objects": {expected: deployment, live: deployment, want: true},
		"a PodDisruptionBudget, whose patch is never empty": {
			expected: budget,
			live: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: gateway, labels: {a: b, c: d}, resourceVersion: "1"}
spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}
status: {currentHealthy: 1}
`,
			want: true,
		},
		"a PodDisruptionBudget that selects other pods": {
			expected: budget,
			live: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: gateway, labels: {a: b}}
spec: {maxUnavailable: 1, selector: {matchLabels: {a: b, more: narrow}}}
`,
		},
		"fields, list items and labels that somebody else added": {
			expected: deployment,
			live: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, labels: {added: by-somebody}}
spec:
  revisionHistoryLimit: 10
  template:
    spec:
      containers:
      - {name: collector, image: a, ports: [{containerPort: 1, protocol: TCP}], imagePullPolicy: Always}
      - {name: sidecar, image: b}
      tolerations: [{key: a}]
`,
			want: true,
		},
		"an edited field": {
			expected: deployment,
			live: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway}
spec: {template: {spec: {containers: [{name: collector, image: edited, ports: [{containerPort: 1}]}], tolerations: [{key: a}]}}}
`,
		},
		"an item added to a list that has no merge key": {
			expected: deployment,
			live: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway}
spec: {template: {spec: {containers: [{name: collector, image: a, ports: [{containerPort: 1}]}], tolerations: [{key: a}, {key: b}]}}}
`,
		},
		"a custom resource with fields that somebody else added": {
			expected: monitor,
			live: `
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: gateway, uid: "1"}
spec: {endpoints: [{port: metrics, interval: 1m}]}
`,
			want: true,
		},
		"an edited custom resource": {
			expected: monitor,
			live: `
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: gateway}
spec: {endpoints: [{port: edited}]}
`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := unchanged(parse(t, test.live), parse(t, test.expected))
			if err != nil || got != test.want {
				t.Errorf("got %t, %v; want %t", got, err, test.want)
			}
		})
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(converted); err != nil {
		t.Fatal(err)
	}
	return obj
}
