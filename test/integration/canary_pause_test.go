package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAChangeThatCrashesStaysOnItsCanaryPodsWhereTheOwnerAsksForAPause(t *testing.T) {
	t.Parallel()
	for mode, want := range canaries {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), withCanary(t, mode, v1alpha1.Canary{OnFailure: v1alpha1.CanaryPause})
			before := templateOf(t, collector).Annotations
			reconfigure(t, collector, otherConfig)
			awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
			changed := templateOf(t, collector).Annotations
			g.Expect(changed).NotTo(Equal(before))
			canary := startPod(t, collector, templateOf(t, collector))
			tell(t, canary, crashes)
			awaitReady(t, collector, "False", "CanaryPaused", "pod "+canary.Name+": CrashLoopBackOff, exit code 1; the canary pods stay until you promote or abort")
			g.Expect(limits(t, collector)).To(Equal(want[0]))
			tell(t, canary, func(status *corev1.PodStatus) {
				status.ContainerStatuses = nil
				readyFor(time.Hour)(status)
			})
			touch(t, collector)
			awaitReady(t, collector, "False", "CanaryPaused", "pod "+canary.Name)
			g.Expect(templateOf(t, collector).Annotations).To(Equal(changed), "the canary pod has recovered, and proves nothing any more")
			g.Expect(limits(t, collector)).To(Equal(want[0]))
			g.Expect(revisions(t, collector)).To(HaveLen(2))

			g.Expect(pluginIn(t, collector.Namespace).run("abort", "gateway")).To(ContainSubstring("aborted: change "))
			awaitReady(t, collector, "False", "RolledBack", "the change is aborted")
			g.Expect(templateOf(t, collector).Annotations).To(Equal(before))
			g.Expect(limits(t, collector)).To(Equal(want[1]))
			g.Expect(revisions(t, collector)).To(HaveLen(1))
		})
	}
}
