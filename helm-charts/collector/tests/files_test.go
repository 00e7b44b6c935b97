package tests

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Each set of files in the spec becomes arguments, the volume of /etc/collector, and the files in the Secret.
func TestFiles(t *testing.T) {
	for name, row := range map[string]struct{ over, args, volume, secret string }{
		"a configuration": {
			over: `{}`, args: "--config=/etc/collector/config.yaml",
			volume: `{"secret":{"secretName":"edge-config","items":[{"key":"config.yaml","path":"config.yaml"}],"defaultMode":420}}`,
			secret: "config.yaml",
		},
		"a configuration as text": {
			over: `collector: {configuration: null, configurationText: "{}"}`, args: "--config=/etc/collector/config.yaml",
			volume: `{"secret":{"secretName":"edge-config","items":[{"key":"config.yaml","path":"config.yaml"}],"defaultMode":420}}`,
			secret: "config.yaml",
		},
		"a configuration in a file of another name": {
			over: `collector: {fileName: fluent-bit.conf}`, args: "--config=/etc/collector/fluent-bit.conf",
			volume: `{"secret":{"secretName":"edge-config","items":[{"key":"fluent-bit.conf","path":"fluent-bit.conf"}],"defaultMode":420}}`,
			secret: "fluent-bit.conf",
		},
		"a configuration and further files": {
			over: `collector: {files: {z.conf: e30=, a.lua: e30=}}`, args: "--config=/etc/collector/config.yaml",
			volume: `{"secret":{"secretName":"edge-config","items":[{"key":"config.yaml","path":"config.yaml"},{"key":"a.lua","path":"a.lua"},` +
				`{"key":"z.conf","path":"z.conf"}],"defaultMode":420}}`,
			secret: "config.yaml a.lua z.conf",
		},
		"files in folders": {
			over: `collector: {files: {conf.d/http.d/conf.yaml: e30=}}`, args: "--config=/etc/collector/config.yaml",
			volume: `{"secret":{"secretName":"edge-config","items":[{"key":"config.yaml","path":"config.yaml"},` +
				`{"key":"conf.d..http.d..conf.yaml","path":"conf.d/http.d/conf.yaml"}],"defaultMode":420}}`,
			secret: "config.yaml conf.d..http.d..conf.yaml",
		},
		"files alone": {
			over:   `collector: {configuration: null, files: {mapping.yml: e30=}}`,
			volume: `{"secret":{"secretName":"edge-config","items":[{"key":"mapping.yml","path":"mapping.yml"}],"defaultMode":420}}`,
			secret: "mapping.yml",
		},
		"a Secret of the user": {
			over: `collector: {configuration: null, fileName: a.toml, configurationSecret: {name: s, key: k}}`, args: "--config=/etc/collector/a.toml",
			volume: `{"secret":{"secretName":"s","items":[{"key":"k","path":"a.toml"}],"defaultMode":420}}`,
		},
		"a Secret of the user and further files": {
			over: `collector: {configuration: null, configurationSecret: {name: s, key: k}, files: {a.lua: e30=}}`,
			args: "--config=/etc/collector/config.yaml",
			volume: `{"projected":{"sources":[{"secret":{"name":"s","items":[{"key":"k","path":"config.yaml"}]}},` +
				`{"secret":{"name":"edge-config","items":[{"key":"a.lua","path":"a.lua"}]}}],"defaultMode":420}}`,
			secret: "a.lua",
		},
		"neither a configuration nor files": {over: `collector: {configuration: null}`},
		"arguments of the user's own":       {over: `{args: [run], collector: {configuration: null}}`, args: "run"},
		"no arguments at all": {
			over:   `args: []`,
			volume: `{"secret":{"secretName":"edge-config","items":[{"key":"config.yaml","path":"config.yaml"}],"defaultMode":420}}`,
			secret: "config.yaml",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := deployment(t, row.over).Spec.Template.Spec
			if got := strings.Join(pod.Containers[0].Args, " "); got != row.args {
				t.Errorf("arguments %q, want %q", got, row.args)
			}
			if got := volume(t, pod.Volumes, "config"); got != row.volume {
				t.Errorf("volume %s\nwant   %s", got, row.volume)
			}
			mounted := strings.Contains(marshal(t, pod.Containers[0].VolumeMounts), "/etc/collector")
			if mounted != (row.volume != "") {
				t.Errorf("/etc/collector is mounted: %t", mounted)
			}
			if got := filesOfSecret(t, row.over); got != row.secret {
				t.Errorf("Secret has %q, want %q", got, row.secret)
			}
		})
	}
}

// volume is the source of the volume of a name, in JSON; nothing where there is none.
func volume(t *testing.T, volumes []corev1.Volume, name string) string {
	t.Helper()
	for _, volume := range volumes {
		if volume.Name == name {
			return marshal(t, volume.VolumeSource)
		}
	}
	return ""
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// filesOfSecret are the keys of the rendered Secret, in order.
func filesOfSecret(t *testing.T, over string) string {
	t.Helper()
	manifest, err := render(t, "edge", smallest(t, over))
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(manifest, "\ndata:\n")
	var keys []string
	for line := range strings.Lines(data) {
		key, _, found := strings.Cut(line, ": ")
		if !found || !strings.HasPrefix(line, "  ") {
			break
		}
		keys = append(keys, strings.Trim(key, ` "`))
	}
	return strings.Join(keys, " ")
}

// Helm and the operator read annotations and labels of objects; a spec must not speak for them.
func TestKeysOfHelmAndOfTheOperatorAreLeftOut(t *testing.T) {
	const keys = `{helm.sh/hook: pre-install, meta.helm.sh/release-name: other, kube8.dev/config-sha256: "0", kept.example.com/a: b}`
	values := smallest(t, `{mode: statefulset, podAnnotations: `+keys+`, podLabels: `+keys+`, service: {annotations: `+keys+`},
		serviceAccount: {annotations: `+keys+`}, serviceMonitor: {enabled: true, labels: `+keys+`}, podMonitor: {enabled: true, labels: `+keys+`},
		prometheusRule: {enabled: true, labels: `+keys+`}, volumeClaimTemplates: [{metadata: {name: queue, labels: `+keys+`, annotations: `+keys+`},
		spec: {accessModes: [ReadWriteOnce]}}]}`)
	manifest, err := render(t, "edge", values, monitoring...)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(manifest, "kept.example.com/a: b\n"); got != 9 {
		t.Errorf("the key of the user's own stands %d times, want 9", got)
	}
	for _, key := range []string{"helm.sh/hook", "meta.helm.sh", "config-sha256"} {
		if strings.Contains(manifest, key) {
			t.Errorf("%s was not left out:\n%s", key, manifest)
		}
	}
}
