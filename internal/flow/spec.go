package flow

import (
	"cmp"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// otelPort is where an OpenTelemetry Collector shows its metrics, as the chart says too.
const otelPort = 8888

// spec is what a Collector says of its flow, with the defaults.
type spec struct {
	v1alpha1.Flow
	name, tenant, cluster string
}

// flowOf returns what a Collector says of its flow, if it does.
func flowOf(collector *unstructured.Unstructured) (found spec, has bool) {
	fields, _ := collector.Object["spec"].(map[string]any)
	flow, has := fields["flow"].(map[string]any)
	if !has || runtime.DefaultUnstructuredConverter.FromUnstructured(flow, &found.Flow) != nil {
		return found, false
	}
	found.name, _, _ = unstructured.NestedString(fields, "collector", "name")
	found.tenant, _, _ = unstructured.NestedString(fields, "tenant", "reference")
	found.cluster, _ = fields["cluster"].(string)
	if found.Port == 0 {
		metrics, _, _ := unstructured.NestedFieldNoCopy(fields, "ports", "metrics")
		port, _ := metrics.(map[string]any)
		for _, number := range []any{port["targetPort"], port["port"], int64(otelPort)} {
			if n, isNumber := number.(int64); isNumber {
				found.Port = int32(n) //nolint:gosec // the API server has checked that it is a port
				break
			}
		}
	}
	if found.Path == "" {
		found.Path = "/metrics"
		if found.Metrics == nil {
			found.Path = cmp.Or(profiles[profileOf(found.name, &found.Flow)].path, found.Path)
		}
	}
	return found, true
}

// addressOf returns the URL of a pod's metrics without the path, or nothing if the pod may not be asked.
func (w *Watcher) addressOf(pod *corev1.Pod, s spec) string {
	address, err := netip.ParseAddr(pod.Status.PodIP)
	isOfPod := address.IsGlobalUnicast() && !pod.Spec.HostNetwork
	if err != nil || pod.DeletionTimestamp != nil || !isOfPod && !w.HostNetwork {
		return ""
	}
	return "http://" + netip.AddrPortFrom(address, uint16(s.Port)).String() //nolint:gosec // it is a port
}
