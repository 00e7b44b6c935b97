package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simHold is for how long a canary pod has to be ready. There is one of a Collector.
const simHold = 30 * time.Second

// simMostPods is more than any workload of a schedule has.
const simMostPods = 30

// simStamp begins the stamp of a template, as the model writes templates.
const simStamp = "#"

// stamp stamps a template, as the post-renderer does.
func (in simInputs) stamp(template map[string]any) map[string]any {
	if in.spec.Canary {
		sum := sha256.Sum256(fmt.Append(nil, template))
		_ = unstructured.SetNestedField(template, hex.EncodeToString(sum[:4]), "metadata", "annotations", postrender.TemplateAnnotation)
	}
	return template
}

// stamp returns the stamp of a pod's template, or nothing.
func (p *simPod) stamp() string {
	_, after, _ := strings.Cut(p.template, simStamp)
	stamp, _, _ := strings.Cut(after, "|")
	return stamp
}

// partition returns the first ordinal that has the changed template, if a workload has the form of a canary.
func (o *simObject) partition() (from int, isCanary bool) {
	from = o.limit("partition")
	ready, _ := strconv.Atoi(o.get("spec.minReadySeconds"))
	isOfAll := o.kind() == "StatefulSet" && o.get("annotations."+v1alpha1.CanaryAnnotation) != ""
	return from, from > 0 || ready > 0 || isOfAll
}

// limit returns a number in the update strategy of a workload, or 0.
func (o *simObject) limit(name string) (number int) {
	_, after, _ := strings.Cut(o.get("spec.strategy")+o.get("spec.updateStrategy"), name+":")
	_, _ = fmt.Sscanf(after, "%d", &number) // or there is none
	return number
}

// acceptedTemplate returns the template that a workload has in the accepted revision, or nothing.
func (s *simSpace) acceptedTemplate(o *simObject) string {
	accepted := s.accepted.First(render.Workloads)
	if accepted == nil || accepted.Ref != o.ref {
		return ""
	}
	return s.templateOf(accepted)
}

// templateOf returns the pod template of a rendered workload.
func (s *simSpace) templateOf(workload *render.Object) string {
	return s.unapplied(workload).get(simTemplate)
}

// unapplied returns a rendered workload as an object that was not applied.
func (s *simSpace) unapplied(workload *render.Object) *simObject {
	return &simObject{ref: workload.Ref, fields: s.world.charts.flatten(workload.Content)}
}

// runCanary is the model of the workload controllers for a workload that changes one pod only: that counts as not available.
func (s *simSpace) runCanary(o *simObject, own []*simPod, wanted, from int) {
	template, base := o.get(simTemplate), s.acceptedTemplate(o)
	isNew := func(pod *simPod) bool { return pod.template == template }
	isOld := func(pod *simPod) bool { return !isNew(pod) }
	isStale := func(pod *simPod) bool { return isOld(pod) && pod.canary }
	isNext := func(pod *simPod) bool { return isOld(pod) && pod.ordinal >= from }
	if i := slices.IndexFunc(own, isOld); i >= 0 && !own[i].canary {
		base = own[i].template
	}
	if base == "" {
		base = template
	}
	old, fresh := simCount(own, isOld), simCount(own, isNew)
	switch {
	case simCount(own, isStale) > 0:
		s.removePod(own, isStale)
	case o.kind() == "StatefulSet" && len(own) < wanted:
		if started := s.startCanary(o, own, base); started != nil && started.ordinal >= from {
			started.template, started.canary = template, true
		}
	case o.kind() == "StatefulSet" && simCount(own, isNext) > 0:
		s.removePod(own, isNext)
	case o.kind() == "DaemonSet" && len(own) < wanted, o.kind() == "Deployment" && old >= wanted && fresh == 0:
		s.startCanary(o, own, template)
	case o.kind() == "DaemonSet" && fresh == 0, o.kind() != "DaemonSet" && old > wanted:
		s.removePod(own, isOld)
	case o.kind() == "Deployment" && old < wanted && (base != template || fresh < wanted):
		s.startCanary(o, own, base)
	}
}

// startCanary starts a pod that may be one of a canary, and returns it, or nil if the API server refuses it.
func (s *simSpace) startCanary(o *simObject, own []*simPod, template string) *simPod {
	before := len(s.pods)
	if s.startPod(o, own, template); len(s.pods) == before {
		return nil
	}
	s.pods[before].canary = template == o.get(simTemplate)
	return s.pods[before]
}

// proves notes which templates pods have proven. Until the informer cache shows that, nothing tells that a pod was replaced by another one.
func (s *simSpace) proves() {
	for _, pod := range slices.Concat(s.pods, s.cacheOf) {
		if pod.ready && s.world.now.Sub(pod.since) >= simHold {
			s.proven[pod.template] = true
		}
	}
}

// needsNoProof notes a template of a StatefulSet whose pods lack a claim, or did when that was decided: they are replaced one after the other.
func (s *simSpace) needsNoProof(o *simObject, template string) {
	if slices.ContainsFunc(slices.Concat(s.pods, s.earlier), func(pod *simPod) bool { return pod.ordinal >= 0 && o.lacks(pod) }) {
		s.proven[template] = true
	}
}

// mustBeProven checks that no more than one pod has a template that none has proven, as long as the accepted revision has another one.
// A client that has touched the workload may have taken its pods away.
func (s *simSpace) mustBeProven(o *simObject, template, what string) {
	s.needsNoProof(o, template)
	accepted := s.acceptedTemplate(o)
	isNew := accepted != "" && accepted != template && strings.Contains(template, simStamp)
	isKnown := o.kind() != "DaemonSet" || strings.Contains(accepted, simStamp)
	if isNew && isKnown && !s.proven[template] && !s.touched[o.ref] {
		s.world.violates("S11", "%s of %s, and nothing has proven it", what, o.ref)
	}
}

// mustBeLimited checks that a workload in the form of a canary changes one pod, of as many as the operator saw when it decided. A DaemonSet
// may also change those that its controller replaces at once. A write of other fields limits nothing.
func (s *simSpace) mustBeLimited(before, o *simObject) {
	from, isCanary := o.partition()
	isSame := func(field string) bool { return before != nil && before.get(field) == o.get(field) }
	if !o.isWorkload() || !isCanary || isSame(simTemplate) && isSame("spec.strategy") && isSame("spec.updateStrategy") {
		return
	}
	changes := o.limit("maxSurge") + o.limit("maxUnavailable")
	switch o.kind() {
	case "StatefulSet":
		changes = max(int(s.view[o.ref].Replicas), s.orphans) - from
	case "DaemonSet":
		changes -= simCount(s.decidedBy, func(pod *simPod) bool { return !pod.ready })
	}
	if changes > 1 {
		s.mustBeProven(o, o.get(simTemplate), fmt.Sprintf("%d pods may have the template", changes))
	}
}

// mustBeAcceptedProven checks a revision that is accepted, unless the workload and its pods were not there, so a proof would protect none.
// It protects no pods either that go with their workload, if no record can bring that back.
func (s *simSpace) mustBeAcceptedProven(added plan.Want) {
	workload := added.First(render.Workloads)
	live, isRecorded := s.objects[workload.Ref], s.isRecorded() && s.acceptedOf.hashes == s.world.hashes
	if live == nil || live.deleting && (!isRecorded || len(s.refusals) > 0) { // it cannot be mended, and its pods go
		return
	}
	if live.replicas() == 0 && s.rolledBack(added) == "" { // no pod is there
		return
	}
	isOrphan := func(pod *simPod) bool { return pod.owner == "" && (pod.ready || pod.shown) } // others do not serve, and are not known
	if s.started[workload.Ref] != nil || slices.ContainsFunc(s.pods, isOrphan) {
		next := s.unapplied(workload) // the live one may be held in deletion
		s.mustBeProven(next, next.get(simTemplate), "a template is accepted")
	}
}

// simDecided is what a user has decided about a change, as an annotation of the Collector.
type simDecided struct{ annotation, hash string }

// decide has a user promote or abort the change in the status, or take that back. A promoted change counts as proven.
func (s *simSpace) decide(value string) {
	found := s.state.Canary
	if value != "" && found == nil || !s.exists {
		return
	}
	s.decided, s.dirty = simDecided{}, true
	switch value {
	case "promote":
		s.decided = simDecided{v1alpha1.PromoteAnnotation, found.Hash}
		for hash, record := range s.rendered {
			if workload := record.want.First(render.Workloads); workload != nil && strings.HasPrefix(hash, found.Hash) {
				s.proven[s.templateOf(workload)] = true
			}
		}
	case "abort":
		s.decided = simDecided{v1alpha1.AbortAnnotation, found.Hash}
	}
}

// rolledBack tells which canary has refused what is wanted, or nothing.
func (s *simSpace) rolledBack(want plan.Want) string {
	isPromoted := s.decided.annotation == v1alpha1.PromoteAnnotation && strings.HasPrefix(want.Hash, s.decided.hash)
	if s.promoted != "" && strings.HasPrefix(want.Hash, s.promoted) { // and taken back in mid reconcile
		isPromoted = true
	}
	found := s.state.Canary
	isRetried := found != nil && (s.retried || s.decided != simDecided{v1alpha1.AbortAnnotation, found.Hash}) // it may be again by now
	isTriedAgain := isRetried && found.Aborted
	if found != nil && !isPromoted && !isTriedAgain && found.RolledBack != "" && strings.HasPrefix(want.Hash, found.Hash) {
		return "the canary: " + found.RolledBack
	}
	return ""
}

// onCanary has a defect change what is asked of a canary.
func onCanary(change func(*plan.Canary)) func(*Clients) {
	return situate(func(s *plan.Situation) {
		if s.Canary != nil {
			change(s.Canary)
		}
	})
}

// simFailedUpgrades returns how many upgrades of releases are counted as failed.
func simFailedUpgrades(t *testing.T, registry *prometheus.Registry) (count float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "kube8_release_actions_total" && strings.Contains(metric.String(), "failure") {
				count += metric.GetCounter().GetValue()
			}
		}
	}
	return count
}

func TestACanaryOfTheModelProvesAChangeOrTakesItBack(t *testing.T) {
	begin := []simulation.Event{
		{Action: simulation.Edit, Field: "canary", Value: "true"}, {Action: simulation.Edit, Field: "replicas", Value: "3"},
		{Action: simulation.Pass, N: 60},
	}
	for name, row := range map[string]struct {
		events           []simulation.Event
		pass             time.Duration
		pods             int // of the change
		revision         int64
		verdict          plan.Verdict
		isReady, isToTry bool
	}{
		"one pod has the change at first":  {nil, 20 * time.Second, 1, 1, plan.Proving, false, true},
		"all pods have it when it is good": {nil, 2 * time.Minute, 3, 2, plan.InSync, true, true},
		"no pod has what dies":             {[]simulation.Event{{Action: simulation.Pods, N: 2, Value: "dies"}}, time.Minute, 0, 1, plan.Refused, false, false},
		"no pod has what is never ready":   {[]simulation.Event{{Action: simulation.Pods, N: 2, Value: "never"}}, time.Hour, 0, 1, plan.Refused, false, false},
	} {
		for _, mode := range []string{"deployment", "statefulset"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				w := newSimWorld(simulation.Schedule{Collectors: 1}, &simCharts{}, metrics.New(registry), nil)
				events := append(slices.Clone(begin), row.events...)
				events = slices.Insert(events, 0, simulation.Event{Action: simulation.Edit, Field: "mode", Value: mode})
				for _, event := range append(events, simulation.Event{Action: simulation.Edit, Field: "configuration", Value: "2"}) {
					w.happen(event)
				}
				w.pass(row.pass)
				s := w.spaces[0]
				got := simCount(s.pods, func(pod *simPod) bool { return strings.Contains(pod.template, "c-config-2 ") })
				if got != row.pods || s.state.revision() != row.revision || s.state.verdict != row.verdict || s.state.ready() != row.isReady || w.violation != "" {
					t.Errorf("%d of %d pods, %s %s, want %d pods, revision %d, %s, ready %t", got, len(s.pods), s.state, w.violation,
						row.pods, row.revision, row.verdict, row.isReady)
				}
				if failed := simFailedUpgrades(t, registry); failed != 0 {
					t.Errorf("%v upgrades count as failed, and a proof is none", failed)
				}
			})
		}
	}
}
