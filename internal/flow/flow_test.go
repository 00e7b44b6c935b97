package flow

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// pods are what the informer cache has.
type pods []corev1.Pod

func (p pods) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	at, _ := slices.BinarySearchFunc(p, key, func(pod corev1.Pod, key client.ObjectKey) int {
		return strings.Compare(pod.Namespace+"/"+pod.Name, key.Namespace+"/"+key.Name)
	})
	if at == len(p) || client.ObjectKeyFromObject(&p[at]) != key {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	*into.(*corev1.Pod) = p[at]
	return nil
}

func (p pods) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	of := (&client.ListOptions{}).ApplyOptions(options).Namespace
	isElsewhere := func(pod corev1.Pod) bool { return of != "" && pod.Namespace != of }
	into.(*corev1.PodList).Items = slices.DeleteFunc(slices.Clone([]corev1.Pod(p)), isElsewhere)
	return nil
}

func podOf(collector *unstructured.Unstructured, ip string) corev1.Pod {
	pod := corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = collector.GetNamespace(), collector.GetName(), types.UID("pod of "+collector.GetName())
	pod.Labels = map[string]string{v1alpha1.CollectorLabel: collector.GetName()}
	pod.Status.PodIP = ip
	return pod
}

func collectorWith(name string, flow map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"collector": map[string]any{"name": "opentelemetry-collector"}, "tenant": map[string]any{"reference": "acme"}, "flow": flow,
	}}}
	made.SetNamespace("acme")
	made.SetName(name)
	made.SetUID(types.UID(name))
	return made
}

// newWatcher returns a watcher of Collectors and their pods.
func newWatcher(collectors []unstructured.Unstructured, cached pods) *Watcher {
	slices.SortFunc(cached, func(a, b corev1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	byKey := map[client.ObjectKey]*unstructured.Unstructured{}
	for i := range collectors {
		byKey[client.ObjectKeyFromObject(&collectors[i])] = &collectors[i]
	}
	return (&Watcher{
		Collectors:  func(context.Context) ([]unstructured.Unstructured, error) { return collectors, nil },
		Find:        func(_ context.Context, key client.ObjectKey) *unstructured.Unstructured { return byKey[key] },
		Pods:        cached,
		Requeue:     func(client.Object) {},
		Period:      Period,
		HostNetwork: true,
	}).init()
}

// No answer of a pod does harm.
func TestAnswersThatAreNoPage(t *testing.T) {
	t.Parallel()
	var redirected atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { redirected.Store(true) }))
	defer target.Close()
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "otelcol_process_uptime 1") }, ""},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 9999)) }, "NoMetrics"},
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "otelcol_process_uptime 1", http.StatusNotFound)
		}, "NoMetrics"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, http.StatusFound) }, "NoMetrics"},
		"one that never ends": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprintln(w, "otelcol_receiver_accepted_spans 1")
			}
		}, "NoMetrics"},
		"one that stops in the middle": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "otelcol_receiver_accepted_spans 1")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "NoMetrics"},
		"nothing, for ever":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "Unreachable"},
		"a header of any size": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("x", strings.Repeat("x", 1<<20)) }, "Unreachable"},
		"a closed connection":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "Unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(row.answer)
			defer server.Close()
			began, watcher := time.Now(), newWatcher(nil, nil)
			if watcher.pages.Timeout != answerTimeout {
				t.Errorf("an answer may take %s", watcher.pages.Timeout)
			}
			watcher.pages.Timeout = 10 * time.Second // beside other tests, a server can need longer than a pod may
			sample, why := watcher.ask(t.Context(), server.URL, readers[v1alpha1.FlowOpenTelemetry])
			if why != row.want || (sample == nil) != (row.want != "") {
				t.Errorf("got %v, %q, want %q", sample, why, row.want)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	if redirected.Load() {
		t.Error("a redirect was followed")
	}
}

func TestOnlyPodsOnThePodNetworkAreAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, ip      string
		onHost, going bool
		of            map[string]any
		allowed, want string
	}{
		{"a pod", "10.0.0.7", false, false, nil, "http://10.0.0.7:8888/metrics", "http://10.0.0.7:8888/metrics"},
		{"a pod with IPv6", "fd00::7", false, false, nil, "http://[fd00::7]:8888/metrics", "http://[fd00::7]:8888/metrics"},
		{"a pod of the node's network", "10.0.0.7", true, false, nil, "http://10.0.0.7:8888/metrics", ""},
		{"the operator itself", "127.0.0.1", false, false, nil, "http://127.0.0.1:8888/metrics", ""},
		{"the cloud's metadata", "169.254.169.254", false, false, nil, "http://169.254.169.254:8888/metrics", ""},
		{"one without an address, which is not ready", "", false, false, nil, "", ""},
		{"one that goes", "10.0.0.7", false, true, nil, "", ""},
		{"a name is no address", "example.com", false, false, nil, "", ""},
		{"another port and path", "10.0.0.7", false, false, map[string]any{"port": int64(9), "path": "/m?a=b"}, "http://10.0.0.7:9/m?a=b", "http://10.0.0.7:9/m?a=b"},
		{"the path of a profile", "10.0.0.7", false, false, map[string]any{"profile": "FluentBit"},
			"http://10.0.0.7:8888/api/v2/metrics/prometheus", "http://10.0.0.7:8888/api/v2/metrics/prometheus"},
	} {
		collector := collectorWith("a", row.of)
		pod := podOf(collector, row.ip)
		pod.Spec.HostNetwork = row.onHost
		if row.going {
			pod.DeletionTimestamp = new(collector.GetCreationTimestamp())
		}
		for allowed, want := range map[bool]string{true: row.allowed, false: row.want} {
			source, _ := EndpointOf(collector)
			if got := (&Watcher{HostNetwork: allowed}).addressOf(&pod, source); got != want {
				t.Errorf("%s, allowed %t: %q, want %q", row.name, allowed, got, want)
			}
		}
	}
}

func TestThePortIsThatOfMetrics(t *testing.T) {
	for _, row := range []struct {
		flow, ports map[string]any
		want        int32
	}{
		{nil, nil, 8888},
		{nil, map[string]any{"metrics": map[string]any{"port": int64(9090)}}, 9090},
		{nil, map[string]any{"metrics": map[string]any{"port": int64(80), "targetPort": int64(9091)}}, 9091},
		{map[string]any{"port": int64(1)}, map[string]any{"metrics": map[string]any{"port": int64(9090)}}, 1},
	} {
		collector := collectorWith("a", row.flow)
		collector.Object["spec"].(map[string]any)["ports"] = row.ports
		if source, _ := EndpointOf(collector); source.Port != row.want {
			t.Errorf("%v %v: %d, want %d", row.flow, row.ports, source.Port, row.want)
		}
	}
}

func TestAllPodsAreAskedInTurnAndThoseInDoubtFirst(t *testing.T) {
	var known memory
	present := make([]types.UID, 0, 7)
	for i := range 7 {
		present = append(present, types.UID("pod "+strconv.Itoa(i)))
	}
	asked, now := map[types.UID]int{}, time.Duration(0)
	for range 10 {
		now += Period
		chosen := known.next(present)
		var answers []answer
		for _, uid := range chosen {
			asked[uid]++
			answers = append(answers, answer{uid: uid, sample: &Sample{}})
		}
		_, known = decide("Flowing", known, present, answers, now)
		known.pods[0].verdict, known.pods[0].times = codeOf("Flowing"), 0
	}
	for uid := range asked {
		if asked[uid] < 1 || len(asked) != 7 {
			t.Errorf("asked %v", asked)
		}
	}
	known.pods[3].times = 1
	if got := known.next(present)[0]; got != present[3] {
		t.Errorf("%s is asked first, and %s is in doubt", got, present[3])
	}
	known.pods[3].read, known.pods[5].times = 1, 1
	known.pods[5].read = now + time.Hour
	if got := known.next(present); got[0] != present[3] || got[1] == present[5] {
		t.Errorf("%v are asked: two in doubt keep the others waiting", got)
	}
}
