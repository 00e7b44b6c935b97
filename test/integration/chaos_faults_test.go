package integration

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dice are thrown by requests that arrive at the same time.
type dice struct {
	mutex  sync.Mutex
	random *rand.Rand
}

func (d *dice) percent() int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.random.IntN(100)
}

// someFail lets a third of the requests fail, each in one of the ways in which an API server and the network before it do.
func (p *proxy) someFail(d *dice) fault {
	return func(w http.ResponseWriter, r *http.Request) string {
		switch percent := d.percent(); {
		case percent < 3:
			answerError(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
			return "429"
		case percent < 15:
			answerError(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
			return "500"
		case percent < 25 && isWrite(r):
			answerError(w, http.StatusConflict, metav1.StatusReasonConflict)
			return "409"
		case percent < 30 && isWrite(r):
			// It is done, but the answer says otherwise.
			p.forward.ServeHTTP(httptest.NewRecorder(), r)
			answerError(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
			return "500 although it was done"
		case percent < 35:
			return cut
		}
		return ""
	}
}

func TestChaosTheAPIServerRefusesAShareOfTheRequests(t *testing.T) {
	random := newRandom(t)
	f := newFleet(t, random)
	p := newProxy(t, "--max-concurrent-reconciles=6")
	f.change(t, 6)
	f.awaitSettled(t) // the operator is at work
	p.inject(p.someFail(&dice{random: seeded(random.Uint64())}))
	end, tick := time.After(10*time.Second), time.NewTicker(250*time.Millisecond)
	defer tick.Stop()
	revived := 0
	for over := false; !over; {
		f.change(t, 3)
		select {
		case <-end:
			over = true
		case <-tick.C:
		}
		if revive(t) {
			revived++
		}
	}
	p.inject(nil)
	took, again := f.awaitSettled(t)
	NewWithT(t).Expect(p.total()).To(BeNumerically(">=", 20), "refusals")
	recordFigure(t, "Requests refused with 429, 500 or 409, or cut off, some of them after they had been carried out", p.total())
	recordFigure(t, "Settled after the last refusal within", took)
	recordFigure(t, "Ends of the operator by the refusals", revived+again)
}

func TestChaosTheAPIServerHangs(t *testing.T) {
	random := newRandom(t)
	f := newFleet(t, random)
	p := newProxy(t)
	for _, row := range []struct {
		name        string
		hang        time.Duration
		wantRevived int
	}{
		{"a hang that the operator's Lease outlives", 5 * time.Second, 0},
		{"a hang that it does not", 12 * time.Second, 1},
	} {
		since := plane.audit.mark(t)
		f.change(t, 4)
		awaitWrites(t, since, f.namespace, 1+random.IntN(10))
		over := make(chan struct{})
		p.inject(func(_ http.ResponseWriter, r *http.Request) string {
			select {
			case <-over:
				return "" // and now it is forwarded
			case <-r.Context().Done():
				return "given up by the operator"
			}
		})
		<-time.After(row.hang)
		close(over)
		took, revived := f.awaitSettled(t)
		NewWithT(t).Expect(revived).To(BeNumerically("<=", row.wantRevived), "starts of the operator after %s", row.name)
		recordFigure(t, fmt.Sprintf("Settled after every request had hung for %s within", row.hang), took)
	}
}

func TestChaosSomeRequestsAreNeverAnswered(t *testing.T) {
	namespace := newNamespace(t)
	p := newProxy(t, "--max-concurrent-reconciles=6")
	// One request of each kind that a reconcile waits for; each is that of another Collector.
	swallowed := map[string]func(r *http.Request, body string) bool{
		"finalizer": func(r *http.Request, _ string) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/collectors/finalizer")
		},
		"workload": func(r *http.Request, _ string) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/deployments/workload")
		},
		"release": func(r *http.Request, body string) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/secrets") && strings.Contains(body, "sh.helm.release.v1.release.v1")
		},
		"object": func(r *http.Request, _ string) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/services/object")
		},
		"status": func(r *http.Request, _ string) bool {
			return strings.HasSuffix(r.URL.Path, "/collectors/status/status")
		},
	}
	var mutex sync.Mutex
	done := map[string]bool{}
	p.inject(func(_ http.ResponseWriter, r *http.Request) string {
		if !isWrite(r) || !strings.Contains(r.URL.Path, namespace) {
			return ""
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		for name, matches := range swallowed {
			mutex.Lock()
			first := !done[name] && matches(r, string(text))
			done[name] = done[name] || first
			mutex.Unlock()
			if first {
				<-r.Context().Done()
				return "never answered"
			}
		}
		return ""
	})
	began := time.Now()
	for name := range swallowed {
		if err := plane.client.Create(t.Context(), newCollector(namespace, name)); err != nil {
			t.Fatal(err)
		}
	}
	NewWithT(t).Eventually(func() (unreleasedOnes []string) {
		for name := range swallowed {
			collector := newCollector(namespace, name)
			if stuck := unreleased(t, collector); stuck != "" || condition(t, collector, "Deployed").Status != "True" {
				unreleasedOnes = append(unreleasedOnes, name+": "+stuck)
			}
		}
		return unreleasedOnes
	}, 60*time.Second, 100*time.Millisecond).Should(BeEmpty(), "Collectors that wait for an answer")
	NewWithT(t).Expect(p.total()).To(Equal(len(swallowed)), "requests that were not answered")
	recordFigure(t, "Requests that were never answered", p.total())
	recordFigure(t, "Settled after them within", time.Since(began).Round(100*time.Millisecond))
}
