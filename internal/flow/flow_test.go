package flow

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

func (p pods) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*corev1.PodList).Items = p
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
			began := time.Now()
			sample, why := newWatcher(nil, nil).ask(t.Context(), server.URL, readers[v1alpha1.FlowOpenTelemetry])
			if why != row.want || (sample == nil) != (row.want != "") {
				t.Errorf("got %v, %q, want %q", sample, why, row.want)
			}
			if took := time.Since(began); took > patience+2*time.Second {
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
			spec, _ := flowOf(collector)
			got := (&Watcher{HostNetwork: allowed}).addressOf(&pod, spec)
			if got != "" {
				got += spec.Path
			}
			if got != want {
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
		if spec, _ := flowOf(collector); spec.Port != row.want {
			t.Errorf("%v %v: %d, want %d", row.flow, row.ports, spec.Port, row.want)
		}
	}
}

// A backend dies, and is told; a Collector without a flow costs nothing.
func TestAWatcherTellsADeadBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, sent atomic.Int64
		works := atomic.Bool{}
		works.Store(true)
		watched, plain := collectorWith("a", map[string]any{}), collectorWith("b", nil)
		delete(plain.Object["spec"].(map[string]any), "flow")
		w := newWatcher([]unstructured.Unstructured{*watched, *plain}, pods{podOf(watched, "10.0.0.1"), podOf(plain, "10.0.0.2")})
		w.pages.Transport = answering(func() string {
			in := asked.Add(1) * 10
			if works.Load() {
				sent.Store(in)
			}
			return fmt.Sprintf("otelcol_receiver_accepted_spans_total %d\notelcol_exporter_sent_spans_total %d\n", in, sent.Load())
		})
		var mutex sync.Mutex
		var told []string
		w.Requeue = func(of client.Object) {
			mutex.Lock()
			defer mutex.Unlock()
			if condition := w.Condition(of); condition != nil {
				told = append(told, condition.Reason)
				watched.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "DataFlowing", "reason": condition.Reason}}}
			}
		}
		w.Find = func(_ context.Context, key client.ObjectKey) *unstructured.Unstructured {
			mutex.Lock()
			defer mutex.Unlock()
			return map[string]*unstructured.Unstructured{"a": watched.DeepCopy(), "b": plain}[key.Name]
		}
		go func() { _ = w.Start(t.Context()) }()
		<-time.After(10 * time.Minute)
		works.Store(false)
		<-time.After(3 * time.Minute)
		mutex.Lock()
		if got := strings.Join(told, " "); got != "Flowing AllDropped" {
			t.Errorf("told %q", got)
		}
		mutex.Unlock()
		works.Store(true)
		<-time.After(3 * time.Minute)
		mutex.Lock()
		defer mutex.Unlock()
		if got := strings.Join(told, " "); got != "Flowing AllDropped Flowing" {
			t.Errorf("told %q", got)
		}
		if most := int64(16*time.Minute/Period) + 2; asked.Load() > most {
			t.Errorf("%d requests, want at most %d: the Collector without spec.flow is asked, or one too often", asked.Load(), most)
		}
		if w.Condition(plain) != nil {
			t.Error("a Collector without spec.flow has a condition")
		}
	})
}

// answering is a transport without a network.
type answering func() string

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	_, _ = recorder.WriteString(a())
	response := recorder.Result()
	response.Request = r
	return response, nil
}

func TestAllPodsAreAskedInTurnAndThoseInDoubtFirst(t *testing.T) {
	var known memory
	present := make([]types.UID, 0, 7)
	for i := range 7 {
		present = append(present, types.UID("pod "+strconv.Itoa(i)))
	}
	asked, now := map[types.UID]int{}, time.Unix(0, 0)
	for range 7 {
		now = now.Add(Period)
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
}
