package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/simulation"
)

// referee goes through the history of a namespace, write by write, and says which rules the operator has violated.
type referee struct {
	*space
	live       map[string]*unstructured.Unstructured
	collector  *v1alpha1.Collector
	owners     map[types.UID]bool // the Collectors that there have been
	violations []string

	acted   uint64            // when the schedule has done the last thing
	good    map[string]string // what serves, as it was when the last change was accepted
	touched map[string]bool   // what the schedule has changed since then
	doubts  map[string]string // what the operator has changed since the schedule has done something
	most    int64             // pods that the largest workload is to have
	sets    bool              // whether the accepted or the begun revision has a number of pods, which the operator restores
	scaled  time.Time         // when the schedule has changed a workload
	unseen  bool              // a workload was created so soon afterwards that the operator may not have seen how many pods another one has
	lost    time.Time         // when the schedule has deleted a workload that served
	ready   map[types.UID]bool
	deletes map[types.UID]bool
}

// referee checks the safety rules.
func (s *space) referee() []string {
	r := &referee{
		space: s, live: map[string]*unstructured.Unstructured{}, owners: map[types.UID]bool{}, good: map[string]string{},
		touched: map[string]bool{}, doubts: map[string]string{}, ready: map[types.UID]bool{}, deletes: map[types.UID]bool{},
	}
	for _, v := range s.history.sorted() {
		r.look(v)
		if r.live[v.key()] = v.object; v.gone {
			delete(r.live, v.key())
		}
		r.countPods(v)
	}
	return r.violations
}

func (r *referee) violates(rule, format string, args ...any) {
	r.violations = append(r.violations, rule+": "+fmt.Sprintf(format, args...))
}

// look looks at one write.
func (r *referee) look(v version) {
	h, resourceVersion, uid := r.history, v.object.GetResourceVersion(), v.object.GetUID()
	isDeletion := (v.gone || v.object.GetDeletionTimestamp() != nil) && !r.deletes[uid]
	if isDeletion {
		r.deletes[uid] = true
	}
	switch {
	case v.object.GetKind() == "Collector":
		r.lookAtCollector(v)
	case h.acted[resourceVersion], isDeletion && h.deleted[uid]:
		r.acted, r.touched[v.key()] = v.revision, true
		if isDeletion && r.ready[uid] {
			r.lost = v.at
		}
		clear(r.doubts)
	case h.served[resourceVersion]:
		r.ready[uid] = r.ready[uid] || serves(v.object)
	case v.object.GetLabels()["owner"] == "helm" && r.live[v.key()] == nil: // a change begins
		r.accept()
		r.sets = r.sets || r.collector != nil && r.collector.Spec.Replicas != nil
	case v.object.GetLabels()["owner"] == "helm", v.object.GetKind() == "Namespace", v.gone && !isDeletion:
		// a record, what the test creates, and what a finalizer has held
	case isDeletion:
		r.lookAtDeletion(v)
	default:
		r.lookAtWrite(v)
	}
}

func (r *referee) lookAtCollector(v version) {
	collector := collectorOf(v.object)
	r.owners[collector.UID] = true
	isOther := r.collector == nil || r.collector.UID != collector.UID
	if isOther {
		r.good = map[string]string{}
	}
	if isOther || r.collector.Generation != collector.Generation || r.history.acted[collector.ResourceVersion] {
		r.acted = v.revision
		clear(r.doubts)
	}
	isAccepted := !isOther && revisionOf(r.collector) != revisionOf(collector) // also of an earlier generation
	r.collector = collector
	failed, message := conditionOf(collector, "ReleaseFailed"), conditionOf(collector, "Ready").Message
	deployed := collector.Status.DeployedRelease
	switch {
	case isOther:
		r.sets = false
	case isAccepted && deployed != nil:
		r.sets = collector.Spec.Replicas != nil || deployed.Generation != collector.Generation // of an earlier spec it is not known
	}
	switch {
	case isAccepted, deployed != nil && deployed.Generation == collector.Generation && failed.Status == corev1.ConditionFalse:
		r.accept()
		maps.DeleteFunc(r.touched, func(key string, _ bool) bool { return r.live[key] != nil }) // the rest was deleted on the way
	case slices.ContainsFunc(refusedWords, func(word string) bool { return strings.Contains(message, word) }):
		for _, doubt := range r.doubts {
			r.violates("S1", "%s, although the change is refused: %s", doubt, message)
		}
		clear(r.doubts)
	}
}

// revisionOf returns the deployed revision that a Collector's status tells of, or 0.
func revisionOf(collector *v1alpha1.Collector) int64 {
	if collector.Status.DeployedRelease == nil {
		return 0
	}
	return collector.Status.DeployedRelease.Revision
}

// accept notes that what is there is of the accepted revision.
func (r *referee) accept() {
	r.good = map[string]string{}
	for key, object := range r.live {
		r.good[key] = specIn(object)
	}
	clear(r.doubts)
}

// isProtected tells whether a refused change must leave an object as it is.
func isProtected(kind string) bool {
	return slices.Contains([]string{
		"Service", "NetworkPolicy", "PodDisruptionBudget", "Deployment", "DaemonSet", "StatefulSet", "HorizontalPodAutoscaler", "ScaledObject",
	}, kind)
}

// isBlind tells whether something refuses that dry runs do not show.
func (r *referee) isBlind() bool {
	namespace := r.live["Namespace/"+r.namespace]
	if namespace == nil { // its labels were never changed
		return false
	}
	for label := range namespace.GetLabels() {
		isOf := func(how string) bool { return strings.HasPrefix(label, labelled(how)+"-") }
		if slices.ContainsFunc(simulation.Blind, isOf) {
			return true
		}
	}
	return false
}

func (r *referee) isGoing() bool {
	return r.collector == nil || r.deletes[r.collector.UID] || r.collector.DeletionTimestamp != nil
}

// lookAtWrite looks at what the operator has created or changed.
func (r *referee) lookAtWrite(v version) {
	before := r.live[v.key()]
	if before != nil && !r.isOurs(before) {
		r.violates("S4", "%s is written, and is not the Collector's", v.key())
	}
	isNew := before == nil || specIn(before) != specIn(v.object)
	isRepair := r.good[v.key()] == specIn(v.object) || r.touched[v.key()]
	if isProtected(v.object.GetKind()) && isNew && !isRepair && !r.isBlind() && !r.isGoing() && len(r.workloads()) > 0 {
		r.doubts[v.key()] = v.key() + " is written"
	}
}

func (r *referee) isOurs(object *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && r.owners[owner.UID]
}

// workloads are those that the Collector has.
func (r *referee) workloads() (found []*unstructured.Unstructured) {
	for _, key := range slices.Sorted(maps.Keys(r.live)) {
		object := r.live[key]
		isWorkload := object.GetKind() == "Deployment" || object.GetKind() == "DaemonSet" || object.GetKind() == "StatefulSet"
		if isWorkload && object.GetDeletionTimestamp() == nil && r.collector != nil && metav1.IsControlledBy(object, r.collector) {
			found = append(found, object)
		}
	}
	return found
}

// lookAtDeletion looks at what the operator has deleted.
func (r *referee) lookAtDeletion(v version) {
	kind, name := v.object.GetKind(), v.object.GetName()
	if !r.isOurs(v.object) {
		r.violates("S4", "%s is deleted, and is not the Collector's", v.key())
	}
	if r.isGoing() {
		return
	}
	var others []*unstructured.Unstructured
	for _, workload := range r.workloads() {
		if workload.GetUID() != v.object.GetUID() {
			others = append(others, workload)
		}
	}
	isOrphaning := slices.Contains(v.object.GetFinalizers(), metav1.FinalizerOrphanDependents)
	switch {
	case kind == "Secret" || kind == "ServiceAccount" || kind == "PersistentVolumeClaim":
		for _, workload := range others {
			if mountsIn(workload)[kind+"/"+name] && !r.touched[v.key()] {
				r.violates("S1", "%s is deleted, and %s uses it", v.key(), workload.GetKind())
			}
		}
	case kind == "Deployment" || kind == "DaemonSet" || kind == "StatefulSet":
		isServed := slices.ContainsFunc(others, func(other *unstructured.Unstructured) bool { return r.ready[other.GetUID()] })
		isUnseen := v.at.Before(r.lost.Add(time.Second)) // the operator may not have seen that the successor has gone
		if r.ready[v.object.GetUID()] && !isServed && !isUnseen && !isOrphaning && !r.excludes() {
			r.violates("S1", "%s is deleted, and nothing else serves", v.key())
		}
	case isProtected(kind) && !r.isBlind() && !r.touched[v.key()] && r.good[v.key()] != "" && len(others) > 0:
		r.doubts[v.key()] = v.key() + " is deleted"
	}
}

// excludes tells whether two workloads cannot run beside each other.
func (r *referee) excludes() bool { return r.collector.Spec.Ports["otlp"].HostPort != 0 }

// countPods checks that the number of pods does not fall.
func (r *referee) countPods(v version) {
	if r.collector == nil {
		return
	}
	scaled, most := 0, int64(0)
	for _, workload := range r.workloads() {
		if workload.GetKind() != "DaemonSet" {
			replicas, _, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas")
			scaled, most = scaled+1, max(most, replicas)
		}
	}
	isAsked := r.isGoing() || r.sets || r.collector.Spec.Replicas != nil || r.collector.Spec.Mode == v1alpha1.ModeDaemonSet
	isOwn := r.history.acted[v.object.GetResourceVersion()] || r.history.deleted[v.object.GetUID()]
	isWorkload := slices.Contains([]string{"Deployment", "StatefulSet"}, v.object.GetKind())
	switch {
	case isOwn && isWorkload:
		r.scaled = v.at
	case isWorkload && !v.gone && v.object.GetGeneration() == 1 && v.at.Before(r.scaled.Add(time.Second)):
		r.unseen = true
	}
	switch {
	case isAsked || isOwn:
		r.most = most
		return
	case r.unseen: // until there is one workload again, as the model has it
		r.most, r.unseen = most, scaled != 1
		return
	case scaled == 0: // a StatefulSet makes room for its successor
		return
	case most < r.most:
		r.violates("S3", "%d replicas are %d after a write of %s", r.most, most, v.key())
	}
	r.most = most
}

// serves tells whether pods of a workload serve.
func serves(o *unstructured.Unstructured) bool {
	replicas, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
	onNodes, _, _ := unstructured.NestedInt64(o.Object, "status", "numberAvailable")
	return replicas+onNodes > 0
}

// specIn returns what an object does, without who applied it. The number of pods has a rule of its own.
func specIn(o *unstructured.Unstructured) string {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	delete(spec, "replicas")
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// mountsIn names what the pods of a workload use.
func mountsIn(workload *unstructured.Unstructured) map[string]bool {
	used := map[string]bool{}
	volumes, _, _ := unstructured.NestedSlice(workload.Object, "spec", "template", "spec", "volumes")
	for _, volume := range volumes {
		secret, _, _ := unstructured.NestedString(volume.(map[string]any), "secret", "secretName")
		claim, _, _ := unstructured.NestedString(volume.(map[string]any), "persistentVolumeClaim", "claimName")
		used["Secret/"+secret], used["PersistentVolumeClaim/"+claim] = true, true
	}
	account, _, _ := unstructured.NestedString(workload.Object, "spec", "template", "spec", "serviceAccountName")
	used["ServiceAccount/"+account] = true
	return used
}
