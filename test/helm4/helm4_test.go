// Package helm4 has Helm 4 read what the operator records. It is a module of its own, because the operator needs nothing of Helm 4.
package helm4

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	controllerfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/history"
)

// revision is what `helm history` and `helm get` show of one.
type revision struct {
	Version          int
	Status, Manifest string
}

func TestHelm4ReadsTheRecordsOfRevisions(t *testing.T) {
	collector := &v1alpha1.Collector{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Collector"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "1"},
	}
	cluster := controllerfake.NewClientBuilder().Build()
	operatorChart := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "collector", Version: "0.2.0"}}
	records := &history.Records{Cluster: cluster, Live: cluster, Collector: collector, Chart: operatorChart, Limit: 10}
	for _, manifest := range []string{"kind: Service # 1\n", "kind: Service # 2\n"} {
		begun, err := records.Begin(t.Context(), history.Content{Manifest: manifest, Values: map[string]any{"cluster": "prod"}})
		if err != nil {
			t.Fatal(err)
		}
		records.Accept(t.Context(), begun)
		records.Deployed = int(begun.Revision)
	}

	var secrets corev1.SecretList
	if err := cluster.List(t.Context(), &secrets); err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for i := range secrets.Items {
		objects = append(objects, &secrets.Items[i])
	}
	helm := storage.Init(driver.NewSecrets(fake.NewClientset(objects...).CoreV1().Secrets("acme")))
	history, err := helm.History("gateway")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]revision{}
	for _, known := range history {
		of, err := release.NewAccessor(known)
		if err != nil {
			t.Fatal(err)
		}
		found[of.Version()] = revision{Version: of.Version(), Status: of.Status(), Manifest: of.Manifest()}
	}
	want := map[int]revision{
		1: {Version: 1, Status: "superseded", Manifest: "kind: Service # 1\n"},
		2: {Version: 2, Status: "deployed", Manifest: "kind: Service # 2\n"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("`helm history` (-want +got):\n%s", diff)
	}
	last, err := helm.Last("gateway")
	if err != nil {
		t.Fatal(err)
	}
	if of, err := release.NewAccessor(last); err != nil || of.Version() != 2 {
		t.Errorf("the last revision is %v, %v, want 2", last, err)
	}
}
