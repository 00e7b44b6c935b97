package flow

import (
	"context"
	"fmt"
	"math/rand/v2"
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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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

// The cache has Collectors in any order.
func TestNoCollectorIsAskedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var collectors []unstructured.Unstructured
		var cached pods
		for i := range 10 {
			collector := collectorWith("collector-"+strconv.Itoa(i), map[string]any{})
			collectors = append(collectors, *collector)
			for j := range 5 {
				pod := podOf(collector, fmt.Sprintf("10.0.%d.%d", i, j+1))
				pod.Name, pod.UID = pod.Name+"-"+strconv.Itoa(j), pod.UID+types.UID(strconv.Itoa(j))
				cached = append(cached, pod)
			}
		}
		w := newWatcher(collectors, cached)
		w.Collectors = func(context.Context) ([]unstructured.Unstructured, error) {
			shuffled := slices.Clone(collectors)
			rand.Shuffle(len(shuffled), func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
			return shuffled, nil
		}
		var mutex sync.Mutex
		asked := map[string][]time.Time{}
		w.pages.Transport = roundTrip(func(r *http.Request) {
			mutex.Lock()
			defer mutex.Unlock()
			of := r.URL.Host[:strings.LastIndex(r.URL.Host, ".")]
			asked[of] = append(asked[of], time.Now())
		})
		go func() { _ = w.Start(t.Context()) }()
		<-time.After(20 * time.Minute)
		mutex.Lock()
		defer mutex.Unlock()
		for of, times := range asked {
			for i := 3; i < len(times); i++ {
				if within := times[i].Sub(times[i-3]); within < Period {
					t.Fatalf("%s: 4 pods within %s", of, within)
				}
			}
		}
		if len(asked) != 10 {
			t.Errorf("%d Collectors are asked", len(asked))
		}
	})
}

// roundTrip is a transport that notes requests.
type roundTrip func(*http.Request)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return answering(func() string { return "otelcol_process_uptime 1\n" }).RoundTrip(r)
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

func TestANamespaceThatNeverAnswersDelaysOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := collectorWith("good", map[string]any{})
		good.SetNamespace("beta")
		collectors, cached := []unstructured.Unstructured{*good}, pods{podOf(good, "10.1.0.1")}
		for i := range 400 { // 2 seconds each, 8 at a time, take longer than a period
			hostile := collectorWith("hostile-"+strconv.Itoa(i), map[string]any{})
			collectors, cached = append(collectors, *hostile), append(cached, podOf(hostile, fmt.Sprintf("10.0.%d.%d", i/200, 1+i%200)))
		}
		w := newWatcher(collectors, cached)
		var asked, waiting, most atomic.Int64
		w.pages.Transport = roundTrip(func(r *http.Request) {
			if strings.HasPrefix(r.URL.Host, "10.1.") {
				asked.Add(1)
				return
			}
			most.Store(max(most.Load(), waiting.Add(1)))
			<-r.Context().Done()
			waiting.Add(-1)
		})
		go func() { _ = w.Start(t.Context()) }()
		<-time.After(10*time.Minute + time.Second)
		if got := asked.Load(); got != 13 {
			t.Errorf("the other Collector is asked %d times in 10 minutes, want 13", got)
		}
		if got := most.Load(); got != ofOne {
			t.Errorf("%d pods of one namespace are asked at once, want %d", got, ofOne)
		}
	})
}

// Each of 200 namespaces has 8 pods that never answer.
func TestNamespacesThatNeverAnswerDelayOnlyThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var collectors []unstructured.Unstructured
		var cached pods
		add := func(namespace, ip string) {
			made := collectorWith("collector-"+ip, map[string]any{})
			made.SetNamespace(namespace)
			collectors, cached = append(collectors, *made), append(cached, podOf(made, ip))
		}
		for i := range 200 {
			for j := range 8 {
				add("silent-"+strconv.Itoa(i), fmt.Sprintf("10.0.%d.%d", i, j+1))
			}
		}
		for i := range 4 {
			add("good", fmt.Sprintf("10.1.0.%d", i+1))
		}
		w := newWatcher(collectors, cached)
		var mutex sync.Mutex
		asked := map[string][]time.Time{}
		w.pages.Transport = roundTrip(func(r *http.Request) {
			if strings.HasPrefix(r.URL.Host, "10.0.") {
				<-r.Context().Done()
				return
			}
			mutex.Lock()
			defer mutex.Unlock()
			asked[r.URL.Host] = append(asked[r.URL.Host], time.Now())
		})
		began := time.Now()
		go func() { _ = w.Start(t.Context()) }()
		<-time.After(15 * time.Minute)
		mutex.Lock()
		defer mutex.Unlock()
		for host, times := range asked {
			for i, at := range times[1:] {
				// Until each pod has twice not answered, it is unknown which ones do not.
				if gap := at.Sub(times[i]); gap > Period+answerTimeout && at.Sub(began) > 6*Period {
					t.Errorf("%s is asked %s after the last time, after %s", host, gap, at.Sub(began))
				}
			}
			if len(times) < 15 {
				t.Errorf("%s is asked %d times in 15 minutes", host, len(times))
			}
		}
		if len(asked) != 4 {
			t.Errorf("%d pods are asked", len(asked))
		}
	})
}
