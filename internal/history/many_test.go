package history

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// endless is an API server with Secrets of a tenant that have the labels of a release, without end.
type endless struct {
	client.Reader
	requests int
}

func (e *endless) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	e.requests++
	list.(*metav1.PartialObjectMetadataList).Items = make([]metav1.PartialObjectMetadata, 16)
	list.SetContinue("more")
	return nil
}

func TestSecretsOfATenantCostFewRequestsAndKeepNoDeletion(t *testing.T) {
	for name, isDeleted := range map[string]bool{"a Collector that is there": false, "one that is deleted": true} {
		t.Run(name, func(t *testing.T) {
			collector, server := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway"}}, &endless{}
			if isDeleted {
				collector.DeletionTimestamp = new(metav1.Now())
			}
			records := &Records{Live: server, Collector: collector}
			err := records.Prepare(t.Context())
			if isTold := err != nil && strings.Contains(err.Error(), "delete those that nobody needs"); isTold == isDeleted {
				t.Errorf("got error %v", err)
			}
			if server.requests > 64 {
				t.Errorf("%d requests", server.requests)
			}
		})
	}
}
