package postrender

import (
	"bytes"
	"strings"
	"testing"
)

func TestRunDecodesFurtherFiles(t *testing.T) {
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
	projected := strings.Replace(deployment, "        secret:\n          secretName: gateway-config\n",
		"        projected:\n          sources:\n          - secret: {name: gateway-config}\n", 1)
	if out := run(t, docs(files("yaml", encode("["), encode("x")), projected)); strings.Count(out, hash) != 2 {
		t.Errorf("the pod template that projects the Secret is not stamped:\n%s", out)
	}

	half := encode(strings.Repeat("x", MaxConfigurationBytes/2+1))
	for name, row := range map[string]struct{ parsers, script, want string }{
		"a file that is not base64": {parsers: `"*"`, script: encode("x"),
			want: "spec.collector.files[parsers.conf]: not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`"},
		"files that are too large together": {parsers: half, script: half,
			want: "spec.collector.files: more than 262144 bytes together when decoded; shorten them"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Renderer{}.Run(bytes.NewBufferString(docs(files("yaml", row.parsers, row.script))))
			if err == nil || err.Error() != row.want {
				t.Errorf("got error  %v\nwant error %s", err, row.want)
			}
		})
	}
}
