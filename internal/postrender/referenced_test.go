package postrender

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFinishStampsTheHashOfWhatThePodsReferTo(t *testing.T) {
	const own, projected = "          secretName: gateway-config # kube8.dev/own\n", `      - name: config
        projected:
          sources:
          - secret:
              name: gateway-config
          - secret:
              name: gateway-config # kube8.dev/own
`
	users := strings.Replace(deployment, own, "          secretName: gateway-config\n", 1)
	stamped := strings.NewReplacer(configHash, "0123abcd", "gateway-config-271f3e8a98", "gateway-config").Replace(stampedDeployment)
	elsewhere := strings.NewReplacer("gateway-config # kube8.dev/own", "gateway-tls")
	before, _, _ := strings.Cut(deployment, "      - name: config\n        secret:")
	// By `printf x >a.lua; sha256sum a.lua | sha256sum`.
	const filesHash = "1a4c11dca86a165198508e9aff2cde24956bde0a10cd83f3e53f06bceb9c0314"
	tests := map[string]struct{ manifest, want string }{
		"a pod template that mounts the Secret": {
			manifest: docs(users),
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
		"a pod template that projects the Secret beside one of the chart that has the same name": {
			manifest: docs("kind: Secret\nmetadata:\n  name: gateway-config\n  annotations:\n    kube8.dev/configuration: yaml\ndata:\n  a.lua: eA==\n",
				before+projected),
			want: docs("kind: Secret\nmetadata:\n  name: gateway-config-1a4c11dca8\n  annotations:\n    kube8.dev/configuration: yaml\n"+
				"    kube8.dev/files-sha256: '"+filesHash+"'\ndata:\n  a.lua: eA==\nimmutable: true\n",
				strings.Replace(before, "        app: gateway\n", "        app: gateway\n      annotations:\n"+
					"        kube8.dev/config-sha256: '0123abcd'\n        kube8.dev/files-sha256: '"+filesHash+"'\n", 1)+
					strings.Replace(projected, "gateway-config # kube8.dev/own", "gateway-config-1a4c11dca8", 1)),
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
