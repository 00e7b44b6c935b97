package configsource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestReferring(t *testing.T) {
	elsewhere := collector("elsewhere", referringTo("team-config", "yaml"))
	elsewhere.SetNamespace("globex")
	another := collector("of-another-operator", referringTo("team-config", "yaml"))
	another.SetLabels(map[string]string{"operator": "another"})
	objects := []*unstructured.Unstructured{
		collector("one", referringTo("team-config", "yaml")),
		collector("two", referringTo("team-config", "raw")),
		collector("other", referringTo("other-config", "yaml")),
		collector("inline", map[string]any{"configuration": "YToge30="}),
		elsewhere, another,
	}
	builder := fake.NewClientBuilder().WithIndex(objects[0], nameField, referencedName)
	for _, object := range objects {
		builder = builder.WithObjects(object)
	}
	selector, err := labels.Parse("operator!=another")
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, request := range referring(t.Context(), builder.Build(), objects[0].GroupVersionKind(), selector, secret(nil, "a", "b")) {
		got = append(got, request.String())
	}
	if diff := cmp.Diff([]string{"acme/one", "acme/two"}, got); diff != "" {
		t.Errorf("Collectors to look at (-want +got):\n%s", diff)
	}
}

func TestContentChanged(t *testing.T) {
	before := secret(map[string]string{"kube8.dev/collector": "a"}, "collector.yaml", content)
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
			if got := contentChanged(digest).Update(event.TypedUpdateEvent[*corev1.Secret]{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
	if !contentChanged(digest).Create(event.TypedCreateEvent[*corev1.Secret]{Object: before}) ||
		!contentChanged(digest).Delete(event.TypedDeleteEvent[*corev1.Secret]{Object: before}) {
		t.Error("a Secret that appears or goes is passed over")
	}
}
