package flow

import (
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is where a Collector with spec.flow has its metrics, for whoever else reads them.
type Source struct {
	// Port and Path are those in a pod.
	Port int32
	Path string

	// Tenant is the reference of the Collector's tenant, and Cluster the name of the cluster that it observes.
	Tenant, Cluster string

	pages *reader
}

// SourceOf returns the source of a Collector, if it has spec.flow.
func SourceOf(collector *unstructured.Unstructured) (Source, bool) {
	of, has := flowOf(collector)
	if !has {
		return Source{}, false
	}
	return Source{of.Port, of.Path, of.tenant, of.cluster, readerOf(of.name, &of.Flow)}, true
}

// Read reads a page.
func (s Source) Read(page io.Reader) (*Sample, error) {
	return s.pages.read(page, make([]byte, lineLength))
}

// Amounts are what goes through a collector, and how much waits.
type Amounts struct{ Received, Sent, Failed, Dropped, Queued float64 }

// Since returns what has gone through between two samples. It is false if the collector has started anew between them.
func (s *Sample) Since(before *Sample) (Amounts, bool) {
	return Amounts{
		s.since(before, received), s.since(before, sent), s.since(before, failed), s.since(before, dropped), s.values[queued],
	}, s.total >= before.total
}
