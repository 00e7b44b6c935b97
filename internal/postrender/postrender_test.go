package postrender

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube8/kube8-operator/internal/configuration"
)

// sha256 of "receivers: {}\n", by `printf 'receivers: {}\n' | sha256sum`.
const (
	config     = "receivers: {}\n"
	configHash = "a2562a2b6beb468ee77c97127ec9e6f3c27a8950b2200884a158170dbaf25c01"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: gateway
spec:
  template:
    metadata:
      labels:
        app: gateway
    spec:
      containers:
      - name: collector
        env:
        - name: BATCH
          value: "1e5"
        resources:
          limits:
            memory: 1024Mi
        volumeMounts:
        - name: data
          mountPath: /data
          readOnly: false
      volumes:
      - name: config
        secret:
          secretName: gateway-config # kube8.dev/own
`

const stampedDeployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: gateway
spec:
  template:
    metadata:
      labels:
        app: gateway
      annotations:
        kube8.dev/config-sha256: '` + configHash + `'
    spec:
      containers:
      - name: collector
        env:
        - name: BATCH
          value: "1e5"
        resources:
          limits:
            memory: 1024Mi
        volumeMounts:
        - name: data
          mountPath: /data
          readOnly: false
      volumes:
      - name: config
        secret:
          secretName: gateway-config-271f3e8a98
`

const canonicalSecret = `apiVersion: v1
kind: Secret
metadata:
  name: gateway-config-271f3e8a98
  annotations:
    kube8.dev/configuration: yaml
    kube8.dev/configuration-file: config.yaml
    kube8.dev/config-sha256: '` + configHash + `'
data:
  config.yaml: cmVjZWl2ZXJzOiB7fQo=
immutable: true
`

// ownersReferences are volumes that refer to a Secret of the owner of the Collector, by the name that the chart gives its own.
const ownersReferences = `      - name: own
        secret:
          secretName: gateway-config
      - name: both
        projected:
          sources:
          - secret:
              name: gateway-config
          - secret:
              name: gateway-config
`

// secret is a config Secret as the chart renders it.
func secret(format, data string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata:
  name: gateway-config
  annotations:
    kube8.dev/configuration: %s
    kube8.dev/configuration-file: config.yaml
data:
  config.yaml: %s
`, format, data)
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func docs(texts ...string) string { return "---\n" + strings.Join(texts, "---\n") }

// finish returns the text of a finished manifest.
func finish(with Renderer, manifest string) (string, error) {
	documents, err := with.Finish(manifest)
	return Join(documents), err
}

func run(t *testing.T, manifest string) string {
	t.Helper()
	out, err := finish(Renderer{}, manifest)
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
	return out
}

func TestFinish(t *testing.T) {
	const untouched = `# Source: collector/templates/service.yaml
apiVersion: v1
kind:   Service # odd spacing stays
metadata: {name: gateway}
`
	tests := map[string]struct{ manifest, want string }{
		"a manifest without configuration or pod template is left as it is": {
			manifest: docs(untouched, untouched),
			want:     docs(untouched, untouched),
		},
		"an empty manifest stays empty": {},
		"the hash is stamped on the Secret and on the pod template that mounts it": {
			manifest: docs(secret("yaml", encode(config)), deployment),
			want:     docs(canonicalSecret, stampedDeployment),
		},
		"the order of Secret and workload does not matter, and other objects stay byte for byte": {
			manifest: docs(deployment, untouched, secret("yaml", encode(config))),
			want:     docs(stampedDeployment, untouched, canonicalSecret),
		},
		"line breaks in the base64 are taken out": {
			manifest: docs(secret("yaml", `"cmVjZWl2\nZXJzOiB7fQo="`)),
			want:     docs(strings.Replace(canonicalSecret, "cmVjZWl2ZXJzOiB7fQo=", `"cmVjZWl2ZXJzOiB7fQo="`, 1)),
		},
		"a Secret without the annotation is not a configuration": {
			manifest: docs(strings.Replace(secret("yaml", "bm90OiBb"), "kube8.dev/configuration:", "example.com/other:", 1), deployment),
			want:     docs(strings.Replace(secret("yaml", "bm90OiBb"), "kube8.dev/configuration:", "example.com/other:", 1), deployment),
		},
		"an annotated object that is not a Secret is left as it is": {
			manifest: docs(strings.Replace(secret("yaml", "'%'"), "kind: Secret", "kind: ConfigMap", 1)),
			want:     docs(strings.Replace(secret("yaml", "'%'"), "kind: Secret", "kind: ConfigMap", 1)),
		},
		"a raw configuration is not parsed": {
			manifest: docs(secret("raw", encode("not: [yaml"))),
			want: docs(`apiVersion: v1
kind: Secret
metadata:
  name: gateway-config-5661e30529
  annotations:
    kube8.dev/configuration: raw
    kube8.dev/configuration-file: config.yaml
    kube8.dev/config-sha256: 'b740a6e4a8cbc95310f582ab50320e918442f5fff135bb5fcdf20c44d493949c'
data:
  config.yaml: bm90OiBbeWFtbA==
immutable: true
`),
		},
		"base64 that reads as a number stays text": {
			manifest: docs(secret("raw", `"1e55"`)),
			want: docs(`apiVersion: v1
kind: Secret
metadata:
  name: gateway-config-0eacb5c1c2
  annotations:
    kube8.dev/configuration: raw
    kube8.dev/configuration-file: config.yaml
    kube8.dev/config-sha256: '4ebce045246b43a70c4d197a47521061dcd54d61ea904a5c2ac42fa15d902a95'
data:
  config.yaml: "1e55"
immutable: true
`),
		},
		"a pod template with an empty list of volumes is left as it is": {
			manifest: docs("kind: Deployment\nspec: {template: {spec: {volumes: null}}}\n"),
			want:     docs("kind: Deployment\nspec: {template: {spec: {volumes: null}}}\n"),
		},
		"a pod template that mounts another Secret is not stamped": {
			manifest: docs(canonicalSecret, strings.Replace(deployment, "gateway-config", "gateway-tls", 1)),
			want:     docs(canonicalSecret, strings.Replace(deployment, "gateway-config", "gateway-tls", 1)),
		},
		"a Secret of the chart's name that the owner of the Collector refers to keeps its name": {
			manifest: docs(secret("yaml", encode(config)), deployment+ownersReferences),
			want:     docs(canonicalSecret, stampedDeployment+ownersReferences),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, test.manifest)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if again := run(t, got); again != got {
				t.Errorf("not stable: rendered twice it is\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestFinishRefusesASecretWithoutData(t *testing.T) {
	manifest, _, _ := strings.Cut(secret("yaml", ""), "\ndata:")
	_, err := finish(Renderer{}, docs(manifest))
	if err == nil || !strings.Contains(err.Error(), configuration.Field) {
		t.Errorf("got error %v, want one that names %s", err, configuration.Field)
	}
}

func TestFinishDoesNotQuoteABrokenManifest(t *testing.T) {
	_, err := finish(Renderer{}, "kind: Secret\nsecret: [\n")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got error %v, want one without the manifest's content", err)
	}
}

// FuzzFinish feeds configurations: nothing may panic, no error may quote them, and the output is a fixed point that
// decodes to the input.
func FuzzFinish(f *testing.F) {
	for _, seed := range []string{config, "", "a: [", "- x", "a: 1\na: 2", "a: &b [*b]", "? [1]\n: 2", "<<: 1", "!!int a: 1", "\xff\xfe", "a: b\n---\nc: d"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, parse bool) {
		format := "raw"
		if parse {
			format = "yaml"
		}
		// The marker makes any quotation recognisable.
		const marker = "qzjxk"
		text = strings.ReplaceAll(text, "a", marker)
		out, err := finish(Renderer{}, docs(secret(format, `"`+encode(text)+`"`), deployment))
		if err != nil {
			if strings.Contains(err.Error(), marker) {
				t.Fatalf("the error quotes the configuration: %v", err)
			}
			return
		}
		if !strings.Contains(out, encode(text)) {
			t.Fatalf("the configuration did not come out byte for byte:\n%s", out)
		}
		if again := run(t, out); again != out {
			t.Fatalf("not stable (-once +twice):\n%s", cmp.Diff(out, again))
		}
	})
}
