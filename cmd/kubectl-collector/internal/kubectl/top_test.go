package kubectl

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// flowing returns a Collector with spec.flow, and so many pods that are ready.
func flowing(t *testing.T, namespace, name, tenant string, pods int) (objects []client.Object) {
	t.Helper()
	collector := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"collector": map[string]any{"name": "opentelemetry-collector"}, "tenant": map[string]any{"reference": tenant}, "cluster": "prod",
		"flow": map[string]any{},
	}}}
	collector.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	collector.SetNamespace(namespace)
	collector.SetName(name)
	objects = append(objects, collector)
	for i := range pods {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name, pod.Labels = namespace, fmt.Sprintf("%s-%d", name, i), map[string]string{v1alpha1.CollectorLabel: name}
		pod.Spec.Containers = []corev1.Container{{Name: "collector"}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		objects = append(objects, pod)
	}
	return objects
}

func TestTopShowsWhatGoesThroughCollectors(t *testing.T) {
	began := time.Now()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a token is sent elsewhere") }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepted := int(1000 * time.Since(began).Seconds()) // whenever the second read comes, the rate is the same
		switch {
		case strings.Contains(r.URL.Path, "/namespaces/secret/"):
			http.Error(w, `{"kind":"Status","reason":"Forbidden","code":403}`, http.StatusForbidden)
		case strings.Contains(r.URL.Path, "/namespaces/hostile/pods/moved-"):
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case strings.Contains(r.URL.Path, "/namespaces/hostile/pods/forbidding-"):
			http.Error(w, "\x1b[31mpay here", http.StatusForbidden)
		case strings.Contains(r.URL.Path, "/namespaces/hostile/pods/endless-"):
			w.WriteHeader(http.StatusInternalServerError)
			for range 100 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		case strings.Contains(r.URL.Path, "/pods/silent-"), strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/gamma/pods/many-0:"):
			http.Error(w, "", http.StatusServiceUnavailable)
		case r.URL.Path == "/api/v1/namespaces/acme/pods/gateway-0:8888/proxy/metrics", strings.Contains(r.URL.Path, "/many-"):
			fmt.Fprintf(w, "otelcol_receiver_accepted_spans %d\notelcol_exporter_sent_spans %d\notelcol_exporter_queue_size 7\n", accepted, accepted/2)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	pages, err := pagesOf(&rest.Config{Host: server.URL, QPS: -1, BearerToken: "token"})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, some := range [][]client.Object{
		flowing(t, "acme", "gateway", "acme", 1), flowing(t, "acme", "silent", "acme", 1), flowing(t, "beta", "many", "beta", 5),
		flowing(t, "secret", "gateway", "secret", 1), flowing(t, "hostile", "moved", "a", 1), flowing(t, "hostile", "forbidding", "a", 1),
		flowing(t, "hostile", "endless", "a", 1), flowing(t, "hostile", "many", "a", 1),
	} {
		objects = append(objects, some...)
	}
	partly := flowing(t, "gamma", "many", "gamma", 4)
	broken := partly[1].(*corev1.Pod)
	broken.Spec.Containers = append(broken.Spec.Containers, corev1.Container{Name: "sidecar"})
	broken.Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "collector"}, {Name: "sidecar", Ready: true}}}
	objects = append(objects, partly...)
	plain := flowing(t, "acme", "plain", "acme", 1)
	unstructured.RemoveNestedField(plain[0].(*unstructured.Unstructured).Object, "spec", "flow")
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, plain...)...).Build()

	for _, row := range []struct {
		name, namespace string
		asked           top
		want            []string
		wantErr         string
	}{
		{"of a namespace", "acme", top{by: "collector"}, []string{"acme gateway 1/1 1000 500 0 0 7", "acme silent 0/1 - - - - -"}, ""},
		{"at most 3 pods of each", "beta", top{by: "collector"}, []string{"beta many 3/5 3000 1500 0 0 21"}, ""},
		{"of pods that serve, and not of one whose sidecar alone is ready", "gamma", top{by: "collector"},
			[]string{"gamma many 3/3 3000 1500 0 0 21"}, ""},
		{"by tenant", "acme", top{by: "tenant"}, []string{"- acme 1/2 1000 500 0 0 7"}, ""},
		{"where the account may not", "secret", top{by: "collector"}, nil, `ask for "get" of pods/proxy`},
		{"of pods that nobody can trust", "hostile", top{by: "collector"}, []string{
			"hostile endless 0/1 - - - - -", "hostile forbidding 0/1 - - - - -", "hostile many 1/1 1000 500 0 0 7", "hostile moved 0/1 - - - - -",
		}, ""},
		{"by something else", "acme", top{by: "moon"}, nil, `"moon" is none of`},
		{"where there are none", "other", top{by: "collector"}, []string{"No Collectors with spec.flow found."}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			p := &plugin{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
			row.asked.interval = 5 * time.Second // a busy machine delays an answer, and the rate is of the interval
			err := p.top(t.Context(), &session{client: c, pages: pages, namespace: row.namespace}, row.asked)
			if row.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), row.wantErr) {
					t.Errorf("got %v, want %s", err, row.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for at, line := range row.want {
				lines := strings.Split(strings.TrimSpace(out.String()), "\n")
				got := strings.Join(strings.Fields(lines[len(lines)-len(row.want)+at]), " ")
				if !isAbout(got, line) {
					t.Errorf("got %q, want about %q, in\n%s", got, line, out.String())
				}
			}
		})
	}
}

// isAbout compares lines whose numbers can differ by a few percent.
func isAbout(got, want string) bool {
	a, b := strings.Fields(got), strings.Fields(want)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		var x, y float64
		_, errX := fmt.Sscan(a[i], &x)
		_, errY := fmt.Sscan(b[i], &y)
		if isNumber := errX == nil && errY == nil && !strings.Contains(a[i], "/"); isNumber && (x < 0.7*y || x > 1.3*y) || !isNumber && a[i] != b[i] {
			return false
		}
	}
	return true
}
