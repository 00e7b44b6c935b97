package rollout

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// readySince has the status say that a Collector is ready.
func readySince(collector *unstructured.Unstructured, since time.Time) {
	_ = unstructured.SetNestedSlice(collector.Object, []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": since.Format(time.RFC3339),
	}}, "status", "conditions")
}

func TestWhenARingBegins(t *testing.T) {
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	for name, row := range map[string]struct {
		soak      time.Duration
		gated     bool
		continued string // when, or another text
		began     int    // how many minutes ago the operator has begun to bring the change
		ready     int    // how many minutes ago the Collector of ring 0 became ready; 0 if it is not
		ended     int    // how many minutes ago the operator saw it on its way; 0 if it has not
		zero      string // the Collector of ring 0
		two       string // another Collector
		want      []string
	}{
		"at once, without soak and gate":                    {began: 60, ended: 1, want: []string{"one"}},
		"not before lower rings were done for so long":      {soak: time.Hour, began: 90, ended: 59},
		"once they were":                                    {soak: time.Hour, began: 90, ended: 60, want: []string{"one"}},
		"not while a lower ring is on its way":              {soak: time.Hour, began: 90, ended: 60, zero: "zero ring=0 rolls"},
		"by when the lower one became ready, after a start": {soak: time.Hour, began: 5, ready: 61, want: []string{"one"}},
		"not too soon after that":                           {soak: time.Hour, began: 5, ready: 59},
		"as after the start, if it became ready then":       {soak: time.Hour, began: 60, ready: 1, want: []string{"one"}},
		"as after the start, if it is not ready":            {soak: time.Hour, began: 59},
		"at once, if the lower one is held":                 {soak: time.Hour, began: 90, ended: 1, zero: "zero ring=0 rollout=hold", want: []string{"one"}},
		"at once, if the lower one is new":                  {soak: time.Hour, began: 90, ended: 1, zero: "zero ring=0 new", want: []string{"one"}},
		"at once, if there is no lower one":                 {soak: time.Hour, gated: true, began: 1, zero: "zero ring=2", want: []string{"one"}},
		"not at a gate":                                     {gated: true, began: 90, ended: 10},
		"not when a person has continued earlier":           {gated: true, continued: ago(11).Format(time.RFC3339), began: 90, ended: 10},
		"when a person has continued since":                 {gated: true, continued: ago(9).Format(time.RFC3339), began: 90, ended: 10, want: []string{"one"}},
		"when a person has continued in that second": {
			gated: true, continued: ago(10).Add(time.Millisecond).Format(time.RFC3339Nano), began: 90, ended: 10, want: []string{"one"},
		},
		"when a person has continued before a start": {gated: true, continued: ago(9).Format(time.RFC3339), began: 1, ready: 10, want: []string{"one"}},
		"on after a start, when the lower one became ready anew": {
			gated: true, continued: ago(9).Format(time.RFC3339), began: 1, ready: 5, two: "two ring=1 rolls", want: []string{"one"},
		},
		"on after a start, when the lower one is not ready": {
			gated: true, continued: ago(9).Format(time.RFC3339), began: 1, two: "two ring=1 rolls", want: []string{"one"},
		},
		"on after a start, during a soak that is over": {soak: time.Hour, began: 1, ready: 5, two: "two ring=1 rolls", want: []string{"one"}},
		"not after a start, when one goes on that waits for no gate": {
			gated: true, continued: ago(9).Format(time.RFC3339), began: 1, ready: 5, two: "two ring=1 rollout=now rolls",
		},
		"not after a start, when one of a lower ring goes on": {
			gated: true, continued: ago(9).Format(time.RFC3339), began: 1, ready: 5, two: "two ring=0 overdue",
		},
		"not when the lower one was on its way with a further change": {
			gated: true, continued: ago(9).Format(time.RFC3339), began: 90, ended: 1, two: "two ring=1 rolls",
		},
		"not by what is no time":                   {gated: true, continued: "yes", began: 90, ended: 10},
		"not when a person has continued too soon": {gated: true, continued: ago(9).Format(time.RFC3339), soak: time.Hour, began: 90, ended: 10},
		"while one of a lower ring is broken, which leaves a place": {
			soak: time.Hour, began: 190, ended: 61, zero: "zero@a ring=0 done broken", want: []string{"one"},
		},
		"not while two of a lower ring are broken": {
			soak: time.Hour, began: 190, ended: 61, zero: "zero@a ring=0 done broken", two: "two@b ring=0 done broken",
		},
		"without a soak, when two of a lower ring are broken": {
			began: 190, ended: 61, zero: "zero@a ring=0 done broken", two: "two@b ring=0 done broken", want: []string{"one"},
		},
		"when two of a lower ring were broken before": {
			soak: time.Hour, began: 190, ended: 61, zero: "zero@a ring=0 done down", two: "two@b ring=0 done down", want: []string{"one"},
		},
		"when two are broken that took no change": {
			soak: time.Hour, began: 190, ended: 61, zero: "zero@a ring=0 broken", two: "two@b ring=0 broken", want: []string{"one"},
		},
		"not after a start, when two of a lower ring are broken since a moment ago": {
			soak: 3 * time.Hour, began: 190, ended: 181, zero: "zero@a ring=0 broken", two: "two@b ring=0 broken",
		},
		"when the operator knows that these took no change": {
			soak: 3 * time.Hour, began: 1500, ended: 181, zero: "zero@a ring=0 broken", two: "two@b ring=0 broken", want: []string{"one"},
		},
		"while two of a lower ring get further pods": {
			soak: time.Hour, began: 190, ended: 61, zero: "zero@a ring=0 done grows", two: "two@b ring=0 done grows", want: []string{"one"},
		},
		"when two of its own ring are broken": {
			soak: time.Hour, began: 190, ended: 61, zero: "zero@a ring=1 done broken", two: "two@b ring=1 done broken", want: []string{"one"},
		},
		"now, if its namespace says so": {gated: true, soak: time.Hour, began: 90, ended: 1, zero: "zero ring=0", want: []string{"hasty"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("2", ago(row.began))
			f.Soak, f.Namespace = row.soak, "system"
			f.namespaces = map[string]map[string]string{"system": {v1alpha1.ContinuedAnnotation: row.continued}}
			if row.gated {
				f.namespaces["system"][v1alpha1.RolloutLabel] = v1alpha1.RolloutGate
			}
			if row.zero == "" {
				row.zero = "zero ring=0"
			}
			f.add(row.zero)
			f.add("one ring=1 waits")
			if len(row.want) > 0 && row.want[0] == "hasty" {
				f.add("hasty ring=1 rollout=now waits")
			}
			if row.two != "" {
				f.add(row.two)
			}
			if row.ready > 0 {
				readySince(&f.collectors[0], ago(row.ready))
			}
			if row.ended > 0 {
				f.ends[0] = ago(row.ended)
			}
			if diff := cmp.Diff(row.want, names(f.choose(f.collectors, now).admitted)); diff != "" {
				t.Errorf("admitted (-want +got)\n%s", diff)
			}
		})
	}
}

// A wave in three rings, an hour apart.
func TestEachRingBeginsAnHourAfterTheOneBefore(t *testing.T) {
	f := newTenants(3, "100%", 1)
	f.Soak = time.Hour
	f.fleet[0].SetLabels(map[string]string{v1alpha1.RingLabel: "0"})
	f.fleet[1].SetLabels(map[string]string{v1alpha1.RingLabel: "1"})
	f.at = f.at.Add(2 * time.Hour) // none was on the way since the start
	f.change(3)
	var after []time.Duration
	for began := f.at; f.at.Sub(began) < 3*time.Hour; {
		for _, i := range f.tick() {
			after = append(after, f.at.Sub(began))
			f.ready(i)
		}
	}
	want := []time.Duration{time.Second, time.Hour + time.Second, 2*time.Hour + time.Second}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("admitted after (-want +got)\n%s", diff)
	}
}

// The operator starts while a ring is on its way, and a Collector of the lower ring has become ready anew before that. The gate stays open
// also while none of the ring is on its way, and closes when the lower ring takes a further change.
func TestARingThatHasBegunBeforeAStartGoesOn(t *testing.T) {
	f := newTenants(4, "1", 1)
	namespaces := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "system", Labels: map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutGate},
		Annotations: map[string]string{v1alpha1.ContinuedAnnotation: f.at.Add(-time.Hour).Format(time.RFC3339)},
	}}}
	for i, ring := range []string{"0", "1", "1", "1"} {
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: f.fleet[i].GetNamespace(), Labels: map[string]string{v1alpha1.RingLabel: ring},
		}})
	}
	f.Namespace, f.Live = "system", fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(namespaces...).Build()
	f.become(0, func(c *unstructured.Unstructured) { readySince(c, f.at.Add(-time.Minute)) })
	f.become(1, func(c *unstructured.Unstructured) { rollsOut(c, f.at) })
	f.change(4)
	f.Done(&f.fleet[0], f.at, true) // the change is in the lowest ring
	f.tick()
	f.ready(1)
	for _, want := range []int{2, 3} {
		if admitted := f.tick(); len(admitted) != 1 || admitted[0] != want {
			t.Errorf("admitted %v, want %d", admitted, want)
		}
		f.ready(want)
	}
	f.change(4)
	if admitted := f.tick(); len(admitted) != 1 || admitted[0] != 0 {
		t.Errorf("admitted %v, want that of the lowest ring", admitted)
	}
	f.ready(0)
	for range 2 {
		if admitted := f.tick(); len(admitted) > 0 {
			t.Errorf("admitted %v at the gate", admitted)
		}
	}
}

// Labels of namespaces are believed for a while. Meanwhile, a platform team pauses all changes and writes a base.
func TestAChangeAfterAPauseWaits(t *testing.T) {
	f := newTenants(3, "100%", 1)
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}}
	f.Namespace, f.Live = "system", fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(system).Build()
	f.change(1)
	if admitted := f.tick(); len(admitted) != 1 {
		t.Fatalf("admitted %v", admitted)
	}
	system.Labels = map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold}
	if err := f.Live.(client.Client).Update(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	f.change(3)
	for range 10 {
		if admitted := f.tick(); len(admitted) > 0 {
			t.Fatalf("admitted %v during the pause", admitted)
		}
	}
}

// Ring 0 is overdue with a change, and then takes a corrected one.
func TestACorrectedChangeSoaksAsAnyOther(t *testing.T) {
	for name, fails := range map[string]func(*unstructured.Unstructured){
		"late":        func(*unstructured.Unstructured) {},
		"rolled back": func(c *unstructured.Unstructured) { fails(c, v1alpha1.ReasonRolledBack, now) },
	} {
		f := newTenants(2, "2", 1)
		f.Soak = time.Hour
		for i := range f.fleet {
			f.fleet[i].SetLabels(map[string]string{v1alpha1.RingLabel: strconv.Itoa(i)})
		}
		f.at = f.at.Add(2 * time.Hour)
		f.change(2)
		f.tick()
		f.become(0, fails)
		for range 40 * 60 {
			f.tick()
		}
		if f.counts.Overdue != 1 {
			t.Fatalf("%s: %+v, want one that is overdue", name, f.counts)
		}
		f.change(2)
		f.become(0, func(c *unstructured.Unstructured) { rollsOut(c, f.at.Add(-40*time.Minute)) }) // its time stays
		f.tick()
		f.ready(0)
		corrected := f.at
		for range 2 * 60 * 60 {
			if admitted := f.tick(); len(admitted) > 0 {
				break
			}
		}
		if after := f.at.Sub(corrected); after < time.Hour || after > time.Hour+10*time.Second {
			t.Errorf("%s: ring 1 begins %s after ring 0 was ready with the corrected change, want an hour", name, after)
		}
	}
}
