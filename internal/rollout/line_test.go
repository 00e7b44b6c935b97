package rollout

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// tenants are Collectors in the namespaces of tenants, which take what the operator brings. Its clock is at.
type tenants struct {
	*Waves
	at       time.Time
	fleet    []unstructured.Unstructured
	admitted []int
	counts   Counts
}

// newTenants returns Collectors that were reconciled since the start. Each tenant has so many.
func newTenants(size int, budget string, each int) *tenants {
	f := &tenants{at: now}
	index := map[string]int{}
	for i := range size {
		made := newCollector(fmt.Sprint("c", i), nil)
		made.SetNamespace(fmt.Sprint("tenant-", i/each))
		index[made.GetName()] = i
		f.fleet = append(f.fleet, *made)
	}
	f.Waves = &Waves{
		Budget: intstr.Parse(budget), Least: 1, Deadline: 10 * time.Minute, Events: record.NewFakeRecorder(9999), Now: func() time.Time { return f.at },
		Fleet:   func(context.Context) ([]unstructured.Unstructured, error) { return f.fleet, nil },
		Requeue: func(c client.Object) { f.admitted = append(f.admitted, index[c.GetName()]) },
		Count:   func(now Counts) { f.counts = now },
	}
	f.Reset()
	for i := range f.fleet {
		f.Done(&f.fleet[i], f.at, true)
	}
	f.tick()
	return f
}

// become has the informer cache show a Collector in another state, which the caller sets.
func (f *tenants) become(i int, set func(*unstructured.Unstructured)) {
	another := f.fleet[i].DeepCopy() // the one before is in use
	set(another)
	f.fleet[i] = *another
	f.Done(another, f.at, true)
}

// tick looks at the fleet a second later. Collectors that are admitted say so, and take the change.
func (f *tenants) tick() []int {
	f.at, f.admitted = f.at.Add(time.Second), nil
	f.Look(context.Background())
	for _, i := range f.admitted {
		f.become(i, func(c *unstructured.Unstructured) { rollsOut(c, f.at) })
	}
	return f.admitted
}

// ready has Collectors be ready with the change.
func (f *tenants) ready(which ...int) {
	for _, i := range which {
		f.become(i, func(c *unstructured.Unstructured) { unstructured.RemoveNestedField(c.Object, "status", "conditions") })
	}
}

// change has the operator bring a change to the first Collectors, which are reconciled.
func (f *tenants) change(first int) {
	var all []*unstructured.Unstructured
	for i := range first {
		all = append(all, &f.fleet[i])
	}
	f.Expect(all)
	for _, collector := range all {
		if f.Ask(collector) == nil {
			f.Done(collector, f.at, true)
		}
	}
}

// breaks has no Collector become ready any more, and returns how many take the change.
func (f *tenants) breaks() (broken int) {
	for range 3600 {
		broken += len(f.tick())
	}
	return broken
}

func TestAnOverdueCollectorOfBeforeWidensNoBudget(t *testing.T) {
	const stuck = 199 // its owner has it so
	f := newTenants(200, "5%", 1)
	f.change(200)
	for done := 0; done < 200; {
		admitted := f.tick()
		done += len(admitted)
		for _, i := range admitted {
			if i != stuck {
				f.ready(i)
			}
		}
	}
	if f.breaks(); f.counts.Overdue != 1 {
		t.Fatalf("%+v, want one that is overdue", f.counts)
	}
	f.change(60)
	if broken := f.breaks(); broken != 2 { // of 61, among them the one that is overdue
		t.Errorf("a base that 60 have breaks %d, and 5 %% of them are 3 with the one that is overdue", broken)
	}
}

func TestABaseThatIsWrittenOftenWidensNoBudget(t *testing.T) {
	f := newTenants(200, "5%", 1)
	for range 20 { // each before the wave of the one before has ended
		f.change(100)
		for range 6 {
			f.ready(f.tick()...)
		}
	}
	f.change(100)
	if broken := f.breaks(); broken != 5 {
		t.Errorf("a base that 100 have breaks %d, and 5 %% of them are 5", broken)
	}
}

func TestWhoeverHoldsACollectorForAMomentGivesItNoMoreTime(t *testing.T) {
	f := newTenants(2, "2", 1)
	f.fleet[0].SetLabels(map[string]string{v1alpha1.RingLabel: "0"})
	f.change(2)
	for second := range 3600 {
		if second%540 == 539 { // before its deadline
			hold := f.fleet[0].DeepCopy()
			hold.SetLabels(map[string]string{v1alpha1.RingLabel: "0", v1alpha1.RolloutLabel: v1alpha1.RolloutHold})
			f.Ask(hold)
			unstructured.RemoveNestedField(hold.Object, "status", "conditions") // it says that it is held, and is reconciled again
			expectPending(t, f.Ask(hold), "True", v1alpha1.ReasonLeftOut, "label kube8.dev/rollout holds the operator's change back")
			unstructured.RemoveNestedField(f.fleet[0].Object, "status", "conditions")
			f.Ask(&f.fleet[0])
		}
		f.tick()
	}
	if f.counts.Overdue != 2 {
		t.Errorf("%+v, want both overdue: the ring after it does not wait for ever", f.counts)
	}
}

func TestAReconcileThatFailedWhileItsCollectorWaitsOpensNoRing(t *testing.T) {
	f := newFleet("9", now)
	f.Now = func() time.Time { return now }
	f.add("a ring=0 waits")
	f.add("b ring=1 waits")
	f.Done(&f.collectors[0], now, false)
	if admitted := f.choose(f.collectors, now).admitted; len(admitted) != 1 || admitted[0].GetName() != "a" {
		t.Errorf("admitted %v, want the canary", admitted)
	}
	f.Done(&f.collectors[0], now, true) // it is refused, and has seen the change
	if admitted := f.choose(f.collectors, now).admitted; len(admitted) != 1 || admitted[0].GetName() != "b" {
		t.Errorf("admitted %v, want the next ring", admitted)
	}
}

func TestAReconcileThatFailedBeforeItSawTheChangeLeavesACollectorItsTurn(t *testing.T) {
	f := newFleet("9", now)
	f.add("a ring=0 admitted")
	f.add("b ring=1 waits")
	f.Done(&f.collectors[0], now, false)
	if chosen := f.choose(f.collectors, now); len(chosen.admitted) > 0 || chosen.RollingOut != 1 {
		t.Errorf("admitted %q, %+v, want the first ring on its way", names(chosen.admitted), chosen.Counts)
	}
	f.Done(&f.collectors[0], now, true)
	if admitted := names(f.choose(f.collectors, now).admitted); len(admitted) != 1 || admitted[0] != "b" {
		t.Errorf("admitted %q, want the next ring", admitted)
	}
}

// Changes of some Collectors come at random, also while others are on their way, and pods of some of them never become ready. With
// those that are admitted, no more are on their way or overdue than the budget of all whom a change has concerned since none waited. One
// other may be if those of one tenant take all of that. Canary pods of every other Collector tell at once that it will not.
func TestNoOrderOfChangesWidensTheBudget(t *testing.T) {
	beside := 0 // how often one was admitted beside those of a tenant
	for seed := range uint64(210) {
		random := rand.New(rand.NewPCG(seed, 0))
		f := newTenants(60, "10%", []int{1, 20, 60}[seed%3])
		breaks, concerned := map[int]bool{}, map[int]bool{} // whose pods do not become ready, and whom changes concern
		isBack := map[int]bool{}                            // who is rolled back
		for step := range 300 {
			switch random.IntN(12) {
			case 0:
				first := 1 + random.IntN(60)
				f.change(first)
				for i := range first {
					concerned[i] = true
				}
			case 1:
				breaks[random.IntN(60)] = random.IntN(2) == 0
			case 2:
				f.at = f.at.Add(time.Duration(random.IntN(20)) * time.Minute)
			}
			isAdmitted, onTheirWay, overdue := len(f.tick()) > 0, f.onTheirWay(), map[string]int{}
			for _, i := range onTheirWay {
				concerned[i] = true
				if isBack[i] || f.at.Sub(onItsWaySince(&f.fleet[i], place{})) > f.Deadline {
					overdue[f.fleet[i].GetNamespace()]++
				}
			}
			if budget := max(1, len(concerned)/10); isAdmitted && len(onTheirWay) > budget {
				others := len(onTheirWay) - slices.Max(append(slices.Collect(maps.Values(overdue)), 0))
				if beside++; others > 1 || f.fleet[0].GetNamespace() == f.fleet[59].GetNamespace() {
					t.Fatalf("seed %d, step %d: %d are on their way, %v overdue, and 10 %% of %d are %d",
						seed, step, len(onTheirWay), overdue, len(concerned), budget)
				}
			}
			for _, i := range onTheirWay {
				switch {
				case breaks[i] && i%2 == 0 && !isBack[i]:
					isBack[i] = true
					f.become(i, func(c *unstructured.Unstructured) { fails(c, v1alpha1.ReasonRolledBack, now) })
				case !breaks[i] && random.IntN(3) > 0:
					delete(isBack, i)
					f.ready(i)
				}
			}
			if f.counts.Waiting+f.counts.Held+f.counts.RollingOut == 0 {
				clear(concerned)
			}
		}
	}
	if beside == 0 {
		t.Error("none was admitted beside those of a tenant that use up the budget")
	}
}

// onTheirWay returns which Collectors say that they are on their way, overdue or not.
func (f *tenants) onTheirWay() (which []int) {
	for i := range f.fleet {
		if IsOnItsWay(&f.fleet[i]) {
			which = append(which, i)
		}
	}
	return which
}

func TestNoTenantHoldsASmallFleet(t *testing.T) {
	const tenantsOwn = 4 // Collectors; those of the first tenant never become ready
	f := newTenants(12, "", tenantsOwn)
	f.Budget, f.Least = DefaultBudget, DefaultLeast
	f.change(12)
	updated := 0
	for range 3600 {
		for _, i := range f.tick() {
			if i >= tenantsOwn {
				updated++
				f.ready(i)
			}
		}
	}
	if want := (Counts{Held: 2, Overdue: 2}); updated != 8 || f.counts != want {
		t.Errorf("the others have updated %d of 8, and the rest is %+v, want %+v", updated, f.counts, want)
	}
}
