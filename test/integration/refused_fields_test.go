package integration

import (
	"bytes"
	"os"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/validation"
)

func TestReadySaysWhichFieldOfTheCollectorTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	const credential = "opensesame" // not the secret: the API server's audit log has it
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Env = []corev1.EnvVar{{Name: "TOKEN=" + credential}}
	createRefused(t, collector)
	g := NewWithT(t)
	g.Expect(condition(t, collector, "Ready")).To(And(
		HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "ReleaseFailed"),
		HaveField("Message", "spec.env[0].name: Invalid value: a valid environment variable name must consist only of printable "+
			"ASCII characters other than '='")))
	for _, found := range get(t, collector, "", &v1alpha1.Collector{}).Status.Conditions {
		g.Expect(found.Message).NotTo(ContainSubstring(credential), found.Type)
	}
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Env = []corev1.EnvVar{{Name: "TOKEN", Value: credential}} })
	awaitReady(t, collector, "False", "Progressing", "")
}

func TestTheAPIServerSaysWhatTheValidationOfRenderSays(t *testing.T) {
	t.Parallel()
	const pod = "/spec/template/spec/"
	namespace := newNamespace(t)
	accepted := 0
	for _, row := range []struct{ golden, kind, field, value string }{
		{"gateway", "Deployment", pod + "containers/0/env/0/name", `"a=b"`},
		{"gateway", "Deployment", pod + "containers/0/resources", `{"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}`},
		{"gateway", "Deployment", pod + "containers/0/volumeMounts/0/name", `"missing"`},
		{"gateway", "Deployment", pod + "volumes/0/emptyDir", `{}`},
		{"gateway", "Deployment", pod + "tolerations", `[{"operator": "Equals"}]`},
		{"gateway", "Deployment", pod + "containers/0/livenessProbe", `{"tcpSocket": {"port": 1}, "grpc": {"port": 1}}`},
		{"gateway", "Deployment", "/spec/template/metadata/labels/a b", `"c"`},
		{"gateway", "Deployment", "/spec/strategy/rollingUpdate", `{"maxSurge": 0, "maxUnavailable": 0}`},
		{"gateway", "Deployment", pod + "containers/0/securityContext", `{"privileged": true}`}, // accepted: the API server allows it
		{"stateful", "StatefulSet", "/spec/volumeClaimTemplates/0/metadata/name", `"A"`},
		{"stateful", "StatefulSet", "/spec/volumeClaimTemplates/0/spec/resources", `{}`},
		{"stateful", "StatefulSet", "/spec/updateStrategy/rollingUpdate/maxUnavailable", `0`},
		{"node-agent", "DaemonSet", "/spec/updateStrategy/rollingUpdate", `{"maxSurge": 1, "maxUnavailable": 1}`},
		{"gateway", "Service", "/spec/ports/0/name", `"Not A Name"`},
		{"gateway", "ServiceAccount", "/metadata/annotations", `{"a b": "c"}`},
		{"gateway", "Secret", "/data", `{"a b": ""}`},
		{"gateway", "HorizontalPodAutoscaler", "/spec/minReplicas", `99`},
		{"gateway", "HorizontalPodAutoscaler", "/spec", `{"minReplicas": -1, "maxReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "gateway"}}`},
		{"gateway", "PodDisruptionBudget", "/spec/maxUnavailable", `"many"`},
		{"network-policy", "NetworkPolicy", "/spec/ingress/0/from", `[{"ipBlock": {"cidr": "10.0.0.0"}}]`},
	} {
		object := patchedGolden(t, row.golden, row.kind, row.field, row.value)
		object.SetNamespace(namespace)
		offline := message(validation.Create(object))
		if live := message(plane.client.Create(t.Context(), object, client.DryRunAll)); live != offline && (!isOlder(t) || offline == nothing) {
			t.Errorf("%s %s: %s\nthe API server says: %s\nthe validation says: %s", row.kind, row.field, row.value, live, offline)
		}
		if offline == nothing {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%d of the table's objects are accepted, want the one that says so", accepted)
	}
}

const nothing = "nothing"

func message(err error) string {
	if err == nil {
		return nothing
	}
	return err.Error()
}

// patchedGolden returns the first object of a kind in one of the chart's golden files, with one field set.
func patchedGolden(t *testing.T, golden, kind, field, value string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("helm-charts/collector/ci/golden/" + golden + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if !strings.Contains("\n"+string(document), "\nkind: "+kind+"\n") {
			continue
		}
		whole, err := yaml.YAMLToJSON(document)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch([]byte(`[{"op": "add", "path": "` + field + `", "value": ` + value + `}]`))
		if err != nil {
			t.Fatal(err)
		}
		// "add" to a list would insert an item, but no field of the table is one.
		if whole, err = patch.Apply(whole); err != nil {
			t.Fatalf("%s %s: %v", kind, field, err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(whole); err != nil {
			t.Fatal(err)
		}
		return object
	}
	t.Fatalf("%s.yaml has no %s", golden, kind)
	return nil
}
