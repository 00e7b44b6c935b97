package rollout

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// collector makes a Collector of a line such as "name ring=1 rollout=now waits": it waits, is on its way since a moment (rolls)
// or for long (overdue), was not reconciled yet (unseen), is paused or deleted, or else has nothing to wait for.
func collector(line string) (*unstructured.Unstructured, []string) {
	words := strings.Fields(line)
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetName(words[0])
	made.SetNamespace("tenant-acme")
	labels := map[string]string{}
	since := time.Now()
	for _, word := range words[1:] {
		key, value, isLabel := strings.Cut(word, "=")
		switch {
		case isLabel:
			labels["kube8.dev/"+key] = value
		case word == "paused":
			made.SetAnnotations(map[string]string{"kube8.dev/paused": "true"})
		case word == "deleted":
			made.SetDeletionTimestamp(new(metav1.Now()))
		case word == "overdue":
			since = since.Add(-time.Hour)
		}
		if word == "rolls" || word == "overdue" {
			_ = unstructured.SetNestedSlice(made.Object, []any{map[string]any{
				"type": "UpdatePending", "status": "False", "reason": "RollingOut", "lastTransitionTime": since.Format(time.RFC3339),
			}}, "status", "conditions")
		}
	}
	made.SetLabels(labels)
	return made, words
}

func TestWhoIsAdmitted(t *testing.T) {
	for name, row := range map[string]struct {
		budget string
		fleet  []string
		want   []string // who is admitted
		counts Counts
		held   bool
	}{
		"nobody, when nobody waits":                         {"5%", []string{"a", "b"}, nil, Counts{}, false},
		"one, however small the percentage is":              {"5%", []string{"a waits", "b waits"}, []string{"a"}, Counts{Waiting: 1, RollingOut: 1}, false},
		"one, even if the budget is nothing":                {"0", []string{"a waits", "b waits"}, []string{"a"}, Counts{Waiting: 1, RollingOut: 1}, false},
		"a percentage of the fleet":                         {"50%", []string{"a waits", "b waits", "c waits", "d"}, []string{"a", "b"}, Counts{Waiting: 1, RollingOut: 2}, false},
		"who began to wait first":                           {"1", []string{"b waits", "a waits"}, []string{"b"}, Counts{Waiting: 1, RollingOut: 1}, false},
		"nobody while others use the budget up":             {"1", []string{"a rolls", "b waits"}, nil, Counts{Waiting: 1, RollingOut: 1}, false},
		"lower rings first":                                 {"1", []string{"a waits", "b ring=10 waits", "c ring=9 waits"}, []string{"c"}, Counts{Waiting: 2, RollingOut: 1}, false},
		"no ring before the lower one is ready":             {"9", []string{"a ring=0 rolls", "b ring=1 waits"}, nil, Counts{Waiting: 1, RollingOut: 1}, false},
		"no ring before the lower one was looked at":        {"9", []string{"a ring=0 unseen", "b ring=1 waits"}, nil, Counts{Waiting: 1}, false},
		"the next ring when the lower one is overdue":       {"9", []string{"a ring=0 overdue", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1, Overdue: 1}, false},
		"the next ring when the lower one is paused":        {"9", []string{"a ring=0 paused rolls", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}, false},
		"the next ring when the lower one is deleted":       {"9", []string{"a ring=0 deleted waits", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}, false},
		"the next ring when the lower one is held back":     {"9", []string{"a ring=0 rollout=hold waits", "b ring=1 waits"}, []string{"b"}, Counts{LeftOut: 1, RollingOut: 1}, false},
		"who is to be now, in any ring, beyond the budget":  {"1", []string{"a overdue", "b waits", "c ring=7 rollout=now waits"}, []string{"c"}, Counts{Held: 1, RollingOut: 1, Overdue: 1}, true},
		"nobody when those that are overdue use the budget": {"2", []string{"a overdue", "b overdue", "c waits"}, nil, Counts{Held: 1, Overdue: 2}, true},
		"a ring that is no number is the last one":          {"1", []string{"a ring=-1 waits", "b ring=3 waits"}, []string{"b"}, Counts{Waiting: 1, RollingOut: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var fleet []unstructured.Unstructured
			var admitted []string
			var counts Counts
			events := record.NewFakeRecorder(9)
			w := &Waves{
				Budget: intstr.Parse(row.budget), Deadline: time.Minute, Events: events,
				Fleet:   func(context.Context) ([]unstructured.Unstructured, error) { return fleet, nil },
				Requeue: func(collector client.Object) { admitted = append(admitted, collector.GetName()) },
				Live:    fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(),
				Count:   func(now Counts) { counts = now },
			}
			w.Reset()
			for _, line := range row.fleet {
				made, words := collector(line)
				fleet = append(fleet, *made)
				switch {
				case slices.Contains(words, "waits"):
					if pending := w.Ask(made); pending == nil || pending.Status != "True" {
						t.Errorf("%s is to have %v", made.GetName(), pending)
					}
				case !slices.Contains(words, "unseen"):
					w.Settle(made)
				}
			}
			w.Admit(t.Context())
			if diff := cmp.Diff(row.want, admitted); diff != "" {
				t.Errorf("admitted (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(row.counts, counts); diff != "" {
				t.Errorf("counts (-want +got)\n%s", diff)
			}
			if row.held != (len(events.Events) > 0) {
				t.Errorf("%d events", len(events.Events))
			}
		})
	}
}
