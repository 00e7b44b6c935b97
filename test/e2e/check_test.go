//go:build e2e

package e2e

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// refusedByTheCollector is valid YAML with an exporter that the collector does not have.
func refusedByTheCollector() string {
	return strings.Replace(printing("basic"), "{debug: {verbosity: basic}}", "{debug: {}, no_such_exporter: {}}", 1)
}

// A pod that starts again during a rollout starts with the configuration that it was rolled out with.
func TestARefusedConfigurationReachesNoPodThatServes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		mode     v1alpha1.Mode
		replicas *int32
		check    *v1alpha1.Check
	}{
		// A DaemonSet that surges deletes an old pod that is not ready for a moment (k8s.io/kubernetes,
		// pkg/controller/daemon/update.go), so there is no row of one that is not checked.
		"deployment":                  {mode: v1alpha1.ModeDeployment},
		"statefulset":                 {mode: v1alpha1.ModeStatefulSet, replicas: new(int32(2))},
		"deployment that is checked":  {mode: v1alpha1.ModeDeployment, check: &v1alpha1.Check{}},
		"daemonset that is checked":   {mode: v1alpha1.ModeDaemonSet, check: &v1alpha1.Check{}},
		"statefulset that is checked": {mode: v1alpha1.ModeStatefulSet, check: &v1alpha1.Check{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
			collector.Spec.Mode, collector.Spec.Replicas, collector.Spec.Check = row.mode, row.replicas, row.check
			create(t, collector)
			awaitReady(t, collector)
			before := podsOf(t, collector)
			old := before[0]
			for _, pod := range before {
				if pod.Name < old.Name {
					old = pod // a StatefulSet rolls from the last pod on
				}
			}
			killer := newKiller(t, old)

			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(refusedByTheCollector()) })
			g := NewWithT(t)
			if row.check != nil {
				awaitReadySays(t, collector, "False ConfigInvalid", "check exited with 1")
				g.Expect(uids(podsOf(t, collector))).To(Equal(uids(before)), "no pod is touched")
			} else {
				g.Eventually(func() string { return exits(t, collector, old) }).Should(Equal("exit 1, again and again"))
			}
			killer.send(t, "-KILL $process")
			g.Eventually(func() corev1.Pod { return *get(t, &old, &corev1.Pod{}) }).Should(And(
				HaveField("UID", old.UID), Satisfy(isReady),
				HaveField("Status.ContainerStatuses", ConsistOf(HaveField("RestartCount", BeEquivalentTo(1))))))
			g.Eventually(func() error { return send(t.Context(), collector, "after-the-restart") }).Should(Succeed())

			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("basic")) })
			awaitReady(t, collector)
		})
	}
}

func uids(pods []corev1.Pod) (uids []types.UID) {
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	return uids
}

func TestACheckWithoutAVerdictIsNotTakenForARefusal(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ spoil, mend func(*v1alpha1.Collector) }{
		"an image that is nowhere": {
			spoil: func(c *v1alpha1.Collector) { c.Spec.Image = &v1alpha1.Image{Tag: "none", PullPolicy: corev1.PullNever} },
			mend:  func(c *v1alpha1.Collector) { c.Spec.Image = nil },
		},
		"a check that does not end": {
			spoil: func(c *v1alpha1.Collector) { c.Spec.Check.Args = []string{"--config=/etc/collector/config.yaml"} },
			mend:  func(c *v1alpha1.Collector) { c.Spec.Check.Args = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
			collector.Spec.Check = &v1alpha1.Check{TimeoutSeconds: new(int32(20))}
			create(t, collector)
			awaitReady(t, collector)
			old := podsOf(t, collector)[0]
			change(t, collector, row.spoil)
			awaitReadySays(t, collector, "False CheckFailed", "DeadlineExceeded")
			NewWithT(t).Expect(podsOf(t, collector)).To(ConsistOf(And(HaveField("UID", old.UID), Satisfy(isReady))))
			change(t, collector, row.mend)
			awaitReady(t, collector)
		})
	}
}
