package rollout

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// LastRing is that of Collectors without the label.
const LastRing = math.MaxInt

// newest is when the last Collector of each ring became ready. It has each ring with Collectors that take changes.
type newest map[int]time.Time

// note notes a Collector of a ring.
func (n newest) note(ring int, collector *unstructured.Unstructured) {
	if !isInstalled(collector) {
		return
	}
	since := time.Time{}
	if ready := v1alpha1.ConditionOf(collector, "Ready"); ready.Status == corev1.ConditionTrue {
		since = ready.LastTransitionTime.Time
	}
	if since.After(n[ring]) || n[ring].IsZero() {
		n[ring] = since
	}
}

// mayBegin tells whether a ring may begin, or go on: lower rings have been done for as long as Soak says. At a gate, a person has said so
// since. A ring without lower ones, except those that it has passed, may always begin.
func (w *Waves) mayBegin(ring int, ready newest, passed []int, now time.Time) bool {
	var ended time.Time
	for lower := range ready {
		if end := w.endOf(lower, ready); lower < ring && end.After(ended) && !slices.Contains(passed, lower) {
			ended = end
		}
	}
	if ended.IsZero() {
		return true
	}
	return now.Sub(ended) >= w.Soak && (!w.isGated() || !w.continued().Before(ended))
}

// passed returns the lower rings that were done when a ring has begun, if it has: those that were not on their way since the operator
// started. An earlier operator has let the ring begin then, and a Collector of a lower ring can have become ready anew since.
func (w *Waves) passed(ring int, ready newest, isBegun bool) (passed []int) {
	for lower := range ready {
		if _, isKnown := w.ends[lower]; isBegun && lower < ring && !isKnown {
			passed = append(passed, lower)
		}
	}
	return passed
}

// brokenFor is for how long pods do not serve before a Collector counts as broken. A Collector with further pods is not ready for less.
const brokenFor = time.Minute

// broken returns a Collector with the change if its pods have stopped serving since that began, where lower rings soak. An operator that
// has started less than a soak before does not know which Collectors took it, and when, and goes by the time of a soak.
func (w *Waves) broken(collector *unstructured.Unstructured, ring int, now time.Time) []candidate {
	if w.Soak == 0 {
		return nil
	}
	ready := v1alpha1.ConditionOf(collector, "Ready")
	since := ready.LastTransitionTime.Time
	isSince := w.line.Has(client.ObjectKeyFromObject(collector)) && since.After(w.lined)
	if w.lined.Sub(w.began) < w.Soak {
		isSince = isSince || now.Sub(since) < w.Soak
	}
	if ready.Reason != v1alpha1.ReasonPodsNotReady || !isSince || now.Sub(since) < brokenFor {
		return nil
	}
	return []candidate{{collector: collector, ring: ring}}
}

// endOf returns when a ring was done. An operator that has started goes by when the last Collector of the ring became ready, if that was
// before the start: no Collector of the ring was on its way then.
func (w *Waves) endOf(ring int, ready newest) time.Time {
	if ended, isKnown := w.ends[ring]; isKnown {
		return ended
	}
	if last := ready[ring]; !last.IsZero() && last.Before(w.began) {
		return last
	}
	return w.began
}

// isGated tells whether each ring waits for a person.
func (w *Waves) isGated() bool {
	return w.namespaces[w.Namespace][v1alpha1.RolloutLabel] == v1alpha1.RolloutGate
}

// continued returns when a person has last let the next ring begin. A text that is no time counts as never.
func (w *Waves) continued() time.Time {
	at, _ := time.Parse(time.RFC3339, w.namespaces[w.Namespace][v1alpha1.ContinuedAnnotation])
	return at
}

// ringOf returns the ring of a Collector's namespace.
func (w *Waves) ringOf(collector client.Object) int {
	labels := w.namespaces[collector.GetNamespace()]
	if w.Live == nil {
		labels = collector.GetLabels()
	}
	return RingOf(labels)
}

// RingOf returns the ring that labels say. A value that is not a number counts as no label.
func RingOf(labels map[string]string) int {
	ring, err := strconv.ParseUint(labels[v1alpha1.RingLabel], 10, 31)
	if err != nil {
		return LastRing
	}
	return int(ring)
}

// labelledNamespaces reads the labels of namespaces that steer changes.
func (w *Waves) labelledNamespaces(ctx context.Context) (map[string]map[string]string, error) {
	labelled := map[string]map[string]string{}
	if w.Live == nil {
		return labelled, nil
	}
	for _, label := range []string{v1alpha1.RingLabel, v1alpha1.RolloutLabel} {
		found := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
		if err := w.Live.List(ctx, found, client.HasLabels{label}); err != nil {
			return nil, fmt.Errorf("list namespaces with the label %s: %w", label, err)
		}
		for i := range found.Items {
			namespace := &found.Items[i]
			labelled[namespace.Name] = namespace.Labels
			if continued := namespace.Annotations[v1alpha1.ContinuedAnnotation]; continued != "" {
				labelled[namespace.Name][v1alpha1.ContinuedAnnotation] = continued
			}
		}
	}
	return labelled, nil
}
