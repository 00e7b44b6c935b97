// Package flow says whether telemetry flows through Collectors whose spec has a flow.
//
// It reads the metrics that collectors have of themselves from their pods, at the address that the informer cache has, and never by the
// API server. A profile says which metrics count the data that comes in, goes out or is lost. Two samples of a pod make a window, and
// two windows in a row that say the same change the condition. Only the last sample is kept, and no text of a page.
package flow

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// mostPods is how many pods of a Collector are asked in a look.
	mostPods = 2

	// answerTimeout is how long an answer may take, with all of its page.
	answerTimeout = 2 * time.Second

	// atOnce is how many pods are asked at the same time, and ofOne how many of one namespace: one that never answers keeps no other waiting.
	// Those whose last answers were none have ofSilent slots of their own. So many such namespaces keep no other waiting either.
	atOnce, ofSilent, ofOne = 48, 16, 8
)

// Watcher watches the flow of Collectors. Its Start is for a manager, which calls it once the operator leads.
type Watcher struct {
	// Collectors returns the operator's Collectors as the informer cache has them. They must not be changed.
	Collectors func(context.Context) ([]unstructured.Unstructured, error)

	// Find returns a Collector as the informer cache has it, or nil.
	Find func(context.Context, client.ObjectKey) *unstructured.Unstructured

	// Pods reads pods from the informer cache, as status.StripPod leaves them.
	Pods client.Reader

	// Requeue has a Collector reconciled, because its condition is another one.
	Requeue func(client.Object)

	// Period is the time between two looks at a Collector.
	Period time.Duration

	// Await has a change that the operator brings on its way until data flows again where it did before.
	Await bool

	// HostNetwork lets pods be asked that are on the network of their node, or of the operator itself.
	HostNetwork bool

	began  time.Time // what is remembered has the time since then: it is monotonic, also if the clock is set
	asking chan struct{}
	silent chan struct{} // asking those that are known not to answer
	pages  http.Client
	mutex  sync.Mutex
	known  map[types.UID]*entry
	busy   map[string]bool // namespaces whose last look has not ended
}

// entry is what is known of a Collector.
type entry struct {
	memory
	reason, tenant string
	served         *Endpoint // that of the generation that was deployed when it was seen last; nil if none was
}

// target is a Collector with the pods of its label.
type target struct {
	key  client.ObjectKey
	pods []client.ObjectKey
}

// init makes the watcher ready for looks.
func (w *Watcher) init() *Watcher {
	w.asking, w.silent = make(chan struct{}, atOnce), make(chan struct{}, ofSilent)
	w.pages = http.Client{
		Timeout:       answerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// No proxy, and no connection that stays. A page that is compressed could be any size.
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10},
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.began = time.Now().Add(-w.Period) // so that no look is at 0
	w.known, w.busy = map[types.UID]*entry{}, map[string]bool{}
	return w
}

// Start watches until ctx ends.
func (w *Watcher) Start(ctx context.Context) error {
	if w.known == nil {
		w.init()
	}
	for tick := time.NewTicker(w.Period); ; {
		if err := w.look(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot see which pods to ask whether data flows")
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
	}
}

// Condition returns the condition of a Collector, or nil if it has no flow or nothing is known yet.
func (w *Watcher) Condition(collector client.Object) *v1alpha1.Condition {
	known := w.entryOf(collector)
	if known.reason == "" {
		return nil
	}
	return new(conditionFor(known.reason))
}

// AreAwaited returns Await.
func (w *Watcher) AreAwaited() bool { return w.Await }

// Observed returns when a Collector was last looked at, or zero if more verdicts of its pods are waited for.
func (w *Watcher) Observed(collector client.Object) time.Time {
	known := w.entryOf(collector)
	if !known.isObserved {
		return time.Time{}
	}
	return time.Now().Add(known.looked - time.Since(w.began))
}

// entryOf returns what is known of a Collector. It must not be changed.
func (w *Watcher) entryOf(collector client.Object) *entry {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return cmp.Or(w.known[collector.GetUID()], &entry{})
}

// look has each Collector with a flow looked at within a period. It does not wait for a namespace whose pods do not answer.
func (w *Watcher) look(ctx context.Context) error {
	collectors, err := w.Collectors(ctx)
	if err != nil {
		return err
	}
	byNamespace, found, uids := map[string][]*target{}, map[client.ObjectKey]*target{}, map[types.UID]bool{}
	for i := range collectors {
		_, has, _ := unstructured.NestedFieldNoCopy(collectors[i].Object, "spec", "flow")
		if !has || collectors[i].GetDeletionTimestamp() != nil {
			continue
		}
		made := &target{key: client.ObjectKeyFromObject(&collectors[i])}
		byNamespace[made.key.Namespace] = append(byNamespace[made.key.Namespace], made)
		found[made.key], uids[collectors[i].GetUID()] = made, true
	}
	w.mutex.Lock()
	for uid := range w.known {
		if !uids[uid] {
			delete(w.known, uid)
		}
	}
	w.mutex.Unlock()
	if len(found) == 0 {
		return nil
	}
	for namespace, targets := range byNamespace {
		var pods corev1.PodList // of other namespaces there may be many
		if err := w.Pods.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return err //nolint:wrapcheck // the caller says what failed
		}
		for i := range pods.Items {
			key := client.ObjectKeyFromObject(&pods.Items[i])
			if of := found[client.ObjectKey{Namespace: key.Namespace, Name: pods.Items[i].Labels[v1alpha1.CollectorLabel]}]; of != nil {
				of.pods = append(of.pods, key)
			}
		}
		// Each has its turn when it had it the last time.
		slices.SortFunc(targets, func(a, b *target) int { return cmp.Compare(a.key.Name, b.key.Name) })
		w.mutex.Lock()
		isBusy := w.busy[namespace]
		w.busy[namespace] = true
		w.mutex.Unlock()
		if !isBusy {
			go w.lookAt(ctx, namespace, targets)
		}
	}
	return nil
}

// lookAt looks at the Collectors of a namespace, spread over a period.
func (w *Watcher) lookAt(ctx context.Context, namespace string, targets []*target) {
	var all sync.WaitGroup
	began, slots := time.Now(), make(chan struct{}, ofOne)
	for i, next := range targets {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(began.Add(w.Period / 2 * time.Duration(i) / time.Duration(len(targets))))):
		}
		slots <- struct{}{}
		all.Go(func() {
			w.lookAtOne(ctx, next)
			<-slots
		})
	}
	all.Wait()
	w.mutex.Lock()
	delete(w.busy, namespace)
	w.mutex.Unlock()
}

// lookAtOne asks some pods of a Collector, and has it reconciled if its condition is another one then.
func (w *Watcher) lookAtOne(ctx context.Context, of *target) {
	collector := w.Find(ctx, of.key)
	if collector == nil {
		return
	}
	source, has := EndpointOf(collector)
	if !has {
		return
	}
	known := w.entryOf(collector)
	next := &entry{tenant: source.Tenant, served: known.servedOf(collector, &source)}
	var present, canaries []types.UID
	addresses, pages := map[types.UID]string{}, map[types.UID]*reader{}
	for _, key := range of.pods {
		pod := &corev1.Pod{}
		if w.Pods.Get(ctx, key, pod, client.UnsafeDisableDeepCopy) != nil {
			continue // it has gone
		}
		from := next.endpointOf(collector, pod, &source)
		if address := w.addressOf(pod, *from); address != "" {
			present, addresses[pod.UID], pages[pod.UID] = append(present, pod.UID), address, from.pages
			if isOfCanary(collector, pod) {
				canaries = append(canaries, pod.UID)
			}
		}
	}
	var answers []answer
	before := known.byUID()
	for _, uid := range known.next(present, canaries...) {
		slots := w.slot(ctx, before[uid].silent == windows)
		if slots == nil {
			continue // it has its turn at the next look
		}
		sample, why := w.ask(ctx, addresses[uid], pages[uid])
		answers = append(answers, answer{uid, sample, why})
		<-slots
	}
	if ctx.Err() != nil {
		return // the operator ends, so no pod could have answered
	}
	reported := v1alpha1.ConditionOf(collector, v1alpha1.DataFlowing).Reason
	next.reason, next.memory = decide(cmp.Or(known.reason, reported), known.memory, present, answers, time.Since(w.began))
	w.mutex.Lock()
	w.known[collector.GetUID()] = next
	w.mutex.Unlock()
	isOnItsWay := v1alpha1.ConditionOf(collector, v1alpha1.UpdatePending).Reason == v1alpha1.ReasonRollingOut
	if next.reason != reported || isOnItsWay && next.isObserved {
		w.Requeue(collector)
	}
}
