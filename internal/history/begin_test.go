package history

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
)

// owner returns the Collector of records, as the API server has it.
func owner() *v1alpha1.Collector {
	return &v1alpha1.Collector{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Collector"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "1"},
	}
}

// An operator that was killed, or whose answer was lost, has begun the same revision before.
func TestARevisionIsBegunOnce(t *testing.T) {
	collector := owner()
	cluster := newFaulty(1)
	begin := func(manifest string) v1alpha1.RecordedRevision {
		records := &Records{
			Cluster: cluster, Live: cluster, Collector: collector, Chart: &helm.Chart{Metadata: &helm.Metadata{}}, Limit: 3,
			History: []v1alpha1.RecordedRevision{{Revision: 4, UID: "other"}},
		}
		begun, err := records.Begin(t.Context(), Content{Manifest: manifest, Hash: manifest, Generation: 7})
		if err != nil {
			t.Fatal(err)
		}
		return begun
	}
	first, again, other := begin("a"), begin("a"), begin("b")
	if first != again || first.Revision != 5 || first.UID == "" || first.Hash != "a" || first.Generation != 7 {
		t.Errorf("begun as %+v, and then as %+v", first, again)
	}
	if other.Revision != 6 {
		t.Errorf("another one is begun as %+v", other)
	}
	records := &Records{Cluster: cluster, Live: cluster, Collector: collector, Limit: 3}
	if err := records.Withdraw(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if withdrawn := begin("c"); withdrawn.Revision != 6 || withdrawn.UID == other.UID {
		t.Errorf("after one was withdrawn, the next one is %+v", withdrawn)
	}
}
