package integration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// simulatedKinds are the kinds whose objects take part in a schedule, and the names of their resources.
var simulatedKinds = map[schema.GroupVersionKind]string{
	{Version: "v1", Kind: "ServiceAccount"}: "serviceaccounts", {Version: "v1", Kind: "Secret"}: "secrets",
	{Version: "v1", Kind: "PersistentVolumeClaim"}: "persistentvolumeclaims", {Version: "v1", Kind: "Service"}: "services",
	{Group: "batch", Version: "v1", Kind: "Job"}:                           "jobs",
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}:     "networkpolicies",
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:          "poddisruptionbudgets",
	{Group: "apps", Version: "v1", Kind: "Deployment"}:                     "deployments",
	{Group: "apps", Version: "v1", Kind: "DaemonSet"}:                      "daemonsets",
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}:                    "statefulsets",
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: "horizontalpodautoscalers",
	{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}:          "scaledobjects",
}

// simulatedKind returns the kind of a name.
func simulatedKind(name string) (schema.GroupVersionKind, bool) {
	for kind := range simulatedKinds {
		if kind.Kind == name {
			return kind, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// version is what became of an object by one write.
type version struct {
	revision uint64 // of etcd: it orders all writes
	gone     bool
	at       time.Time // when the test has seen it
	object   *unstructured.Unstructured
}

func (v version) key() string { return v.object.GetKind() + "/" + v.object.GetName() }

// stored is all that was ever stored in a namespace.
type stored struct {
	mutex    sync.Mutex
	versions []version
	live     map[string]*unstructured.Unstructured
	changed  chan struct{} // has something when there is news

	acted   map[string]bool    // the resource versions that a schedule has written
	served  map[string]bool    // those that the controllers of Kubernetes, which the test plays, have written
	deleted map[types.UID]bool // what a schedule has deleted
	gone    map[types.UID]bool // the Collectors that have gone
}

func newStored() *stored {
	return &stored{
		live: map[string]*unstructured.Unstructured{}, changed: make(chan struct{}, 1),
		acted: map[string]bool{}, served: map[string]bool{}, deleted: map[types.UID]bool{}, gone: map[types.UID]bool{},
	}
}

func (h *stored) add(v version) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.versions = append(h.versions, v)
	if v.gone {
		h.gone[v.object.GetUID()] = v.object.GetKind() == "Collector"
		delete(h.live, v.key())
	} else {
		h.live[v.key()] = v.object
	}
	offer(h.changed)
}

// now returns what is there. Nobody changes these objects.
func (h *stored) now() map[string]*unstructured.Unstructured {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return maps.Clone(h.live)
}

// hasGone tells whether the owner of an object is a Collector that has gone.
func (h *stored) hasGone(owner *metav1.OwnerReference) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return owner != nil && h.gone[owner.UID]
}

// isLate tells whether the schedule has created an object for a Collector that was being deleted, or had gone. Garbage collection, which
// no test plays, deletes it then.
func (h *stored) isLate(object *unstructured.Unstructured) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	owner := metav1.GetControllerOf(object)
	written, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return owner != nil && err == nil && h.acted[object.GetResourceVersion()] && slices.ContainsFunc(h.versions, func(v version) bool {
		return v.object.GetUID() == owner.UID && v.object.GetDeletionTimestamp() != nil && v.revision < written
	})
}

// sorted returns all versions in the order in which they were written.
func (h *stored) sorted() []version {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	all := slices.Clone(h.versions)
	slices.SortStableFunc(all, func(a, b version) int { return cmp.Compare(a.revision, b.revision) })
	return all
}

// wrote notes a write of the schedule, or of the controllers.
func (h *stored) wrote(by map[string]bool, resourceVersion string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	by[resourceVersion] = true
}

// removes notes that the schedule deletes an object.
func (h *stored) removes(uid types.UID) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.deleted[uid] = true
}

// watcher writes the histories of namespaces.
type watcher struct{ histories, spaces sync.Map }

// spaceOf returns what is known of a namespace in which events happen. It is nil for another one.
func (w *watcher) spaceOf(namespace string) *space {
	found, _ := w.spaces.Load(namespace)
	s, _ := found.(*space)
	return s
}

// watchAll starts to watch all kinds, and more, until the test ends.
func watchAll(t *testing.T, more ...schema.GroupVersionKind) *watcher {
	t.Helper()
	w := &watcher{}
	watching, err := client.NewWithWatch(plane.env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []schema.GroupVersionKind{{Version: "v1", Kind: "Namespace"}, {Group: "kube8.dev", Version: "v1alpha1", Kind: "Collector"}}
	kinds = append(slices.AppendSeq(kinds, maps.Keys(simulatedKinds)), more...)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := watching.List(ctx, list, client.Limit(1)); err != nil {
			t.Fatal(err)
		}
		list.Items = nil
		running.Go(func() { w.watch(ctx, t, watching, list) })
	}
	return w
}

// watch watches a kind from the resource version of a list on. The API server ends the watch of whoever is too slow for it.
func (w *watcher) watch(ctx context.Context, t *testing.T, watching client.WithWatch, list *unstructured.UnstructuredList) {
	t.Helper()
	for {
		from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
		events, err := watching.Watch(ctx, list, from)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Errorf("watch %s: %v", list.GetKind(), err)
			return
		}
		for event := range events.ResultChan() {
			if event.Type == watch.Error && ctx.Err() == nil {
				t.Errorf("watch %s: %v", list.GetKind(), event.Object)
			}
			if event.Type == watch.Error {
				return
			}
			list.SetResourceVersion(event.Object.(*unstructured.Unstructured).GetResourceVersion())
			w.note(event)
		}
	}
}

func (w *watcher) note(event watch.Event) {
	object := event.Object.(*unstructured.Unstructured)
	name := object.GetNamespace()
	if name == "" {
		name = object.GetName() // a namespace
	}
	found, isSimulated := w.histories.Load(name)
	if !isSimulated {
		return
	}
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resource version %q: %v", object.GetResourceVersion(), err))
	}
	object.SetManagedFields(nil)
	found.(*stored).add(version{revision, event.Type == watch.Deleted, time.Now(), object})
}
