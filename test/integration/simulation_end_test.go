package integration

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/simulation"
)

// accepted returns the spec that is deployed, if any.
func (s *space) accepted() (simulation.Spec, bool) {
	collector := s.status()
	if collector == nil || collector.Status.DeployedRelease == nil {
		return simulation.Spec{}, false
	}
	s.history.mutex.Lock()
	defer s.history.mutex.Unlock()
	spec, isKnown := s.specs[collector.UID][collector.Status.DeployedRelease.Generation]
	return spec, isKnown
}

// undecided says why the operator has not done with the last spec, if it has not.
func (s *space) undecided() string {
	collector := s.status()
	switch {
	case s.collector.DeletionTimestamp != nil:
		if collector != nil && s.collector.UID == collector.UID {
			return "the Collector is still there"
		}
		return ""
	case collector == nil:
		return "there is no Collector"
	case !s.isObserved():
		return "the last generation is not observed"
	case s.refused() != "":
		return ""
	}
	deployed, failed := collector.Status.DeployedRelease, conditionOf(collector, "ReleaseFailed")
	if deployed == nil || deployed.Generation != collector.Generation || failed.Status != corev1.ConditionFalse {
		return fmt.Sprintf("the last spec is not deployed: Ready %+v", conditionOf(collector, "Ready"))
	}
	if update := conditionOf(collector, v1alpha1.UpdatePending); update.Status == corev1.ConditionTrue {
		return "a change waits: " + update.Message
	}
	return ""
}

// refused says why the last spec may never be deployed. Nobody has to deploy it then.
func (s *space) refused() string {
	spec := s.spec.Effective()
	_, isKnown := s.accepted()
	s.mutex.Lock()
	verdict := s.verdicts["c"+filesOf(contentOf(spec.Configuration, -1))]
	s.mutex.Unlock()
	if verdict == "accepted" {
		verdict = ""
	}
	collector := s.status()
	isDeployed := isKnown && collector.Status.DeployedRelease.Generation == collector.Generation
	message := conditionOf(collector, "Ready").Message
	switch {
	case spec.Configuration == simulation.Broken:
		return "the configuration is broken"
	case spec.Check != 0 && verdict != "" && !isDeployed:
		return "the check is " + verdict
	case isDeployed:
	case strings.Contains(message, "cannot shrink"):
		return message
	}
	return ""
}

// isStuck tells whether pods with the configuration cannot become ready.
func (s *space) isStuck() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.neverReady["c"+filesOf(contentOf(s.spec.Configuration, -1))]
}

// likeness is what the Collector has become, by kind and name, without what tells it from its twin.
func (s *space) likeness(spec simulation.Spec) map[string]string {
	all, used := map[string]string{}, map[string]bool{}
	for _, object := range s.owned("") {
		maps.Copy(used, mountsIn(object))
	}
	for _, object := range s.owned("") {
		key := object.GetKind() + "/" + object.GetName()
		if object.GetKind() == "Job" || strings.HasPrefix(key, "Secret/c-config-") && !used[key] {
			continue
		}
		one := object.DeepCopy()
		for _, field := range [][]string{
			{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "creationTimestamp"},
			{"metadata", "annotations", "deprecated.daemonset.template.generation"}, {"metadata", "annotations", "example.com/note"},
			{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"status"},
		} {
			unstructured.RemoveNestedField(one.Object, field...)
		}
		if spec.Effective().Replicas == 0 {
			unstructured.RemoveNestedField(one.Object, "spec", "replicas")
		}
		if object.GetKind() == "Secret" { // a record has no data of it, and so it may have marks of an earlier revision
			one.SetLabels(nil)
			unstructured.RemoveNestedField(one.Object, "metadata", "annotations", "kube8.dev/applied")
			unstructured.RemoveNestedField(one.Object, "metadata", "annotations", "kube8.dev/checked")
		}
		if len(one.GetAnnotations()) == 0 {
			one.SetAnnotations(nil)
		}
		all[key] = strings.NewReplacer(s.namespace, "NAMESPACE", string(s.collector.UID), "UID").Replace(toYAML(one.Object))
	}
	return all
}

// startTwin has an undisturbed Collector become what the accepted spec says. It is nil if there is nothing to be like.
func (s *space) startTwin(ctx context.Context, w *watcher) (*space, error) {
	spec, isKnown := s.accepted()
	if !isKnown || s.collector.DeletionTimestamp != nil {
		return nil, nil
	}
	twin, err := newSpace(ctx, w, spec)
	if err != nil {
		return nil, err
	}
	for n := range s.secret { // the content that is deployed, which need not be the last one
		if sha256Of(contentOf(0, n+1)) == s.status().Status.ConfigHash {
			twin.secret = n
			return twin, twin.happen(ctx, simulation.Event{Action: simulation.RewriteSecret, N: 1})
		}
	}
	return twin, nil
}

// chartIn finds what the chart decides about a workload.
var chartIn = regexp.MustCompile(`kube8.dev/applied: .*|chart-\d\.example\.com|ghcr\.io/open-telemetry/opentelemetry-collector-releases`)

// unlike says how a Collector differs from its twin, and from what both levels expect.
func (s *space) unlike(twin *space) string {
	if why := s.undecided(); why != "" {
		return why
	}
	if s.collector.DeletionTimestamp != nil {
		return s.orphans()
	}
	if twin == nil {
		return ""
	}
	if why := twin.undecided(); why != "" {
		return "the twin: " + why
	}
	spec := twin.spec
	got, want := s.likeness(spec), twin.likeness(spec)
	if s.isStuck() || s.refused() != "" { // what served before stays until the others serve, and what a check's Job uses
		maps.DeleteFunc(got, func(key, _ string) bool { return want[key] == "" })
	}
	if s.refused() != "" { // the operator's change waits, too
		for _, all := range []map[string]string{got, want} {
			for key, text := range all {
				all[key] = chartIn.ReplaceAllString(text, "CHART")
			}
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		return "it differs from its twin " + twin.namespace + ": " + diff
	}
	var has []string
	for key := range want {
		if name := expectedName(key); name != "" {
			has = append(has, name)
		}
	}
	if slices.Sort(has); !slices.Equal(has, simulation.Expected(spec)) {
		return fmt.Sprintf("there are %v, the model has %v", has, simulation.Expected(spec))
	}
	ready := conditionOf(s.status(), "Ready")
	if wantReady := s.refused() == ""; !s.isStuck() && wantReady != (ready.Status == corev1.ConditionTrue) {
		return fmt.Sprintf("S7: Ready is %s: %s %s (refused: %q)", ready.Status, ready.Reason, ready.Message, s.refused())
	}
	return ""
}

// orphans says what is left of a Collector that has gone.
func (s *space) orphans() string {
	for key, object := range s.history.now() {
		isTheTests := object.GetKind() == "Namespace" || object.GetName() == "team-config" || s.history.isLate(object)
		if isOwned := len(object.GetOwnerReferences()) > 0 || object.GetLabels()["owner"] == "helm"; isOwned && !isTheTests {
			return key + " outlives the Collector"
		}
	}
	return ""
}

// tell returns what there is to know of a schedule that violates a rule.
func (s *space) tell() string {
	var text strings.Builder
	for _, v := range s.history.sorted() {
		by := "operator"
		switch resourceVersion := v.object.GetResourceVersion(); {
		case s.history.acted[resourceVersion], s.history.deleted[v.object.GetUID()] && (v.gone || v.object.GetDeletionTimestamp() != nil):
			by = "schedule"
		case s.history.served[resourceVersion]:
			by = "controllers"
		}
		more := ""
		if v.object.GetKind() == "Collector" {
			collector := collectorOf(v.object)
			ready := conditionOf(collector, "Ready")
			more = fmt.Sprintf("observed %d, Ready %s %s %s", collector.Status.ObservedGeneration, ready.Status, ready.Reason, ready.Message)
		}
		fmt.Fprintf(&text, "%d %s: %s %s generation %d gone %t deleting %t %s\n", v.revision, by, v.key(), v.object.GetUID()[:8],
			v.object.GetGeneration(), v.gone, v.object.GetDeletionTimestamp() != nil, more)
	}
	var lines []string
	for _, line := range shared.log.since(0) {
		if strings.Contains(line.text, s.namespace) {
			lines = append(lines, line.text)
		}
	}
	return text.String() + strings.Join(lines[max(0, len(lines)-40):], "\n")
}
