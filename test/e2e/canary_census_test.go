//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// templateAnnotation is on pods, and tells those of a change from others.
const templateAnnotation = "kube8.dev/template"

// counted has all pods that a Collector has had since the census began, each as it was last.
type counted struct {
	of    *v1alpha1.Collector
	old   []corev1.Pod // those that were there
	most  int          // how many pods may ever have a change that fails
	mutex sync.Mutex
	pods  map[types.UID]*corev1.Pod
	gone  map[types.UID]bool
	ready time.Time // since when one of those with the change was ready first; its status says so as long as it is
}

// census counts a Collector's pods until the test ends. Those that are there have the accepted revision.
func census(t *testing.T, of *v1alpha1.Collector) *counted {
	t.Helper()
	c := &counted{most: 1, of: get(t, of, &v1alpha1.Collector{}), pods: map[types.UID]*corev1.Pod{}, gone: map[types.UID]bool{}}
	NewWithT(t).Eventually(func() int {
		c.old = podsOf(t, of)
		return len(slices.DeleteFunc(slices.Clone(c.old), func(pod corev1.Pod) bool { return !c.hasChange(&pod) && isReady(pod) }))
	}).Should(BeZero(), "pods that are about to go")
	if c.of.Spec.Mode == v1alpha1.ModeDaemonSet {
		age(t, c.old)
	}
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		// The API server ends each watch after some time. The next begins with the pods as they are then.
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			events, err := cluster.Watch(ctx, &corev1.PodList{}, client.InNamespace(of.Namespace), client.MatchingLabels{collectorLabel: of.Name})
			if err != nil {
				return
			}
			for event := range events.ResultChan() {
				c.note(event)
			}
		}, time.Second)
	})
	t.Cleanup(func() { stop(); watching.Wait() })
	return c
}

// age makes pods look as if they had been ready for long, as those of a DaemonSet must have been before a change proves itself. The kubelet
// leaves that as it is until it has news of a pod.
func age(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		before := pod.DeepCopy()
		for i := range pod.Status.Conditions {
			if pod.Status.Conditions[i].Type == corev1.PodReady {
				pod.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
			}
		}
		if err := cluster.Status().Patch(t.Context(), &pod, client.StrategicMergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *counted) note(event watch.Event) {
	pod, isPod := event.Object.(*corev1.Pod)
	if !isPod {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.pods[pod.UID], c.gone[pod.UID] = pod, event.Type == watch.Deleted
	if at := readySince(pod); c.hasChange(pod) && !at.IsZero() && (c.ready.IsZero() || at.Before(c.ready)) {
		c.ready = at
	}
}

// hasChange tells whether a pod has another template than the accepted one.
func (c *counted) hasChange(pod *corev1.Pod) bool {
	return pod.Annotations[templateAnnotation] != c.of.Status.DeployedRelease.Template
}

// changed returns the pods that have ever had a change, by their age.
func (c *counted) changed() (pods []*corev1.Pod) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, pod := range c.pods {
		if c.hasChange(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return pods
}

// failedAt returns when a container of a pod with a change first ended, or else when such a pod became ready.
func (c *counted) failedAt() (at time.Time) {
	for _, pod := range c.changed() {
		for _, container := range pod.Status.ContainerStatuses {
			for _, state := range []corev1.ContainerState{container.State, container.LastTerminationState} {
				if ended := state.Terminated; ended != nil && ended.ExitCode == 1 && (at.IsZero() || ended.FinishedAt.Time.Before(at)) {
					at = ended.FinishedAt.Time
				}
			}
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if at.IsZero() {
		at = c.ready
	}
	return at
}

// readySince returns when a pod became ready. It is zero for one that is not.
func readySince(pod *corev1.Pod) (at time.Time) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			at = condition.LastTransitionTime.Time
		}
	}
	return at
}

// awaitBack waits until the accepted revision serves again, within a time of the failure of a canary pod. Ready has one of some texts. No
// old pod was touched but the last one of a StatefulSet, which was the canary, and no other pod has ever had the change.
func (c *counted) awaitBack(t *testing.T, within time.Duration, texts ...string) {
	t.Helper()
	g, failed := NewWithT(t), time.Time{}
	g.Eventually(func(g Gomega) {
		if at := c.failedAt(); failed.IsZero() || !at.IsZero() && at.Before(failed) {
			failed = at
		}
		current := get(t, c.of, &v1alpha1.Collector{})
		g.Expect(readyOf(current)).To(Equal("False RolledBack"), "%+v", current.Status.Conditions)
		g.Expect(servesAs(t, c.of)).To(BeEmpty())
		left := slices.DeleteFunc(podsOf(t, c.of), func(pod corev1.Pod) bool { return !c.hasChange(&pod) })
		g.Expect(left).To(BeEmpty(), "pods with the change")
		message := ""
		for _, condition := range current.Status.Conditions {
			if condition.Type == "Ready" {
				message = condition.Message
			}
		}
		g.Expect(slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) })).To(BeTrue(), message)
	}).WithTimeout(within+2*time.Minute).Should(Succeed(), "the accepted revision serves again")
	took := time.Since(failed)
	t.Logf("%s: the accepted revision serves again %s after the failure, with %d pods that had the change, and %d of %d old pods touched",
		t.Name(), took.Round(time.Second), len(c.changed()), len(c.touched()), len(c.kept()))
	g.Expect(took).To(BeNumerically("<", within))
	g.Expect(len(c.changed())).To(BeNumerically("<=", c.most), "pods that have ever had the change")
	c.checkOld(t)
}

// kept returns the old pods that stay as they are while a change proves itself: all but the last one of a StatefulSet.
func (c *counted) kept() []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(c.old), func(pod corev1.Pod) bool {
		return c.of.Spec.Mode == v1alpha1.ModeStatefulSet && strings.HasSuffix(pod.Name, "-1")
	})
}

// touched returns those of them that were deleted or restarted, as they are now.
func (c *counted) touched() (pods []*corev1.Pod) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, pod := range c.kept() {
		if now := c.pods[pod.UID]; c.gone[pod.UID] || now.DeletionTimestamp != nil || now.Status.ContainerStatuses[0].RestartCount > 0 {
			pods = append(pods, now)
		}
	}
	return pods
}

// checkOld expects that none of them was.
func (c *counted) checkOld(t *testing.T) {
	t.Helper()
	for _, pod := range c.touched() {
		t.Errorf("old pod %s was deleted or restarted: %+v", pod.Name, pod.Status)
	}
}

// checkOrder expects that the pods after the first one got the change when that one had been ready for as long as is asked.
func (c *counted) checkOrder(t *testing.T) {
	t.Helper()
	pods := c.changed()
	first := readySince(pods[0])
	if slow := first.Sub(pods[0].Status.StartTime.Time); slow < slowness-time.Second {
		t.Errorf("the first pod was ready after %s", slow)
	}
	for _, pod := range pods[1:] {
		if early := pod.CreationTimestamp.Sub(first); early < shortHold-time.Second {
			t.Errorf("pod %s has the change %s after the first one was ready", pod.Name, early)
		}
	}
}

// servesAs says how the workload of a Collector differs from one whose pods are all of the accepted revision and available, or nothing.
func servesAs(t *testing.T, accepted *v1alpha1.Collector) string {
	t.Helper()
	pods, err := workload(t.Context(), accepted)
	switch {
	case err != nil:
		return err.Error()
	case pods.hash != accepted.Status.ConfigHash:
		return "another configuration"
	case !pods.observed, pods.total != pods.want, pods.updated != pods.want, pods.available != pods.want:
		return "its pods"
	}
	return ""
}
