package postrender

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFinishStampsTheHashOfWhatThePodsReferTo(t *testing.T) {
	stamped := strings.NewReplacer(configHash, "0123abcd", "gateway-config-271f3e8a98", "gateway-config").Replace(stampedDeployment)
	elsewhere := strings.NewReplacer("gateway-config", "gateway-tls")
	tests := map[string]struct{ manifest, want string }{
		"a pod template that mounts the Secret": {
			manifest: docs(deployment),
			want:     docs(stamped),
		},
		"a pod template that mounts another Secret": {
			manifest: docs(elsewhere.Replace(deployment)),
			want:     docs(elsewhere.Replace(deployment)),
		},
		"a manifest that has the Secret itself": {
			manifest: docs(secret("yaml", encode(config)), deployment),
			want:     docs(canonicalSecret, stampedDeployment),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			renderer := Renderer{Referenced: Referenced{Secret: "gateway-config", Hash: "0123abcd"}}
			got, err := finish(renderer, test.manifest)
			if err != nil {
				t.Fatalf("unexpected error: %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
		})
	}
}
