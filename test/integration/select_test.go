package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestCollectorsAreSelectedByTenantAndCluster(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	for name, edit := range map[string]func(*v1alpha1.CollectorSpec){
		"one":   func(*v1alpha1.CollectorSpec) {},
		"two":   func(spec *v1alpha1.CollectorSpec) { spec.Tenant.ID, spec.Tenant.Reference = "7", "other" },
		"three": func(spec *v1alpha1.CollectorSpec) { spec.Cluster = "edge" },
	} {
		collector := newCollector(namespace, name)
		collector.Labels = map[string]string{"example.com/stage": name}
		edit(&collector.Spec)
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		selector client.ListOption
		want     []string
	}{
		"by tenant.id":           {client.MatchingFields{"spec.tenant.id": "7"}, []string{"two"}},
		"by tenant.reference":    {client.MatchingFields{"spec.tenant.reference": "acme"}, []string{"one", "three"}},
		"by cluster":             {client.MatchingFields{"spec.cluster": "edge"}, []string{"three"}},
		"by a label of its user": {client.MatchingLabels{"example.com/stage": "one"}, []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			var found v1alpha1.CollectorList
			if err := plane.client.List(t.Context(), &found, client.InNamespace(namespace), row.selector); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, collector := range found.Items {
				names = append(names, collector.Name)
			}
			NewWithT(t).Expect(names).To(ConsistOf(row.want))
		})
	}
}
