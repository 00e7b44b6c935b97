package sources

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// specOf returns a Collector with that spec.
func specOf(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	parsed := referrer("gateway", nil)
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	parsed.Object["spec"] = fields
	return parsed
}

func TestWhatPodsReferTo(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"nothing": {"{env: [{name: A, value: a}], envFrom: [{prefix: A}], extraVolumes: [{name: a, emptyDir: {}}]}", nil},
		"each place of a spec": {`
env:
- {name: A, valueFrom: {secretKeyRef: {name: a, key: k}}}
- {name: B, valueFrom: {configMapKeyRef: {name: b, key: k}}}
- {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
envFrom: [{secretRef: {name: c}}, {configMapRef: {name: d}}]
extraVolumes:
- {name: e, secret: {secretName: e}}
- {name: f, configMap: {name: f}}
- {name: g, projected: {sources: [{secret: {name: g}}, {configMap: {name: h}}, {serviceAccountToken: {path: t}}]}}
initContainers:
- {name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: i, key: k}}}, {name: B, valueFrom: {configMapKeyRef: {name: j, key: k}}}]}
- {name: b, envFrom: [{secretRef: {name: k}}, {configMapRef: {name: l}}]}
extraContainers:
- {name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: m, key: k}}}, {name: B, valueFrom: {configMapKeyRef: {name: z, key: k}}}]}
- {name: d, envFrom: [{secretRef: {name: o}}, {configMapRef: {name: p}}]}`,
			[]string{
				"ConfigMap/b env", "ConfigMap/d envFrom", "ConfigMap/f extraVolumes", "ConfigMap/h extraVolumes",
				"ConfigMap/j initContainers", "ConfigMap/l initContainers", "ConfigMap/p extraContainers", "ConfigMap/z extraContainers",
				"Secret/a env", "Secret/c envFrom", "Secret/e extraVolumes", "Secret/g extraVolumes",
				"Secret/i initContainers", "Secret/k initContainers", "Secret/m extraContainers", "Secret/o extraContainers",
			}},
		"a Secret and a ConfigMap of one name": {`envFrom: [{secretRef: {name: a}}, {configMapRef: {name: a}}]`, []string{
			"ConfigMap/a envFrom", "Secret/a envFrom",
		}},
		"no volume that is reloaded, unless a variable refers to it too": {`
env: [{name: A, valueFrom: {secretKeyRef: {name: both, key: k}}}]
reloadedVolumes: [certs, both]
extraVolumes: [{name: certs, secret: {secretName: certs}}, {name: both, secret: {secretName: both}}]`,
			[]string{"Secret/both env"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for what, where := range referred(specOf(t, test.spec)) {
				got = append(got, what+" "+where)
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferencesTellVersionsApart(t *testing.T) {
	backend := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "backend", UID: "uid-of-backend"}, Data: map[string][]byte{"a": []byte("hunter2")},
	}
	source := &ReferenceReader{Cache: reader(backend), DataDigest: digest}
	refers := specOf(t, "envFrom: [{secretRef: {name: backend}}, {configMapRef: {name: unlabelled}}]")
	first, unfollowed := source.References(refers, "")
	// By `printf 'map[a:[104 117 110 116 101 114 50]]' | openssl dgst -sha256 -hmac uid-of-backend`.
	if first != "Secret/backend=cd5626e4f6079943" {
		t.Errorf("references %q", first)
	}
	if diff := cmp.Diff([]string{`ConfigMap "unlabelled" in envFrom`}, unfollowed); diff != "" {
		t.Errorf("unfollowed (-want +got):\n%s", diff)
	}
	if _, version := source.Versions(refers); version != first {
		t.Errorf("version %q", version)
	}
	again := func(change func(*corev1.Secret)) string {
		t.Helper()
		changed := backend.DeepCopy()
		change(changed)
		source.Cache = reader(changed)
		references, _ := source.References(refers, first)
		return references
	}
	for name, test := range map[string]struct {
		change func(*corev1.Secret)
		same   bool
	}{
		"metadata":       {func(s *corev1.Secret) { s.Annotations = map[string]string{"a": "b"} }, true},
		"data":           {func(s *corev1.Secret) { s.Data["a"] = []byte("hunter3") }, false},
		"another object": {func(s *corev1.Secret) { s.UID = types.UID("uid-of-another") }, false},
	} {
		if got := again(test.change) == first; got != test.same {
			t.Errorf("%s: the same is %t", name, got)
		}
	}
	source.Cache = reader()
	if kept, unfollowed := source.References(refers, first+" Secret/of-before=0123"); kept != first || len(unfollowed) != 2 {
		t.Errorf("for one that has gone: %q, unfollowed %q", kept, unfollowed)
	}
	if _, version := source.Versions(refers); version != "" {
		t.Errorf("for one that has gone: version %q", version)
	}
}
