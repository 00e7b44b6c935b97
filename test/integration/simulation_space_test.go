package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/simulation"
)

// space is a namespace with one Collector, to which the events of a schedule happen.
type space struct {
	namespace string
	history   *stored

	collector *v1alpha1.Collector
	spec      simulation.Spec
	specs     map[types.UID]map[int64]simulation.Spec // by generation
	secret    int                                     // how often the user's Secret was written
	writes    int                                     // makes each write of the schedule another one
	epoch     int                                     // counts changes of what is refused
	refusals  map[string]string                       // labels of the namespace

	mutex      sync.Mutex
	neverReady map[string]bool   // names of Secrets with configurations
	verdicts   map[string]string // by the same
	countdown  int               // requests of the operator until one times out
	timeout    string            // before or after the write
}

// newSpace creates a namespace, in which controllers work until the context ends.
func newSpace(ctx context.Context, w *watcher, first simulation.Spec) (*space, error) {
	s := &space{
		history: newStored(), specs: map[types.UID]map[int64]simulation.Spec{}, refusals: map[string]string{},
		neverReady: map[string]bool{}, verdicts: map[string]string{},
	}
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: namespacePrefix, Labels: map[string]string{"simulation": "true"},
	}}
	if err := plane.client.Create(ctx, created); err != nil {
		return nil, err
	}
	s.namespace = created.Name
	w.histories.Store(s.namespace, s.history)
	go s.control(ctx)
	shared := &corev1.Secret{ // which a Collector may refer to
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "team-config", Labels: map[string]string{collectorLabel: "shared"}},
		Data:       map[string][]byte{"collector.yaml": []byte(contentOf(0, 0))},
	}
	if err := plane.client.Create(ctx, shared); err != nil {
		return nil, err
	}
	return s, s.create(ctx, first)
}

// create creates a Collector, once there is none any more. A finalizer can keep one for long.
func (s *space) create(ctx context.Context, spec simulation.Spec) error {
	if s.collector != nil {
		gone := func() bool { return s.history.now()["Collector/c"] == nil }
		if s.collector.DeletionTimestamp == nil || !s.await(ctx, 2*time.Second, gone) {
			return nil
		}
	}
	s.collector, s.spec = newCollector(s.namespace, "c"), spec
	s.collector.Spec = realSpec(spec)
	err := plane.client.Create(ctx, s.collector)
	s.knows(err)
	return err
}

// knows notes which generation has which spec.
func (s *space) knows(err error) {
	if err != nil {
		return
	}
	uid := s.collector.UID
	s.history.mutex.Lock()
	defer s.history.mutex.Unlock()
	if s.history.acted[s.collector.ResourceVersion] = true; s.specs[uid] == nil {
		s.specs[uid] = map[int64]simulation.Spec{}
	}
	s.specs[uid][s.collector.Generation] = s.spec
}

// await waits until something is so, and tells whether it became so in time.
func (s *space) await(ctx context.Context, most time.Duration, isSo func() bool) bool {
	return pollFor(ctx, 20*time.Millisecond, most, isSo)
}

// awaitSlowly is await for what takes the test itself some time to find out.
func (s *space) awaitSlowly(ctx context.Context, most time.Duration, isSo func() bool) bool {
	return pollFor(ctx, 200*time.Millisecond, most, isSo)
}

func pollFor(ctx context.Context, every, most time.Duration, isSo func() bool) bool {
	look := func(context.Context) (bool, error) { return isSo(), nil }
	return wait.PollUntilContextTimeout(ctx, every, most, true, look) == nil
}

// changeCollector changes the Collector, if it is there.
func (s *space) changeCollector(ctx context.Context, edit func(*v1alpha1.Collector)) error {
	if s.collector.DeletionTimestamp != nil {
		return nil
	}
	before := s.collector.DeepCopy()
	edit(s.collector)
	metav1.SetMetaDataAnnotation(&s.collector.ObjectMeta, "example.com/write", s.next())
	err := plane.client.Patch(ctx, s.collector, client.MergeFrom(before))
	s.knows(err)
	return err
}

func (s *space) next() string {
	s.writes++
	return strconv.Itoa(s.writes)
}

// patch changes an object as a field manager does. There may be no such object any more, and what is refused is not done.
func (s *space) patch(ctx context.Context, object *unstructured.Unstructured, manager string, patch map[string]any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	after := object.DeepCopy()
	err = plane.client.Patch(ctx, after, client.RawPatch(types.MergePatchType, text), client.FieldOwner(manager))
	if err == nil {
		s.history.wrote(s.history.acted, after.GetResourceVersion())
	}
	return unlessRefused(err)
}

func (s *space) remove(ctx context.Context, object *unstructured.Unstructured) error {
	s.history.removes(object.GetUID())
	return unlessRefused(plane.client.Delete(ctx, object.DeepCopy(), client.Preconditions{UID: new(object.GetUID())}))
}

// store creates an object.
func (s *space) store(ctx context.Context, object *unstructured.Unstructured, manager string) error {
	err := plane.client.Create(ctx, object, client.FieldOwner(manager))
	if err == nil {
		s.history.wrote(s.history.acted, object.GetResourceVersion())
	}
	return unlessRefused(err)
}

// unlessRefused drops errors that the events of a schedule cause: quotas, and objects that are there or are not.
func unlessRefused(err error) error {
	isRefusal := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsConflict(err)
	if isRefusal || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// owned returns the objects of a kind that the Collector controls, in the order of their names.
func (s *space) owned(kind string) (found []*unstructured.Unstructured) {
	all := map[string]unstructured.Unstructured{}
	for key, object := range s.history.now() {
		isOwned := metav1.IsControlledBy(object, s.collector) && object.GetDeletionTimestamp() == nil
		if isOwned && (kind == "" || object.GetKind() == kind) && object.GetLabels()["owner"] != "helm" {
			all[key] = *object
		}
	}
	for _, key := range names(all) {
		found = append(found, new(all[key]))
	}
	return found
}

// status returns the Collector as it was last seen. It is nil if there is none.
func (s *space) status() *v1alpha1.Collector {
	found := s.history.now()["Collector/c"]
	if found == nil {
		return nil
	}
	return collectorOf(found)
}

func collectorOf(object *unstructured.Unstructured) *v1alpha1.Collector {
	collector := &v1alpha1.Collector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, collector); err != nil {
		panic(err)
	}
	return collector
}

// isObserved tells whether the operator has looked at the last spec.
func (s *space) isObserved() bool {
	collector := s.status()
	return collector == nil || collector.Generation >= s.collector.Generation && collector.Status.ObservedGeneration == collector.Generation
}

// isDone tells whether the operator has done with the last spec, in one way or the other.
func (s *space) isDone() bool {
	collector := s.status()
	ready := conditionOf(collector, "Ready")
	hasFailed := conditionOf(collector, "ReleaseFailed").Status == corev1.ConditionTrue
	return collector == nil || s.isObserved() && (ready.Status == corev1.ConditionTrue || hasFailed)
}

func conditionOf(collector *v1alpha1.Collector, name string) v1alpha1.Condition {
	if collector != nil {
		for _, condition := range collector.Status.Conditions {
			if condition.Type == name {
				return condition
			}
		}
	}
	return v1alpha1.Condition{}
}

// label changes labels of the namespace; nil removes one.
func (s *space) label(ctx context.Context, labels map[string]any) error {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(s.namespace)
	return s.patch(ctx, namespace, "admin", map[string]any{"metadata": map[string]any{"labels": labels}})
}

// refuse changes what the API server refuses, and waits until it does.
func (s *space) refuse(ctx context.Context) error {
	s.epoch++
	labels := map[string]any{"epoch": strconv.Itoa(s.epoch)}
	for label, value := range s.refusals {
		labels[label] = value
		if value == "" {
			labels[label] = nil
		}
	}
	if err := s.label(ctx, labels); err != nil {
		return err
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"}}
	told := fmt.Sprintf("epoch %d", s.epoch)
	if !s.await(ctx, 30*time.Second, func() bool {
		return isTold(plane.client.Create(ctx, probe.DeepCopy(), client.DryRunAll), told)
	}) {
		return errors.New("the API server does not refuse what it should")
	}
	return nil
}
