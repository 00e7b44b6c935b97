package sources

import (
	"context"
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func meta(name, position string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "system", Name: name, Labels: map[string]string{v1alpha1.BaseLabel: position}}
}

func configMap(name, position, key, content string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: meta(name, position), Data: map[string]string{key: content}}
}

func secret(name, position, key, content string) client.Object {
	return &corev1.Secret{ObjectMeta: meta(name, position), Data: map[string][]byte{key: []byte(content)}}
}

func namespace(bases string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme", Labels: map[string]string{v1alpha1.BasesLabel: bases, "team": "a"}}}
}

// collector returns a Collector that names bases, each with the position that it has then, if any.
func collector(named ...string) *unstructured.Unstructured {
	var bases []any
	for _, text := range named {
		name, position, _ := strings.Cut(text, " ")
		item := map[string]any{"name": name}
		if position != "" {
			item["position"] = position
		}
		bases = append(bases, item)
	}
	found := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"collector": map[string]any{"bases": bases}}}}
	found.SetNamespace("acme")
	return found
}

// sourceOf returns one whose informer cache has objects.
func sourceOf(t *testing.T, objects ...client.Object) *BaseReader {
	t.Helper()
	builder := fake.NewClientBuilder()
	for _, object := range objects {
		stripped, err := StripBase(object)
		kept, isObject := stripped.(client.Object)
		if err != nil || !isObject {
			t.Fatalf("stripped to %T, %v", stripped, err)
		}
		builder = builder.WithObjects(kept)
	}
	return &BaseReader{Cache: builder.Build(), Namespace: "system", Namespaces: true}
}

func TestTheBasesOfACollector(t *testing.T) {
	yaml := func(name, position string) client.Object {
		return configMap(name, position, "part.yaml", name+": {}\n")
	}
	for name, row := range map[string]struct {
		objects []client.Object
		named   []string
		want    []string // position and file of each, in order
		wantErr string
	}{
		"none": {},
		"a ConfigMap, where its label says": {
			objects: []client.Object{yaml("limits", "first")}, named: []string{"limits"}, want: []string{"first base-limits.yaml"},
		},
		"a Secret with a configuration in another language": {
			objects: []client.Object{secret("inputs", "last", "telegraf.conf", "[[inputs.cpu]]")}, named: []string{"inputs"},
			want: []string{"last base-inputs.conf"},
		},
		"where the Collector says, not its label": {
			objects: []client.Object{yaml("limits", "first")}, named: []string{"limits last"}, want: []string{"last base-limits.yaml"},
		},
		"those of the namespace are outside of the Collector's": {
			objects: []client.Object{namespace("a_z"), yaml("a", "first"), yaml("z", "last"), yaml("b", "first"), yaml("y", "last")},
			named:   []string{"y", "b"}, want: []string{"first base-a.yaml", "first base-b.yaml", "last base-y.yaml", "last base-z.yaml"},
		},
		"of a position, in the order in which they are named": {
			objects: []client.Object{yaml("a", "first"), yaml("b", "first"), yaml("c", "first")}, named: []string{"c", "a", "b"},
			want: []string{"first base-c.yaml", "first base-a.yaml", "first base-b.yaml"},
		},
		"one that both name is the namespace's": {
			objects: []client.Object{namespace("a"), yaml("a", "last")}, named: []string{"a first"}, want: []string{"last base-a.yaml"},
		},
		"a name that is there twice": {
			objects: []client.Object{namespace("a_a"), yaml("a", "first")}, want: []string{"first base-a.yaml"},
		},
		"two of one file": {
			objects: []client.Object{namespace("a_a.b"), configMap("a", "first", "x.b", "x"), configMap("a.b", "first", "x", "x")},
			wantErr: `label kube8.dev/bases of namespace acme: bases "a" and "a.b" both have the file base-a.b; rename one`,
		},
		"a list, as vmagent includes": {
			objects: []client.Object{namespace("a"), configMap("a", "first", "a.yml", "- job_name: a\n")}, want: []string{"first base-a.yml"},
		},
		"a label without a name": {objects: []client.Object{namespace("_")}},
		"missing": {
			named: []string{"limits"},
			wantErr: `spec.collector.bases: namespace system has no base "limits"; create a ConfigMap of that name with the label kube8.dev/base=first, ` +
				`or name another base`,
		},
		"missing for the namespace": {
			objects: []client.Object{namespace("limits")},
			wantErr: `label kube8.dev/bases of namespace acme: namespace system has no base "limits"; create a ConfigMap of that name with the label ` +
				`kube8.dev/base=first, or name another base`,
		},
		"more than pods can mount": {
			objects: []client.Object{
				configMap("a", "first", "a.conf", strings.Repeat("a", 200<<10)), configMap("b", "first", "b.conf", strings.Repeat("b", 57<<10)),
			},
			named: []string{"a", "b"}, wantErr: `spec.collector.bases: the bases have more than 262144 bytes together; shorten them, or remove one`,
		},
		"with a key of a long extension": {
			objects: []client.Object{configMap("a", "first", "a."+strings.Repeat("x", 250), "x")}, named: []string{"a"},
			wantErr: `spec.collector.bases: base "a" in namespace system: the extension of its key is too long; shorten it`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := sourceOf(t, row.objects...).Of(t.Context(), collector(row.named...))
			if told := ""; err != nil || row.wantErr != "" {
				if err != nil {
					told = err.Error()
				}
				if told != row.wantErr {
					t.Errorf("got error  %s\nwant error %s", told, row.wantErr)
				}
			}
			var got []string
			for _, base := range found {
				got = append(got, string(base.Position)+" "+base.File)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("bases (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOperatorThatMayNotReadNamespacesGoesByCollectors(t *testing.T) {
	s := sourceOf(t, namespace("a"), configMap("a", "first", "a.yaml", "a: {}"), configMap("b", "first", "b.yaml", "b: {}"))
	s.Namespaces = false
	found, err := s.Of(t.Context(), collector("b"))
	if err != nil || len(found) != 1 || found[0].Name != "b" {
		t.Errorf("bases %v, %v", found, err)
	}
}

func TestWhatTheChartAndTheStatusGetOfABase(t *testing.T) {
	found, err := sourceOf(t, configMap("a", "first", "a.yaml", "a: {}\n")).Of(t.Context(), collector("a"))
	if err != nil {
		t.Fatal(err)
	}
	const version = "580a1f40a2c065f1c0b3" // by `printf 'a: {}\n' | sha256sum`
	values := map[string]any{"bases": found.Values()}
	want := []any{map[string]any{
		"name": "a", "version": version, "position": "first", "file": "base-a.yaml", "content": base64.StdEncoding.EncodeToString([]byte("a: {}\n")),
	}}
	if diff := cmp.Diff(want, values["bases"]); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if got := DescribedBases(values); got != "a@"+version {
		t.Errorf("told %q", got)
	}
	if got := DescribedBases(nil); got != "" {
		t.Errorf("told %q of none", got)
	}
}

func TestAChangeIsToldToThoseThatItConcerns(t *testing.T) {
	stripped := func(object client.Object) client.Object {
		kept, _ := StripBase(object)
		found, _ := kept.(client.Object)
		return found
	}
	a, b := collector("a"), collector("b")
	for name, row := range map[string]struct {
		before, after  client.Object
		wantA, wantB   bool
		wantsNotToTell bool
	}{
		"another content":       {before: configMap("a", "first", "a.yaml", "a: {}"), after: configMap("a", "first", "a.yaml", "a: {b: c}"), wantA: true},
		"another position":      {before: configMap("a", "first", "a.yaml", "a: {}"), after: configMap("a", "last", "a.yaml", "a: {}"), wantA: true},
		"another extension":     {before: configMap("b", "first", "a.yaml", "a: {}"), after: configMap("b", "first", "a.yml", "a: {}"), wantB: true},
		"another reason":        {before: configMap("a", "first", "a.yaml", "a: ["), after: configMap("a", "first", "a.yaml", ""), wantA: true},
		"nothing that is kept":  {before: configMap("a", "first", "a.yaml", "a: {}"), after: configMap("a", "first", "a.yaml", "a: {}"), wantsNotToTell: true},
		"bases for a namespace": {before: namespace("a"), after: namespace("b"), wantA: true, wantB: true},
	} {
		t.Run(name, func(t *testing.T) {
			told := false
			changed := func(_ context.Context, concerns func(*unstructured.Unstructured) bool) {
				told = true
				if concerns(a) != row.wantA || concerns(b) != row.wantB {
					t.Errorf("concerns a: %t, b: %t", concerns(a), concerns(b))
				}
			}
			s := sourceOf(t)
			s.handler(changed).Update(t.Context(), event.UpdateEvent{ObjectOld: stripped(row.before), ObjectNew: stripped(row.after)}, nil)
			if told == row.wantsNotToTell {
				t.Errorf("told %t", told)
			}
		})
	}
	t.Run("and not what is there when the operator starts", func(t *testing.T) {
		s, told := sourceOf(t), 0
		handler := s.handler(func(context.Context, func(*unstructured.Unstructured) bool) { told++ })
		handler.Create(t.Context(), event.CreateEvent{Object: configMap("a", "first", "a.yaml", "a: {}"), IsInInitialList: true}, nil)
		handler.Create(t.Context(), event.CreateEvent{Object: configMap("b", "first", "a.yaml", "a: {}")}, nil)
		handler.Delete(t.Context(), event.DeleteEvent{Object: configMap("b", "first", "a.yaml", "a: {}")}, nil)
		if told != 2 {
			t.Errorf("told %d times", told)
		}
	})
}

func TestTheInformerCacheKeepsNothingOfABaseThatIsRefused(t *testing.T) {
	for name, object := range map[string]client.Object{
		"no YAML":      secret("a", "first", "a.yaml", "a: [hunter2"),
		"a YAML bomb":  secret("a", "first", "a.yml", "a: &a [x, x]\nb: &b [*a, *a]\nhunter2: "+strings.Repeat("[", 2000)),
		"too large":    secret("a", "first", "a.conf", "hunter2"+strings.Repeat("x", 256<<10)),
		"two keys":     &corev1.Secret{ObjectMeta: meta("a", "first"), Data: map[string][]byte{"a": []byte("hunter2"), "b": []byte("hunter2")}},
		"no position":  secret("a", "middle", "a.yaml", "hunter2: {}"),
		"no namespace": &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme", Annotations: map[string]string{"a": "hunter2"}}},
	} {
		stripped, err := StripBase(object)
		kept, _ := stripped.(client.Object)
		if err != nil || len(DataOf(kept)) > 0 || strings.Contains(cmp.Diff(nil, stripped), "hunter2") {
			t.Errorf("%s: kept %v, %v", name, stripped, err)
		}
		if again, _ := StripBase(kept); again != stripped {
			t.Errorf("%s: stripped again to %v", name, again)
		}
	}
}

func TestAnOperatorWithoutARightNamesIt(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
	for name, row := range map[string]struct {
		refused client.ObjectList
		err     error
		isFor   bool // all namespaces
		want    string
	}{
		"with all rights": {isFor: true},
		"without ConfigMaps": {
			refused: &corev1.ConfigMapList{}, err: forbidden, want: "list bases in namespace system: things is forbidden: <nil>; apply the roles",
		},
		"without Secrets":         {refused: &corev1.SecretList{}, err: forbidden, want: "or name another namespace by --bases-namespace"},
		"without namespaces":      {refused: &corev1.NamespaceList{}, err: forbidden, isFor: true, want: "list the namespaces that name bases"},
		"that needs no namespace": {refused: &corev1.NamespaceList{}, err: forbidden},
		"that has no answer yet":  {refused: &corev1.ConfigMapList{}, err: apierrors.NewServiceUnavailable("starting")},
	} {
		t.Run(name, func(t *testing.T) {
			refuse := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if reflect.TypeOf(list) == reflect.TypeOf(row.refused) {
					return row.err
				}
				return c.List(ctx, list, o...)
			}}
			source := &BaseReader{Namespace: "system", Namespaces: row.isFor}
			err := source.MayRead(t.Context(), fake.NewClientBuilder().WithInterceptorFuncs(refuse).Build())
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
