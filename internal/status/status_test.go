package status_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/status"
)

// The API server's part is played by a fake, because the question is what reaches it.
func TestUpdate(t *testing.T) {
	const stored = `
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "False", reason: Progressing, message: Deployment not seen yet, lastTransitionTime: "2026-01-01T00:00:00Z"}
deployedRelease: {name: gateway}
`
	tests := map[string]struct{ update, written string }{
		"a status that differs only by the manifest is not written": {
			update: `
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", lastTransitionTime: "2026-01-01T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
		},
		"a condition that flipped there and back within the pass is not written": {
			update: `
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", lastTransitionTime: "2026-02-02T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
		},
		"a new reason is written, with the old transition time and without the manifest": {
			update: `
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Irreconcilable, status: "False", lastTransitionTime: "2026-02-02T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
			written: `
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "False", reason: Progressing, message: Deployment not seen yet, lastTransitionTime: "2026-01-01T00:00:00Z"}
deployedRelease: {name: gateway}
`,
		},
		"a new status is written, with its own transition time, and shows in Ready": {
			update: `
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "True", lastTransitionTime: "2026-02-02T00:00:00Z"}
`,
			written: `
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "True", lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Ready, status: "False", reason: ReleaseFailed, message: not what spec says; see condition Irreconcilable, lastTransitionTime: "2026-01-01T00:00:00Z"}
`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var written *unstructured.Unstructured
			recording := interceptor.Funcs{SubResourceUpdate: func(_ context.Context, _ client.Client, _ string, obj client.Object, _ ...client.SubResourceUpdateOption) error {
				written = obj.(*unstructured.Unstructured)
				return nil
			}}
			c := fake.NewClientBuilder().WithObjects(collector(t, stored)).WithInterceptorFuncs(recording).Build()

			if err := status.NewClient(c).Status().Update(t.Context(), collector(t, test.update)); err != nil {
				t.Fatal(err)
			}
			if test.written == "" {
				if written != nil {
					t.Errorf("written: %v", written.Object["status"])
				}
				return
			}
			if written == nil {
				t.Fatal("nothing was written")
			}
			if diff := cmp.Diff(collector(t, test.written).Object["status"], written.Object["status"]); diff != "" {
				t.Errorf("written status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUpdateOfADeletedCollectorIsDropped(t *testing.T) {
	c := status.NewClient(fake.NewClientBuilder().Build())
	if err := c.Status().Update(t.Context(), collector(t, `conditions: []`)); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func collector(t *testing.T, statusYAML string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kube8.dev/v1alpha1",
		"kind":       "Collector",
		"metadata":   map[string]any{"name": "gateway", "namespace": "team-a"},
	}}
	var statusFields map[string]any
	if err := yaml.Unmarshal([]byte(statusYAML), &statusFields); err != nil {
		t.Fatal(err)
	}
	obj.Object["status"] = statusFields
	return obj
}
