package sources

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/postrender"
)

const content = "receivers: {}\n"

// By `printf 'receivers: {}\n' | sha256sum`.
var found = postrender.Referenced{
	Secret: "team-config", Hash: "a2562a2b6beb468ee77c97127ec9e6f3c27a8950b2200884a158170dbaf25c01", Content: []byte(content),
}

// collector returns a Collector with that part of its spec.
func referrer(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector",
		"metadata": map[string]any{"namespace": "acme", "name": name},
		"spec":     map[string]any{"collector": spec},
	}}
}

// referringTo returns the part of a spec that refers to a Secret.
func referringTo(name, format string) map[string]any {
	return map[string]any{"format": format, "configurationSecret": map[string]any{"name": name, "key": "collector.yaml", "copy": true}}
}

func referredSecret(labels map[string]string, key, content string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "team-config", Labels: labels},
		Data:       map[string][]byte{key: []byte(content)},
	}
}

func reader(secrets ...client.Object) client.Reader {
	return fake.NewClientBuilder().WithObjects(secrets...).Build()
}

func digest(object client.Object) string {
	secret, _ := object.(*corev1.Secret)
	return fmt.Sprint(secret.Data)
}

func TestConfiguration(t *testing.T) {
	labelled := map[string]string{"kube8.dev/collector": ""}
	referring := referringTo("team-config", "yaml")
	tests := map[string]struct {
		spec        map[string]any
		live        client.Reader // nothing by default, and nothing to be read
		want        postrender.Referenced
		wantError   string
		wantMissing bool
	}{
		"a configuration in the spec needs no Secret": {
			spec: map[string]any{"configuration": "cmVjZWl2ZXJzOiB7fQo="},
		},
		"a Secret with the label": {
			spec: referring,
			live: reader(referredSecret(labelled, "collector.yaml", content)),
			want: found,
		},
		"a Secret that does not exist": {
			spec:        referring,
			live:        reader(),
			wantError:   `spec.collector.configurationSecret: namespace acme has no Secret "team-config"; create it, with the label kube8.dev/collector`,
			wantMissing: true,
		},
		"a Secret without the label": {
			spec: referring,
			live: reader(referredSecret(nil, "collector.yaml", content)),
			wantError: `spec.collector.configurationSecret: Secret "team-config" lacks the label kube8.dev/collector, by which the operator ` +
				"follows its changes; run `kubectl label secret team-config -n acme kube8.dev/collector=gateway`",
			wantMissing: true,
		},
		"a Secret without the key": {
			spec:        referring,
			live:        reader(referredSecret(labelled, "config.yaml", content)),
			wantError:   `spec.collector.configurationSecret.key: Secret "team-config" has no key "collector.yaml"; add it, or name another`,
			wantMissing: true,
		},
		"content that is not YAML": {
			spec: referring,
			live: reader(referredSecret(labelled, "collector.yaml", "a: [hunter2")),
			wantError: `spec.collector.configurationSecret: key "collector.yaml" of Secret "team-config": ` +
				`line 1 has a [ or { that is not closed, or a value in it that needs quotes; close it, or put quotes around the value, ` +
				`or set format to raw if the file is not YAML`,
		},
		"content that is not YAML, where none is asked for": {
			spec: referringTo("team-config", "raw"),
			live: reader(referredSecret(labelled, "collector.yaml", "a: [hunter2")),
			want: postrender.Referenced{
				Secret: "team-config", Hash: "41bd65bde0522767eb6a32d3d7201dd9696d8cb576bdedaad9bba306cd1cb4a9", Content: []byte("a: [hunter2"),
			},
		},
		"a key without content": {
			spec: referring,
			live: reader(referredSecret(labelled, "collector.yaml", "")),
			wantError: `spec.collector.configurationSecret: key "collector.yaml" of Secret "team-config" is empty; ` +
				`set it to the content of the file, or name another`,
		},
		"a key without content, where no YAML is asked for": {
			spec: referringTo("team-config", "raw"),
			live: reader(referredSecret(labelled, "collector.yaml", "")),
			wantError: `spec.collector.configurationSecret: key "collector.yaml" of Secret "team-config" is empty; ` +
				`set it to the content of the file, or name another`,
		},
		"content over the limit": {
			spec: referringTo("team-config", "raw"),
			live: reader(referredSecret(labelled, "collector.yaml", strings.Repeat("x", 256<<10+1))),
			wantError: `spec.collector.configurationSecret: key "collector.yaml" of Secret "team-config": ` +
				`more than 262144 bytes when decoded; shorten it`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			source := &ReferenceReader{Live: test.live, Cache: test.live, DataDigest: digest}
			got, err := source.Configuration(t.Context(), referrer("gateway", test.spec))
			isVersioned := got.Secret != "" || test.wantError != "" && !test.wantMissing
			if cached, _ := source.Versions(referrer("gateway", test.spec)); isVersioned && got.Version != cached {
				t.Errorf("version %q, and %q of the same in the informer cache", got.Version, cached)
			}
			got.Version = ""
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
			if test.wantError == "" {
				if err != nil {
					t.Errorf("unexpected error: %v", err)
				}
				return
			}
			refused, ok := errors.AsType[*configuration.Error](err)
			if !ok || refused.Error() != test.wantError || refused.Missing != test.wantMissing {
				t.Errorf("got  %#v\nwant %s, missing: %t", err, test.wantError, test.wantMissing)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	referring := referrer("gateway", referringTo("team-config", "yaml"))
	referenced := referredSecret(map[string]string{"kube8.dev/collector": ""}, "collector.yaml", content)
	cache := fake.NewClientBuilder().Build()
	source := &ReferenceReader{Cache: cache, DataDigest: digest}
	if got, _ := source.Versions(referrer("gateway", map[string]any{"configuration": "YToge30="})); got != "" {
		t.Errorf("a configuration in the spec has version %q", got)
	}
	versions := map[string]string{}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"before it is created", func() error { return nil }},
		{"once it is created", func() error { return cache.Create(t.Context(), referenced) }},
		{"once it is changed", func() error {
			referenced.Data["collector.yaml"] = []byte("exporters: {}")
			return cache.Update(t.Context(), referenced)
		}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		version, _ := source.Versions(referring)
		if before, seen := versions[version]; seen || version == "" {
			t.Errorf("version %q of the Secret %s is that %s", version, step.name, before)
		}
		if again, _ := source.Versions(referring); again != version {
			t.Errorf("the Secret %s has versions %q and %q", step.name, version, again)
		}
		versions[version] = step.name
	}
}

func TestReferring(t *testing.T) {
	elsewhere := referrer("elsewhere", referringTo("team-config", "yaml"))
	elsewhere.SetNamespace("globex")
	objects := []*unstructured.Unstructured{
		referrer("one", referringTo("team-config", "yaml")),
		referrer("two", referringTo("team-config", "raw")),
		referrer("other", referringTo("other-config", "yaml")),
		referrer("inline", map[string]any{"configuration": "YToge30="}),
		elsewhere,
	}
	builder := fake.NewClientBuilder().WithIndex(objects[0], index, referencedBy)
	for _, object := range objects {
		builder = builder.WithObjects(object)
	}

	var got []string
	for _, request := range referring(t.Context(), builder.Build(), objects[0].GroupVersionKind(), referredSecret(nil, "a", "b")) {
		got = append(got, request.String())
	}
	if diff := cmp.Diff([]string{"acme/one", "acme/two"}, got); diff != "" {
		t.Errorf("Collectors to look at (-want +got):\n%s", diff)
	}
}

func TestContentChanged(t *testing.T) {
	before := referredSecret(map[string]string{"kube8.dev/collector": "a"}, "collector.yaml", content)
	tests := map[string]struct {
		change func(*corev1.Secret)
		want   bool
	}{
		"the same again":                   {change: func(*corev1.Secret) {}},
		"other labels and annotations":     {change: func(s *corev1.Secret) { s.ObjectMeta = metav1.ObjectMeta{ResourceVersion: "2"} }},
		"another content":                  {change: func(s *corev1.Secret) { s.Data["collector.yaml"] = []byte("a: {}") }, want: true},
		"a key more":                       {change: func(s *corev1.Secret) { s.Data["more.yaml"] = nil }, want: true},
		"the same content by another name": {change: func(s *corev1.Secret) { s.Data = map[string][]byte{"a": []byte(content)} }, want: true},
		"nothing left in it":               {change: func(s *corev1.Secret) { s.Data = nil }, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after := before.DeepCopy()
			test.change(after)
			if got := contentChanged(digest).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
	if !contentChanged(digest).Create(event.CreateEvent{Object: before}) ||
		!contentChanged(digest).Delete(event.DeleteEvent{Object: before}) {
		t.Error("a Secret that appears or goes is passed over")
	}
}
