package kubectl

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestTheDefaultVersionIsThatOfTheSample(t *testing.T) {
	text, err := os.ReadFile("../../../../config/samples/kube8_v1alpha1_collector.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sample v1alpha1.Collector
	if err := yaml.UnmarshalStrict(text, &sample); err != nil {
		t.Fatal(err)
	}
	if got := sample.Spec.Collector.Version; got != defaultVersion {
		t.Errorf("`kubectl collector create` takes version %s, and the sample, which the end-to-end tests run, has %s", defaultVersion, got)
	}
}
