package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestThePeerRunsWhatACollectorDoes(t *testing.T) {
	full := newFleet(1, "2s")[0]
	without := full.DeepCopy()
	without.Spec.Collector.Configuration = nil
	for name, test := range map[string]struct {
		collector *v1alpha1.Collector
		timeout   any // of the processor batch
	}{
		"with a configuration": {full, "2s"},
		"without one":          {without, nil},
	} {
		t.Run(name, func(t *testing.T) {
			object, err := asPeer(test.collector)
			if err != nil {
				t.Fatal(err)
			}
			content := object.(*unstructured.Unstructured).Object
			timeout, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "config", "processors", "batch", "timeout")
			if timeout != test.timeout {
				t.Errorf("the timeout is %v, want %v", timeout, test.timeout)
			}
			unstructured.RemoveNestedField(content, "spec", "config")
			if diff := cmp.Diff(map[string]any{
				"apiVersion": "opentelemetry.io/v1beta1", "kind": "OpenTelemetryCollector",
				"metadata": map[string]any{"namespace": "tenant-000", "name": "gateway-0000"},
				"spec": map[string]any{
					"mode": "deployment", "managementState": "managed", "upgradeStrategy": "automatic", "replicas": int64(1),
					"image": "registry.example.com/collector:0.150.0", "networkPolicy": map[string]any{"enabled": true},
				},
			}, content); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
