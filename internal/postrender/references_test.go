package postrender

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFinishStampsWhatPodsReferTo(t *testing.T) {
	const service = "apiVersion: v1\nkind:   Service # odd spacing stays\nmetadata: {name: gateway}\n"
	plain := strings.Replace(deployment, "gateway-config # kube8.dev/own", "gateway-tls", 1)
	stamped := func(manifest, name string) string {
		return strings.NewReplacer("      labels:\n        app: gateway\n",
			"      labels:\n        app: gateway\n      annotations:\n        kube8.dev/references: 'Secret/backend=0123'\n",
			"  name: gateway\n", "  name: "+name+"\n").Replace(manifest)
	}
	job := strings.NewReplacer("apps/v1", "batch/v1", "Deployment", "Job").Replace(plain)
	tests := map[string]struct{ references, manifest, want string }{
		"nothing is stamped where nothing is followed": {"", docs(service, plain), docs(service, plain)},
		"a pod template is, and other objects stay byte for byte": {
			"Secret/backend=0123", docs(service, plain), docs(service, stamped(plain, "gateway")),
		},
		"another version is another check": {"Secret/backend=0123", docs(job), docs(stamped(job, "gateway-969bac8d7a"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := finish(Renderer{References: test.references}, test.manifest)
			if err != nil {
				t.Fatalf("unexpected error: %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
		})
	}
}
