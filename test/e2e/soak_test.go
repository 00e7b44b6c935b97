//go:build e2e

package e2e

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 22: what happens to pods and to the operator all day is no change of a flow. `make soak` runs it for an hour.

var soak = flag.Duration("soak", 3*time.Minute, "how long the test of disturbed flows lasts")

// pace is the time from one disturbance to the next. Looks come at any moment of it, and pods that are not disturbed have two windows, or
// nothing would ever be told.
const pace = 110 * time.Second

func TestDisturbancesAreNoChangeOfAFlow(t *testing.T) {
	if *soak < 3*pace { // the operator does not restart
		t.Parallel()
	}
	namespace := newNamespace(t, "restricted")
	backend := newCollector(namespace, "backend", printing("basic"))
	create(t, backend)
	gateway := newCollector(namespace, "gateway", passingOn(serviceURL(t, backend)))
	gateway.Spec.Flow, gateway.Spec.Replicas = &v1alpha1.Flow{}, new(int32(2))
	create(t, gateway)
	awaitReady(t, backend)
	awaitReady(t, gateway)
	keepSending(t, gateway, 100*time.Millisecond)
	awaitFlow(t, gateway, "True Flowing")
	toldOf := watchFlow(t, gateway)

	scaleTo := func(replicas int32) func() {
		return func() { change(t, gateway, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(replicas) }) }
	}
	disturbances := []struct {
		name string
		do   func()
	}{
		{"a pod is deleted", func() { replace(t, podsOf(t, gateway)[0]) }},
		{"a container is killed", func() {
			pod := podsOf(t, gateway)[0]
			restarts := func() int32 { return get(t, &pod, &corev1.Pod{}).Status.ContainerStatuses[0].RestartCount }
			before := restarts()
			newKiller(t, pod).send(t, "-KILL $process")
			NewWithT(t).Eventually(restarts).Should(BeNumerically(">", before))
		}},
		{"it is scaled up", scaleTo(3)},
		{"the operator restarts", func() {
			replace(t, operatorPod(t))
			NewWithT(t).Eventually(func() bool { return isReady(operatorPod(t)) }).Should(BeTrue(), "the operator is ready")
		}},
		{"all pods are replaced", func() {
			change(t, gateway, func(c *v1alpha1.Collector) {
				c.Spec.Env = []corev1.EnvVar{{Name: "ROLLED", Value: time.Now().Format(time.TimeOnly)}}
			})
		}},
		{"it is scaled down", scaleTo(1)},
	}
	began, count := time.Now(), 0
	for ; time.Since(began) < *soak; count++ {
		next, is := time.After(pace), disturbances[count%len(disturbances)]
		t.Logf("%s: %s", time.Now().Format(time.TimeOnly), is.name)
		is.do()
		awaitReady(t, gateway)
		<-next
	}
	t.Logf("%d disturbances in %s", count, time.Since(began).Round(time.Second))
	NewWithT(t).Expect(toldOf()).To(Equal([]string{"True Flowing"}), "what DataFlowing said")
}

// replace deletes a pod, and returns when it is gone.
func replace(t *testing.T, pod corev1.Pod) {
	t.Helper()
	if err := cluster.Delete(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() []corev1.Pod {
		return podsWith(t, pod.Namespace, "pod-template-hash", pod.Labels["pod-template-hash"])
	}).
		ShouldNot(ContainElement(HaveField("UID", pod.UID)), "pod %s", pod.Name)
}

// keepSending sends spans to a Collector, until the test ends.
func keepSending(t *testing.T, to *v1alpha1.Collector, every time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	sending.Go(func() {
		for tick := time.NewTicker(every); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				_ = send(context.WithoutCancel(ctx), to, "a-span-that-flows") // a lost one changes nothing
			}
		}
	})
	t.Cleanup(func() {
		stop()
		sending.Wait()
	})
}

// watchFlow watches the condition DataFlowing of a Collector. It returns a function that stops, and tells what it said, from now on.
func watchFlow(t *testing.T, of *v1alpha1.Collector) (toldOf func() []string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var told []string
	var watching sync.WaitGroup
	last := ""
	watching.Go(func() {
		// The API server ends each watch after some time. The next begins with the Collector as it is then.
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			events, err := cluster.Watch(ctx, &v1alpha1.CollectorList{}, client.InNamespace(of.Namespace), client.MatchingFields{"metadata.name": of.Name})
			if err != nil {
				return
			}
			for event := range events.ResultChan() {
				collector, isOne := event.Object.(*v1alpha1.Collector)
				if !isOne {
					continue
				}
				if says := conditionOf(collector, v1alpha1.DataFlowing); says != last {
					last = says
					told = append(told, says)
					t.Logf("%s: DataFlowing is %q", time.Now().Format(time.TimeOnly), says)
				}
			}
		}, time.Second)
	})
	end := func() {
		stop()
		watching.Wait()
	}
	t.Cleanup(end)
	return func() []string {
		end()
		return told
	}
}
