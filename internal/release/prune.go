package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// uninstallTimeout is for how long after its deletion a Collector stays because of objects that have not gone. It is
	// bounded because somebody else's finalizer may hold one for ever.
	uninstallTimeout = 30 * time.Second

	// goneTimeout is for how long of that one reconcile waits: all Collectors share a few workers. Mostly only the news of
	// the deletions are to come, within milliseconds.
	goneTimeout = time.Second
)

// prune deletes what the Collector controls and was not rendered. An object that a pod still uses stays until the
// pod has gone.
func (r *actionClient) prune() error {
	wanted := r.wanted()
	surplus := r.controlled()
	recent := r.recent(surplus, wanted)
	maps.DeleteFunc(surplus, func(what ref, _ client.Object) bool { return wanted[what] || recent[what] })
	maps.DeleteFunc(r.objects, func(what ref, _ *state) bool { return !wanted[what] })
	for what := range recent {
		if object := r.observed[what]; object != nil && !wanted[what] {
			r.objects[what] = stateOf(object)
		}
	}
	r.waiting = nil
	if len(surplus) == 0 {
		return nil
	}
	used, err := r.used()
	if err != nil {
		return err
	}
	for what, object := range surplus {
		if used[what.kind().Kind+"/"+what.name] {
			if r.waiting == nil {
				r.waiting = map[ref]bool{}
			}
			r.waiting[what] = true
			continue
		}
		if err := r.remove(what, object); err != nil {
			return err
		}
	}
	return nil
}

// discard deletes what was created for an earlier change that has reached no pod, and earlier checks: a Collector has one
// check at a time.
func (r *actionClient) discard() error {
	wanted := r.wanted()
	for what, object := range r.controlled() {
		known := r.objects[what]
		if wanted[what] || stageOf[what.kind().Kind] != checks && (known == nil || !known.fresh) {
			continue
		}
		if err := r.drop(what, object); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes an object and forgets it, so that this reconcile can create it anew.
func (r *actionClient) drop(what ref, object client.Object) error {
	err := r.remove(what, object)
	if err == nil {
		delete(r.objects, what)
		delete(r.observed, what)
	}
	return err
}

func (r *actionClient) wanted() map[ref]bool {
	wanted := map[ref]bool{}
	for _, object := range r.rendered.Objects {
		wanted[refTo(object)] = true
	}
	return wanted
}

// recent returns the newest Secrets of configurations among all objects, as many as there are records of revisions: a pod of
// the revision before this one may be about to start, and who goes back finds the Secret. There are none if no configuration
// is wanted.
func (r *actionClient) recent(all map[ref]client.Object, wanted map[ref]bool) map[ref]bool {
	var newest []ref
	for what := range all {
		if r.isConfiguration(what) {
			newest = append(newest, what)
		}
	}
	if !slices.ContainsFunc(newest, func(what ref) bool { return wanted[what] }) {
		return nil
	}
	slices.SortFunc(newest, func(a, b ref) int { // by version, which tells more than the second of creation
		order, _ := resourceversion.CompareResourceVersion(all[b].GetResourceVersion(), all[a].GetResourceVersion())
		return order
	})
	recent := map[ref]bool{}
	for _, what := range newest[:min(len(newest), maxHistory)] {
		recent[what] = true
	}
	return recent
}

func (r *actionClient) isConfiguration(what ref) bool {
	return what.kind().Kind == "Secret" && strings.HasPrefix(what.name, r.collector.GetName()+"-config")
}

// canPrune tells whether something that waits for pods to go waits no longer.
func (r *actionClient) canPrune() bool {
	if len(r.waiting) == 0 {
		return false
	}
	used, err := r.used()
	for what := range r.waiting {
		if err == nil && !used[what.kind().Kind+"/"+what.name] {
			return true
		}
	}
	return false
}

// controlled returns what the Collector controls: what the informer cache has, and what it does not show yet.
func (r *actionClient) controlled() map[ref]client.Object {
	all := map[ref]client.Object{}
	for what, known := range r.objects {
		if !known.seen {
			object := objectOf(what.kind())
			object.SetName(what.name)
			object.SetUID(known.uid)
			object.SetResourceVersion(known.version)
			all[what] = object
		}
	}
	maps.Copy(all, r.observed)
	return all
}

// used returns what the Collector's pods use, by kind and name.
func (r *actionClient) used() (map[string]bool, error) {
	var pods corev1.PodList
	err := r.cluster.List(r.ctx, &pods, client.InNamespace(r.collector.GetNamespace()),
		client.MatchingLabels{v1alpha1.CollectorLabel: r.collector.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the Collector's pods in the informer cache: %w", err)
	}
	used := map[string]bool{}
	for i := range pods.Items {
		spec := &pods.Items[i].Spec
		used["ServiceAccount/"+spec.ServiceAccountName] = true
		for _, volume := range spec.Volumes {
			if volume.Secret != nil {
				used["Secret/"+volume.Secret.SecretName] = true
			}
			if volume.ConfigMap != nil {
				used["ConfigMap/"+volume.ConfigMap.Name] = true
			}
		}
	}
	return used, nil
}

// remove deletes an object that the Collector controls, and no other that may have taken its name.
func (r *actionClient) remove(what ref, object client.Object) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	doomed, uid := objectOf(what.kind()), object.GetUID()
	doomed.SetNamespace(r.collector.GetNamespace())
	doomed.SetName(what.name)
	err := r.cluster.Delete(r.ctx, doomed, client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("delete %s: %w", what, err)
	}
	return nil
}

// uninstall deletes all that the Collector controls, and the records of its releases. It tells whether there was anything.
func (r *actionClient) uninstall() (found bool, err error) {
	if err := r.readRecords(); err != nil {
		return false, err
	}
	found = len(r.controlled())+len(r.records) > 0
	if err := r.removeAll(); err != nil {
		return found, err
	}
	if err := r.awaitGone(); err != nil {
		if deleted := r.collector.GetDeletionTimestamp(); deleted == nil || time.Since(deleted.Time) < uninstallTimeout {
			return found, err
		}
		log.FromContext(r.ctx).Info("let the Collector go without what it became", "because", err.Error())
	}
	return found, r.forgetRecords(math.MaxInt)
}

// removeAll deletes all that the Collector controls.
func (r *actionClient) removeAll() (err error) {
	all := r.controlled()
	var mutex sync.Mutex
	together(slices.Collect(maps.Keys(all)), func(what ref) {
		if failed := r.remove(what, all[what]); failed != nil {
			mutex.Lock()
			err = errors.Join(err, failed)
			mutex.Unlock()
		}
	})
	if err == nil {
		r.objects = nil
	}
	return err
}

// awaitGone waits until the informer cache has nothing that the Collector controls. It is an error that names what there
// is, and what holds it. For what a finalizer holds it does not wait.
func (r *actionClient) awaitGone() error {
	var left []string
	err := wait.PollUntilContextTimeout(r.ctx, 2*time.Millisecond, goneTimeout, true, func(ctx context.Context) (bool, error) {
		if err := r.observe(ctx); err != nil {
			return false, err
		}
		left = nil
		held := 0
		for what, object := range r.observed {
			finalizers := ""
			if len(object.GetFinalizers()) > 0 {
				finalizers = " with finalizers " + strings.Join(object.GetFinalizers(), ", ")
			}
			if finalizers != "" && object.GetDeletionTimestamp() != nil {
				held++
			}
			left = append(left, what.String()+finalizers)
		}
		return held == len(left), nil
	})
	slices.Sort(left)
	switch {
	case len(left) > 0:
		return fmt.Errorf("deleted, but still there: %s; the Collector goes when they are gone, or after %s",
			strings.Join(left, ", "), uninstallTimeout)
	case err != nil:
		return fmt.Errorf("wait for what was deleted: %w", err)
	}
	return nil
}
