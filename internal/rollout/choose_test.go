package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// now is when the time of synctest begins.
var now = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// newCollector makes a Collector that was created and installed long ago.
func newCollector(name string, labels map[string]string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"deployedRelease": map[string]any{"name": name}}}}
	made.SetName(name)
	made.SetNamespace("tenant-acme")
	made.SetLabels(labels)
	made.SetCreationTimestamp(metav1.NewTime(now.Add(-24 * time.Hour)))
	return made
}

// rollsOut has the status say that a Collector is on its way.
func rollsOut(collector *unstructured.Unstructured, since time.Time) {
	_ = unstructured.SetNestedSlice(collector.Object, []any{map[string]any{
		"type": "UpdatePending", "status": "False", "reason": "RollingOut", "lastTransitionTime": since.Format(time.RFC3339),
	}}, "status", "conditions")
}

// fails has the status say that a Collector is not ready since a time.
func fails(collector *unstructured.Unstructured, reason string, since time.Time) {
	conditions, _, _ := unstructured.NestedSlice(collector.Object, "status", "conditions")
	ready := map[string]any{"type": "Ready", "status": "False", "reason": reason, "lastTransitionTime": since.Format(time.RFC3339)}
	_ = unstructured.SetNestedSlice(collector.Object, append(conditions, ready), "status", "conditions")
}

// fleet are Collectors, and Waves that choose among them.
type fleet struct {
	*Waves
	collectors []unstructured.Unstructured
}

// newFleet returns a fleet without Collectors, which has a deadline of a minute. An empty budget is the default.
func newFleet(budget string, began time.Time) *fleet {
	w := &Waves{places: map[client.ObjectKey]place{}, ends: map[int]time.Time{}, line: sets.New[client.ObjectKey](), began: began, Deadline: time.Minute}
	if w.Budget, w.Least = intstr.Parse(budget), 1; budget == "" {
		w.Budget, w.Least = DefaultBudget, DefaultLeast
	}
	return &fleet{Waves: w}
}

// add adds a Collector of a line such as "name@namespace ring=1 rollout=now waits". Its status says that it is on its way since a moment
// (rolls), for as long as a proof takes (slow), or for longer (overdue). Or its status has the reason of the condition Ready. Or it was
// admitted a moment ago or long ago (stuck), and its status does not say so. Its pods have stopped serving since the change began (broken), a
// moment ago (grows), or before (down). Or it was not reconciled yet (unseen), or not installed either
// (new). Or it has waited, and is done. Without any such word it has nothing to wait for. It has a canary, or the platform demands one.
func (f *fleet) add(line string) {
	words := strings.Fields(line)
	name, namespace, _ := strings.Cut(words[0], "@")
	made, at, isKnown := newCollector(name, nil), place{}, true
	if namespace != "" {
		made.SetNamespace(namespace)
	}
	labels, number := map[string]string{}, len(f.collectors)+1
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "ring", "rollout":
			labels["kube8.dev/"+key] = value
		case "waits":
			at.number = number
			f.line.Insert(client.ObjectKeyFromObject(made))
		case "done":
			f.line.Insert(client.ObjectKeyFromObject(made))
		case "rolls":
			rollsOut(made, now.Add(-time.Second))
		case "overdue":
			rollsOut(made, now.Add(-time.Hour))
		case "slow":
			rollsOut(made, now.Add(-ProofTime))
		case "canary":
			_ = unstructured.SetNestedMap(made.Object, map[string]any{}, "spec", "canary")
		case "demanded":
			f.Canary = true
		case v1alpha1.ReasonRolledBack, v1alpha1.ReasonCanaryPaused:
			fails(made, word, now)
		case "broken":
			f.lined = now.Add(-3 * time.Hour)
			fails(made, v1alpha1.ReasonPodsNotReady, now.Add(-2*time.Hour))
		case "grows":
			f.lined = now.Add(-3 * time.Hour)
			fails(made, v1alpha1.ReasonPodsNotReady, now.Add(-30*time.Second))
		case "down":
			f.lined = now.Add(-3 * time.Hour)
			fails(made, v1alpha1.ReasonPodsNotReady, now.Add(-4*time.Hour))
		case "admitted":
			at = place{number: number, admitted: now.Add(-time.Second)}
		case "stuck":
			at = place{number: number, admitted: now.Add(-time.Hour)}
		case "expected":
			at = place{expected: now.Add(-time.Second), changed: now.Add(-time.Second)}
		case "late":
			at = place{expected: now.Add(-time.Hour), changed: now.Add(-time.Hour)}
		case "unseen":
			isKnown = false
		case "new":
			isKnown = false
			delete(made.Object, "status")
		case "paused":
			made.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "True"})
		case "deleted":
			made.SetDeletionTimestamp(&metav1.Time{Time: now})
		}
	}
	made.SetLabels(labels)
	f.collectors = append(f.collectors, *made)
	if isKnown {
		f.places[client.ObjectKeyFromObject(made)] = at
	}
}

func names(collectors []*unstructured.Unstructured) (names []string) {
	for _, collector := range collectors {
		names = append(names, collector.GetName())
	}
	return names
}

func TestWhoIsAdmitted(t *testing.T) {
	for name, row := range map[string]struct {
		budget string
		fleet  []string
		want   []string // who is admitted
		counts Counts
	}{
		"nobody, when nobody waits":                              {"5%", []string{"a", "b"}, nil, Counts{}},
		"one, however small the percentage is":                   {"5%", []string{"a waits", "b waits"}, []string{"a"}, Counts{Waiting: 1, RollingOut: 1}},
		"one, even if the budget is nothing":                     {"0", []string{"a waits", "b waits"}, []string{"a"}, Counts{Waiting: 1, RollingOut: 1}},
		"a percentage of those that the change concerns":         {"50%", []string{"a waits", "b waits", "c waits", "d waits", "e", "f"}, []string{"a", "b"}, Counts{Waiting: 2, RollingOut: 2}},
		"a percentage, with those that are done":                 {"50%", []string{"a done", "b done", "c waits", "d waits"}, []string{"c", "d"}, Counts{RollingOut: 2}},
		"a percentage, without those that take no change":        {"50%", []string{"a waits", "b waits", "c rollout=hold waits", "d paused waits"}, []string{"a"}, Counts{Waiting: 1, LeftOut: 1, RollingOut: 1}},
		"a percentage, with those on their way by the status":    {"50%", []string{"a rolls", "b rolls", "c rolls", "d rolls", "e waits", "f waits"}, nil, Counts{Waiting: 2, RollingOut: 4}},
		"the next ring when the lower one is not installed":      {"9", []string{"a ring=0 new", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"who began to wait first":                                {"1", []string{"b waits", "a waits"}, []string{"b"}, Counts{Waiting: 1, RollingOut: 1}},
		"nobody while others use the budget up":                  {"1", []string{"a rolls", "b waits"}, nil, Counts{Waiting: 1, RollingOut: 1}},
		"nobody while one is admitted that does not say so":      {"1", []string{"a admitted", "b waits"}, nil, Counts{Waiting: 1, RollingOut: 1}},
		"lower rings first":                                      {"1", []string{"a waits", "b ring=10 waits", "c ring=9 waits"}, []string{"c"}, Counts{Waiting: 2, RollingOut: 1}},
		"no ring before the lower one is ready":                  {"9", []string{"a ring=0 rolls", "b ring=1 waits"}, nil, Counts{Waiting: 1, RollingOut: 1}},
		"no ring before the lower one was reconciled":            {"9", []string{"a ring=0 unseen", "b ring=1 waits"}, nil, Counts{Waiting: 1}},
		"no ring before the lower one was seen with the change":  {"9", []string{"a ring=0 expected", "b ring=1 waits"}, nil, Counts{Waiting: 1}},
		"the next ring when the lower one is never seen with it": {"9", []string{"a ring=0 late", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"the next ring when the lower one is overdue":            {"9", []string{"a ring=0 overdue", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1, Overdue: 1}},
		"the next ring when the lower one never says so":         {"9", []string{"a ring=0 stuck", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1, Overdue: 1}},
		"the next ring when the lower one is paused":             {"9", []string{"a ring=0 paused rolls", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"the next ring when the lower one waits, paused":         {"9", []string{"a ring=0 paused waits", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"the next ring when the lower one is unseen, paused":     {"9", []string{"a ring=0 paused unseen", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"the next ring when the lower one is deleted":            {"9", []string{"a ring=0 deleted waits", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"the next ring when the lower one is held back":          {"9", []string{"a ring=0 rollout=hold waits", "b ring=1 waits"}, []string{"b"}, Counts{LeftOut: 1, RollingOut: 1}},
		"the next ring when the lower one is unseen, held":       {"9", []string{"a ring=0 rollout=hold unseen", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"who is to be now, in any ring, beyond the budget":       {"1", []string{"a overdue", "b waits", "c ring=7 rollout=now waits"}, []string{"c"}, Counts{Held: 1, RollingOut: 1, Overdue: 1}},
		"nobody when those that are overdue use the budget":      {"2", []string{"a@one overdue", "b@two overdue", "c waits"}, nil, Counts{Held: 1, Overdue: 2}},
		"another when those of one namespace use the budget":     {"2", []string{"a@one overdue", "b@one overdue", "c waits"}, []string{"c"}, Counts{RollingOut: 1, Overdue: 2}},
		"one other at a time beside those of one namespace":      {"3", []string{"a@one overdue", "b@one overdue", "c@one overdue", "d rolls", "e waits"}, nil, Counts{Waiting: 1, RollingOut: 1, Overdue: 3}},
		"nobody when those of one namespace and another use it":  {"2", []string{"a@one overdue", "b@one overdue", "c@two overdue", "d waits"}, nil, Counts{Held: 1, Overdue: 3}},
		"no more of a namespace whose own use the budget":        {"2", []string{"a@one overdue", "b@one overdue", "c@one waits", "d"}, nil, Counts{Held: 1, Overdue: 2}},
		"nobody when one is overdue, and the budget is one":      {"1", []string{"a@one overdue", "b waits"}, nil, Counts{Held: 1, Overdue: 1}},
		"nobody when all canary pods of a budget have failed":    {"2", []string{"a@one rolls RolledBack", "b@two rolls CanaryPaused", "c waits"}, nil, Counts{Held: 1, Overdue: 2}},
		"the next ring when the lower one's canary has failed":   {"9", []string{"a ring=0 rolls RolledBack", "b ring=1 waits"}, []string{"b"}, Counts{RollingOut: 1, Overdue: 1}},
		"no ring while a change follows whose canary has failed": {"9", []string{"a ring=0 rolls RolledBack expected", "b ring=1 waits"}, nil, Counts{Waiting: 1, RollingOut: 1}},
		"one when the canary of an owner's change has failed":    {"1", []string{"a RolledBack", "b waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"nobody while a canary may still prove the change":       {"1", []string{"a slow canary", "b waits"}, nil, Counts{Waiting: 1, RollingOut: 1}},
		"nobody while a canary that the platform demands may":    {"1", []string{"a slow demanded", "b waits"}, nil, Counts{Waiting: 1, RollingOut: 1}},
		"another when one without a canary takes as long":        {"2", []string{"a slow", "b waits"}, []string{"b"}, Counts{RollingOut: 1, Overdue: 1}},
		"another when a canary takes longer, as hold can be":     {"2", []string{"a canary overdue", "b waits"}, []string{"b"}, Counts{RollingOut: 1, Overdue: 1}},
		"two by default, of a few":                               {"", []string{"a@one waits", "b@two waits", "c waits"}, []string{"a", "b"}, Counts{Waiting: 1, RollingOut: 2}},
		"another by default, when one is overdue":                {"", []string{"a@one overdue", "b@two waits", "c waits"}, []string{"b"}, Counts{Waiting: 1, RollingOut: 1, Overdue: 1}},
		"nobody by default, when those of two namespaces are":    {"", []string{"a@one overdue", "b@two overdue", "c waits"}, nil, Counts{Held: 1, Overdue: 2}},
		"others before more of a namespace that is overdue":      {"3", []string{"a@one overdue", "b@one waits", "c ring=7 waits"}, []string{"c"}, Counts{Waiting: 1, RollingOut: 1, Overdue: 1}},
		"in any lower ring, which others do not wait for":        {"3", []string{"a@one ring=0 overdue", "b@one ring=0 waits", "c ring=7 waits"}, []string{"c"}, Counts{Waiting: 1, RollingOut: 1, Overdue: 1}},
		"more of a namespace that is overdue, if alone":          {"3", []string{"a@one overdue", "b@one waits", "c"}, []string{"b"}, Counts{RollingOut: 1, Overdue: 1}},
		"as many of each namespace":                              {"4", []string{"a@one waits", "b@one waits", "c@one waits", "d@two waits", "e@six waits"}, []string{"a", "d", "e", "b"}, Counts{Waiting: 1, RollingOut: 4}},
		"fewer of a namespace that has some on their way":        {"4", []string{"a@one rolls", "b@one rolls", "c@one waits", "d@two waits", "e@two waits"}, []string{"d", "e"}, Counts{Waiting: 1, RollingOut: 4}},
		"all of a namespace that is alone":                       {"4", []string{"a@one waits", "b@one waits", "c@one waits", "d@one waits"}, []string{"a", "b", "c", "d"}, Counts{RollingOut: 4}},
		"one when the overdue one is held back":                  {"1", []string{"a rollout=hold overdue", "b waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"one when the one on its way is held back":               {"1", []string{"a rollout=hold rolls", "b waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"one when the overdue one is paused":                     {"1", []string{"a paused overdue", "b waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"one when the overdue one is deleted":                    {"1", []string{"a deleted overdue", "b waits"}, []string{"b"}, Counts{RollingOut: 1}},
		"a ring that is no number is the last one":               {"1", []string{"a ring=-1 waits", "b ring=3 waits"}, []string{"b"}, Counts{Waiting: 1, RollingOut: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(row.budget, now.Add(-time.Second))
			for _, line := range row.fleet {
				f.add(line)
			}
			chosen := f.choose(f.collectors, now)
			if diff := cmp.Diff(row.want, names(chosen.admitted)); diff != "" {
				t.Errorf("admitted (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(row.counts, chosen.Counts); diff != "" {
				t.Errorf("counts (-want +got)\n%s", diff)
			}
			if len(chosen.overdue) != chosen.Overdue {
				t.Errorf("%d are overdue, which are %q", chosen.Overdue, names(chosen.overdue))
			}
		})
	}
}

func TestRingsAndHasteAreTheNamespacesAndBothCanHold(t *testing.T) {
	for name, row := range map[string]struct {
		namespaces map[string]map[string]string
		fleet      []string
		want       []string
	}{
		"a ring of a Collector counts for nothing":      {nil, []string{"a ring=3 waits", "b ring=0 waits"}, []string{"a"}},
		"haste of a Collector counts for nothing":       {nil, []string{"a waits", "b rollout=now waits"}, []string{"a"}},
		"a Collector can hold":                          {nil, []string{"a rollout=hold waits", "b waits"}, []string{"b"}},
		"a ring of a namespace counts":                  {map[string]map[string]string{"one": {v1alpha1.RingLabel: "0"}}, []string{"a@two waits", "b@one waits"}, []string{"b"}},
		"haste of a namespace counts":                   {map[string]map[string]string{"one": {v1alpha1.RolloutLabel: "now"}}, []string{"a@two waits", "b@one waits"}, []string{"a", "b"}},
		"a namespace can hold, whatever Collectors say": {map[string]map[string]string{"one": {v1alpha1.RolloutLabel: "hold"}}, []string{"a@one rollout=now waits"}, nil},
		"a Collector can hold, whatever the namespace says": {
			map[string]map[string]string{"one": {v1alpha1.RolloutLabel: "now"}}, []string{"a@one rollout=hold waits"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("1", now)
			f.Live, f.namespaces = fake.NewClientBuilder().Build(), row.namespaces
			for _, line := range row.fleet {
				f.add(line)
			}
			admitted := names(f.choose(f.collectors, now).admitted)
			slices.Sort(admitted)
			if diff := cmp.Diff(row.want, admitted); diff != "" {
				t.Errorf("admitted (-want +got)\n%s", diff)
			}
		})
	}
}

func TestAChangeThatIsExpectedMovesNoPlaceAndIsNotDoneByWhatWasBefore(t *testing.T) {
	f := newFleet("1", now.Add(-time.Hour))
	moment := now
	f.Now = func() time.Time { return moment }
	for _, line := range []string{"current", "next waits", "chosen admitted", "new unseen"} {
		f.add(line)
	}
	var all []*unstructured.Unstructured
	for i := range f.collectors {
		all = append(all, &f.collectors[i])
	}
	key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: "tenant-acme", Name: name} }
	f.Expect(nil)
	if f.due != nil {
		t.Error("the fleet is looked at for a change that concerns nobody")
	}
	f.Expect(all)
	moment = now.Add(time.Minute)
	f.Expect(all)
	if got := f.places[key("next")]; got != (place{number: 2}) {
		t.Errorf("one that waits has %+v", got)
	}
	if got := f.places[key("chosen")]; got.admitted.IsZero() {
		t.Errorf("one that was admitted has %+v", got)
	}
	for _, name := range []string{"current", "new"} {
		if got := f.places[key(name)]; got != (place{expected: now, changed: moment}) {
			t.Errorf("%s has %+v, and another change must not begin its time anew", name, got)
		}
	}
	f.Done(all[0], now.Add(time.Second), true)
	if got := f.places[key("current")]; got.expected.IsZero() {
		t.Error("up to date by a reconcile that began before the last change")
	}
	f.Done(all[0], moment, false)
	if got := f.places[key("current")]; got.expected.IsZero() {
		t.Error("up to date by a reconcile that failed")
	}
	f.Done(all[2], moment, true)
	if got := f.places[key("chosen")]; got != (place{}) {
		t.Errorf("one that was admitted and takes nothing has %+v", got)
	}
	f.Done(all[0], moment, true)
	if got := f.places[key("current")]; got != (place{}) {
		t.Errorf("up to date, and it has %+v", got)
	}
}
