package postrender

import (
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/internal/configuration"
)

func TestFinishDecodesFurtherFiles(t *testing.T) {
	files := func(format, parsers, script string) string {
		return secret(format, encode(config)) + "  parsers.conf: " + parsers + "\n  a.lua: " + script + "\n"
	}
	// By `printf '[' >parsers.conf; printf x >a.lua; sha256sum a.lua parsers.conf | sha256sum`.
	const hash = "5526775e35c2eaf73ad633bea2e80f7da05c8356a248dbb2e5ca44f25bf6d462"
	out := run(t, docs(files("yaml", encode("["), encode("x")), deployment))
	if got := strings.Count(out, "kube8.dev/files-sha256: '"+hash+"'"); got != 2 {
		t.Errorf("the hash of the files is stamped %d times, want 2, in\n%s", got, out)
	}
	if got := strings.Count(out, configHash); got != 2 {
		t.Errorf("the hash of the configuration is stamped %d times, want 2, in\n%s", got, out)
	}
	projected := strings.Replace(deployment, "        secret:\n          secretName: gateway-config # kube8.dev/own\n",
		"        projected:\n          sources:\n          - secret:\n              name: gateway-config # kube8.dev/own\n", 1)
	if out := run(t, docs(files("yaml", encode("["), encode("x")), projected)); strings.Count(out, hash) != 2 {
		t.Errorf("the pod template that projects the Secret is not stamped:\n%s", out)
	}

	half := encode(strings.Repeat("x", configuration.MaxBytes/2+1))
	for name, row := range map[string]struct{ parsers, script, want string }{
		"a file that is not base64": {parsers: `"*"`, script: encode("x"),
			want: "spec.collector.files[parsers.conf]: not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`"},
		"files that are too large together": {parsers: half, script: half,
			want: "spec.collector.files: more than 262144 bytes together when decoded; shorten them"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := finish(Renderer{}, docs(files("yaml", row.parsers, row.script)))
			if err == nil || err.Error() != row.want {
				t.Errorf("got error  %v\nwant error %s", err, row.want)
			}
		})
	}
}

func TestFinishNamesTheSecretAfterItsContent(t *testing.T) {
	// The digits are those of `sha256sum config.yaml | sha256sum`, and with more files of `sha256sum a.lua config.yaml | sha256sum`.
	const own = "gateway-config-271f3e8a98"
	projected := strings.Replace(deployment, "        secret:\n          secretName: gateway-config # kube8.dev/own\n",
		"        projected:\n          sources:\n          - secret: {name: team-config}\n          - secret:\n              name: gateway-config # kube8.dev/own\n", 1)
	for name, row := range map[string]struct {
		manifest, want string
		times          int
	}{
		"for each volume that mounts it": {
			manifest: docs(secret("yaml", encode(config)), deployment, projected), want: own, times: 3,
		},
		"in another way if it has another file": {
			manifest: docs(secret("yaml", encode(config))+"  a.lua: "+encode("x")+"\n", deployment), want: "gateway-config-ed1e8458fe", times: 2,
		},
		"in another way if the file has another name": {
			manifest: docs(strings.ReplaceAll(secret("yaml", encode(config)), "config.yaml", "otel.yaml"), deployment),
			want:     "gateway-config-c1275c9f8e", times: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := run(t, row.manifest)
			if got := strings.Count(out, row.want); got != row.times {
				t.Errorf("%q is there %d times, want %d, in\n%s", row.want, got, row.times, out)
			}
			if !strings.Contains(out, "immutable: true") {
				t.Errorf("the Secret can be changed:\n%s", out)
			}
		})
	}
}
