package status_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/internal/status"
)

// A change from a Deployment to a StatefulSet may wait, or be refused, for long. The Deployment serves meanwhile.
func TestTheStatusCountsThePodsThatServeUntilTheModeChanges(t *testing.T) {
	for name, row := range map[string]struct {
		owner string
		want  int64
	}{
		"of the Collector's own Deployment":    {"collector", 1},
		"not of a Deployment of another owner": {"other", 0},
	} {
		var written *unstructured.Unstructured
		said, workload := collector(t, steady), served(t)
		said.SetUID("collector")
		workload.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
			"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector", "name": "gateway", "uid": row.owner, "controller": true,
		}}
		said.Object["spec"] = map[string]any{"mode": "statefulset"}
		said.Object["status"].(map[string]any)["readyReplicas"] = int64(7)
		c := fake.NewClientBuilder().WithObjects(said.DeepCopy(), workload).WithInterceptorFuncs(receiving(t, &written)).Build()
		if err := status.NewClient(c, c, outcome{Deployed: deployed}, flows{}, record.NewFakeRecorder(9)).Status().Update(t.Context(), said); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedInt64(written.Object, "status", "readyReplicas"); got != row.want {
			t.Errorf("%s: %d pods are ready, want %d", name, got, row.want)
		}
	}
}
