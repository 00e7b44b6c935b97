package flow

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// otelPort is where an OpenTelemetry Collector shows its metrics, as the chart says too.
const otelPort = 8888

// Endpoint is where a Collector has its metrics.
type Endpoint struct {
	// Flow is what the spec says, with defaults for port and path.
	v1alpha1.Flow

	// Tenant is the reference of the tenant, and Cluster the name of the cluster that the Collector observes.
	Tenant, Cluster string

	pages *reader
}

// EndpointOf returns the endpoint of a Collector, if it has spec.flow.
func EndpointOf(collector *unstructured.Unstructured) (found Endpoint, has bool) {
	fields, _ := collector.Object["spec"].(map[string]any)
	flow, has := fields["flow"].(map[string]any)
	if !has || runtime.DefaultUnstructuredConverter.FromUnstructured(flow, &found.Flow) != nil {
		return found, false
	}
	name, _, _ := unstructured.NestedString(fields, "collector", "name")
	found.Tenant, _, _ = unstructured.NestedString(fields, "tenant", "reference")
	found.Cluster, _ = fields["cluster"].(string)
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
	if m := found.Metrics; m != nil {
		found.pages = newReader(profile{names: [roles][]string{m.Received, m.Sent, m.Failed, m.Dropped, m.Refused, m.Queued, m.Capacity}})
	} else {
		name := profileOf(name, &found.Flow)
		found.pages, found.Path = readers[name], cmp.Or(found.Path, profiles[name].path)
	}
	found.Path = cmp.Or(found.Path, "/metrics")
	if found.pages == nil { // of a profile that another version of the operator knows
		found.pages = &reader{}
	}
	return found, !strings.Contains(found.Path, "..") // which would lead a proxy elsewhere
}

// Read reads a page.
func (e Endpoint) Read(page io.Reader) (*Sample, error) {
	return e.pages.read(page, make([]byte, lineLength))
}

// servedOf returns the endpoint of the deployed generation: that of the spec, or the one that was seen before. It is nil where pods have no
// stamp of their template.
func (e *entry) servedOf(collector *unstructured.Unstructured, ofSpec *Endpoint) *Endpoint {
	deployed, _, _ := unstructured.NestedMap(collector.Object, "status", "deployedRelease")
	switch {
	case deployed["template"] == nil:
		return nil
	case deployed["generation"] == collector.GetGeneration():
		return ofSpec
	}
	return e.served
}

// endpointOf returns where a pod has its metrics. While a change of the spec proves itself or is refused, pods with the template of the
// deployed revision have them where they had them before.
func (e *entry) endpointOf(collector *unstructured.Unstructured, pod *corev1.Pod, ofSpec *Endpoint) *Endpoint {
	if e.served != nil && isOfDeployed(collector, pod) {
		return e.served
	}
	return ofSpec
}

// addressOf returns the URL of a pod's metrics, or nothing if the pod may not be asked.
func (w *Watcher) addressOf(pod *corev1.Pod, s Endpoint) string {
	address, err := netip.ParseAddr(pod.Status.PodIP)
	isOfPod := address.IsGlobalUnicast() && !pod.Spec.HostNetwork
	if err != nil || pod.DeletionTimestamp != nil || !isOfPod && !w.HostNetwork {
		return ""
	}
	return "http://" + netip.AddrPortFrom(address, uint16(s.Port)).String() + s.Path //nolint:gosec // it is a port
}

// slot takes one of the slots for pods that are asked at the same time, and returns those. It returns nil if there is none: a pod that is
// known not to answer waits no longer than its answer may take, for others of its namespace wait for it.
func (w *Watcher) slot(ctx context.Context, isSilent bool) chan struct{} {
	slots := w.asking
	if isSilent {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		slots = w.silent
	}
	select {
	case slots <- struct{}{}:
		return slots
	case <-ctx.Done():
		return nil
	}
}

// ask reads a page. It says why there is no sample, and nothing of what the answer has.
func (w *Watcher) ask(ctx context.Context, url string, pages *reader) (*Sample, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, v1alpha1.ReasonUnreachable
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	response, err := w.pages.Do(request)
	if err != nil {
		return nil, v1alpha1.ReasonUnreachable
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, v1alpha1.ReasonNoMetrics
	}
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	sample, err := pages.read(response.Body, *buffer)
	if err != nil {
		return nil, v1alpha1.ReasonNoMetrics
	}
	return sample, ""
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, lineLength)) }}

// Amounts are what goes through a collector, and how much waits.
type Amounts struct{ Received, Sent, Failed, Dropped, Queued float64 }

// Since returns what has gone through between two samples. It is false if the collector has started anew between them.
func (s *Sample) Since(before *Sample) (Amounts, bool) {
	return Amounts{
		s.since(before, received), s.since(before, sent), s.since(before, failed), s.since(before, dropped), s.values[queued],
	}, !s.isOfRestart(before)
}
