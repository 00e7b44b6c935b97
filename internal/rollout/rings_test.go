package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
		"when a person has continued before a start":        {gated: true, continued: ago(9).Format(time.RFC3339), began: 1, ready: 10, want: []string{"one"}},
		"not by what is no time":                            {gated: true, continued: "yes", began: 90, ended: 10},
		"not when a person has continued too soon":          {gated: true, continued: ago(9).Format(time.RFC3339), soak: time.Hour, began: 90, ended: 10},
		"now, if its namespace says so":                     {gated: true, soak: time.Hour, began: 90, ended: 1, zero: "zero ring=0", want: []string{"hasty"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("1", ago(row.began))
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
