package rollout

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// running are Waves with a budget of one and a deadline of a minute, for a fleet that a test changes.
type running struct {
	*Waves
	fleet    []unstructured.Unstructured
	looks    int
	admitted []string
	counts   Counts
	events   *record.FakeRecorder
}

func run(collectors ...*unstructured.Unstructured) *running {
	r := &running{events: record.NewFakeRecorder(9)}
	for _, collector := range collectors {
		r.fleet = append(r.fleet, *collector.DeepCopy())
	}
	r.Waves = &Waves{
		Budget: intstr.FromInt32(1), Deadline: time.Minute, Events: r.events, Now: time.Now,
		Fleet: func(context.Context) ([]unstructured.Unstructured, error) {
			r.looks++
			return r.fleet, nil
		},
		Requeue: func(collector client.Object) { r.admitted = append(r.admitted, collector.GetName()) },
		Count:   func(now Counts) { r.counts = now },
	}
	r.Reset()
	return r
}

// change has the informer cache show a Collector in another state.
func (r *running) change(i int, collector *unstructured.Unstructured) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fleet[i] = *collector.DeepCopy()
}

// expect expects, after a time, that those were admitted, and that so many are in each state.
func (r *running) expect(t *testing.T, after time.Duration, counts Counts, admitted ...string) {
	t.Helper()
	time.Sleep(after) //nolint:forbidigo // of the bubble's clock
	synctest.Wait()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if diff := cmp.Diff(admitted, r.admitted); diff != "" {
		t.Errorf("admitted (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(counts, r.counts); diff != "" {
		t.Errorf("counts (-want +got)\n%s", diff)
	}
}

func ring(name, number string) *unstructured.Unstructured {
	return newCollector(name, map[string]string{v1alpha1.RingLabel: number})
}

func expectPending(t *testing.T, got *v1alpha1.Condition, status corev1.ConditionStatus, reason, message string) {
	t.Helper()
	want := &v1alpha1.Condition{Type: v1alpha1.UpdatePending, Status: status, Reason: reason, Message: message}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("condition (-want +got)\n%s", diff)
	}
}

func TestACollectorGoesThroughAWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two, last := ring("one", "1"), ring("two", "1"), newCollector("last", nil)
		r := run(one, two, last)
		go func() { _ = r.Start(t.Context()) }()
		expectPending(t, r.Ask(last), "True", "Waiting", "the operator's change waits: after all rings, place 1")
		expectPending(t, r.Ask(two), "True", "Waiting", "the operator's change waits: ring 1, place 2")
		expectPending(t, r.Ask(one), "True", "Waiting", "the operator's change waits: ring 1, place 3")
		r.expect(t, interval, Counts{Waiting: 2, RollingOut: 1}, "two")
		expectPending(t, r.Ask(two), "False", "RollingOut", "the operator's change is on its way to the pods")
		rollsOut(two, time.Now())
		if pending := r.Ask(two); pending != nil {
			t.Errorf("it says that it is on its way, and is to say %v", pending)
		}
		r.change(1, two)
		r.Done(two, r.Now(), true)
		r.expect(t, time.Minute-interval, Counts{Waiting: 2, RollingOut: 1}, "two")

		r.change(1, ring("two", "1")) // it is ready
		r.expect(t, interval, Counts{Waiting: 1, RollingOut: 1}, "two", "one")
		r.Done(one, r.Now(), true)
		r.expect(t, interval, Counts{RollingOut: 1}, "two", "one", "last")
		r.Done(last, r.Now(), true)
		r.expect(t, interval, Counts{}, "two", "one", "last")
		looks := r.looks
		r.expect(t, time.Hour, Counts{}, "two", "one", "last")
		if r.looks > looks {
			t.Errorf("looked at the fleet %d times with nothing to see", r.looks-looks)
		}

		r.Reset()
		expectPending(t, r.Ask(last), "True", "Waiting", "the operator's change waits: after all rings, place 1")
	})
}

func TestAWaveThatHoldsSaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overdue, waiting := newCollector("overdue", nil), newCollector("waiting", nil)
		rollsOut(overdue, time.Now())
		r := run(overdue, waiting)
		r.Ask(waiting)
		go func() { _ = r.Start(t.Context()) }()
		r.expect(t, time.Minute, Counts{Waiting: 1, RollingOut: 1})
		r.expect(t, time.Hour, Counts{Held: 1, Overdue: 1})
		want := "Warning RolloutHeld not ready 1m0s after the operator's change; with 1 overdue Collectors the change goes no further, and 1 wait"
		if len(r.events.Events) != 1 {
			t.Fatalf("%d events", len(r.events.Events))
		}
		if got := <-r.events.Events; got != want {
			t.Errorf("got %q", got)
		}
		r.change(0, newCollector("overdue", nil)) // it is ready at last
		r.Done(overdue, r.Now(), true)
		r.expect(t, idleInterval, Counts{RollingOut: 1}, "waiting")
	})
}

func TestAChangeThatFailsIsHeldBeforeTheDeadline(t *testing.T) {
	for cause, fails := range map[string]func(*unstructured.Unstructured){
		"canary pods have failed to prove the operator's change": func(c *unstructured.Unstructured) { fails(c, v1alpha1.ReasonRolledBack, time.Now()) },
		"the operator's change is refused": func(c *unstructured.Unstructured) {
			refused, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(Refused())
			refused["lastTransitionTime"] = time.Now().Format(time.RFC3339)
			_ = unstructured.SetNestedSlice(c.Object, []any{refused}, "status", "conditions")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			failed, waiting := newCollector("failed", nil), newCollector("waiting", nil)
			rollsOut(failed, time.Now())
			fails(failed)
			r := run(failed, waiting)
			r.Ask(waiting)
			go func() { _ = r.Start(t.Context()) }()
			r.expect(t, interval, Counts{Held: 1, Overdue: 1})
			if r.Ask(failed) != nil {
				t.Errorf("%s: its turn has to come again", cause)
			}
			want := "Warning RolloutHeld " + cause + "; with 1 overdue Collectors the change goes no further, and 1 wait"
			if got := <-r.events.Events; got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAWaveHoldsWhenPodsBreakWhileALowerRingSoaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, waiting := ring("broken", "0"), ring("waiting", "1")
		fails(broken, v1alpha1.ReasonPodsNotReady, time.Now())
		r := run(broken, waiting)
		r.Soak = time.Hour
		r.line.Insert(client.ObjectKeyFromObject(broken))
		r.Done(broken, r.Now(), true)
		r.Ask(waiting)
		go func() { _ = r.Start(t.Context()) }()
		r.expect(t, 2*time.Hour, Counts{Held: 1, Overdue: 1})
		want := "Warning RolloutHeld pods have stopped serving since the operator's change; with 1 overdue Collectors the change goes no further, and 1 wait"
		if got := <-r.events.Events; got != want {
			t.Errorf("got %q", got)
		}
		r.change(0, ring("broken", "0")) // it serves again
		r.expect(t, idleInterval, Counts{RollingOut: 1}, "waiting")
	})
}

func TestNobodyWaitsForEverForACollectorThatIsNotReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := ring("waiting", "1")
		r := run(ring("unseen", "0"), waiting)
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's clock; another operator leads meanwhile
		r.Ask(waiting)
		go func() { _ = r.Start(t.Context()) }()
		r.expect(t, time.Minute, Counts{Waiting: 1})
		r.expect(t, 2*interval, Counts{RollingOut: 1}, "waiting")
	})
}

func TestNobodyIsAdmittedBeforeNamespacesAreReadAndNoReconcileWaitsForThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collector := newCollector("a", nil)
		r := run(collector)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: collector.GetNamespace(), Labels: map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold},
		}}
		began := time.Now()
		r.Live = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(namespace).Build(), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if r.mutex.TryLock() {
					r.mutex.Unlock()
				} else {
					t.Error("the lock is held while the API server is asked")
				}
				if time.Since(began) <= time.Minute {
					return errors.New("overloaded")
				}
				return c.List(ctx, list, opts...)
			},
		})
		r.Ask(collector)
		go func() { _ = r.Start(t.Context()) }()
		r.expect(t, time.Minute, Counts{})
		r.expect(t, 2*interval, Counts{LeftOut: 1})
		expectPending(t, r.Ask(collector), "True", "LeftOut", "label kube8.dev/rollout holds the operator's change back")
	})
}

func TestACollectorThatIsHeldTakesNoFurtherChangeAlsoWhenOneIsOnItsWay(t *testing.T) {
	held := newCollector("held", map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold})
	rollsOut(held, now)
	expectPending(t, run(held).Ask(held), "True", "LeftOut", "label kube8.dev/rollout holds the operator's change back")
}

func TestAReconcileThatFailsAfterAStartLeavesACollectorUnseen(t *testing.T) {
	f := newFleet("9", now)
	f.add("a ring=0 unseen")
	f.add("b ring=1 waits")
	f.Done(&f.collectors[0], now, false)
	if chosen := f.choose(f.collectors, now); len(chosen.admitted) > 0 {
		t.Errorf("admitted %q", names(chosen.admitted))
	}
	f.Done(&f.collectors[0], now, true)
	if chosen := f.choose(f.collectors, now); len(chosen.admitted) != 1 {
		t.Errorf("admitted %q", names(chosen.admitted))
	}
}

func TestWhoIsLeftOutForEverDoesNotWidenTheNextWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := newCollector("held", map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold})
		all := []*unstructured.Unstructured{held}
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			all = append(all, newCollector(name, nil))
		}
		r := run(all...)
		r.Budget = intstr.Parse("50%")
		for _, collector := range all {
			r.Ask(collector)
		}
		go func() { _ = r.Start(t.Context()) }()
		r.expect(t, interval, Counts{LeftOut: 1, Waiting: 5, RollingOut: 5}, "a", "b", "c", "d", "e")
		for _, collector := range all[1:] {
			r.Done(collector, r.Now(), true)
		}
		r.expect(t, 2*idleInterval, Counts{LeftOut: 1}, "a", "b", "c", "d", "e")
		for _, collector := range all[1:3] {
			r.Ask(collector)
		}
		r.expect(t, idleInterval, Counts{LeftOut: 1, Waiting: 1, RollingOut: 1}, "a", "b", "c", "d", "e", "a")
	})
}
