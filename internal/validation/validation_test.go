package validation_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/validation"
)

func TestCreateAcceptsAllThatTheChartMakesOfGoodCollectors(t *testing.T) {
	files, err := filepath.Glob("../../helm-charts/collector/ci/golden/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			obj := object(t, string(document))
			if err := validation.Create(obj); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			kinds[obj.GetKind()] = true
		}
	}
	for _, kind := range []string{
		"DaemonSet", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Secret", "Service", "ServiceAccount",
		"StatefulSet",
	} {
		if !kinds[kind] {
			t.Errorf("no golden file has a %s", kind)
		}
	}
}

func TestCreate(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"a kind of another API is not known": {
			object: `{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: Not A Name}}`,
		},
		"an unknown field": {
			object: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: gateway, namespace: team-a}, automount: false}`,
			want:   `read ServiceAccount "gateway": strict decoding error: unknown field "automount"`,
		},
		"a field that the API server needs, by its own path": {
			object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: gateway, namespace: team-a}, spec: {minAvailable: -1}}`,
			want:   `PodDisruptionBudget.policy "gateway" is invalid: spec.minAvailable: Invalid value: -1: must be greater than or equal to 0`,
		},
		"what a type declares comes after what is written by hand, as the API server says it": {
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: gateway, namespace: team-a},
				spec: {minReplicas: -1, maxReplicas: 1, scaleTargetRef: {kind: Deployment, name: gateway}}}`,
			want: `HorizontalPodAutoscaler.autoscaling "gateway" is invalid: [` +
				`spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group, ` +
				`spec.minReplicas: Invalid value: -1: must be greater than or equal to 0]`,
		},
		"a Job whose selector the API server makes": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: gateway, namespace: team-a}, spec: {template: {spec: {restartPolicy: Never,
				containers: [{name: collector, image: collector}]}}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := validation.Create(object(t, test.object)); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestTheAPIServersCodeIsOfTheVersionOfItsLibraries(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`\tk8s.io/kubernetes v1\.(\S+)`).FindSubmatch(text)
	libraries := regexp.MustCompile(`\tk8s.io/api v0\.(\S+)`).FindSubmatch(text)
	if code == nil || libraries == nil || !bytes.Equal(code[1], libraries[1]) {
		t.Errorf("go.mod has %q and %q: change both at once", code, libraries)
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
