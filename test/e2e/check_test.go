//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// refusedByTheCollector is valid YAML with an exporter that the collector does not have.
func refusedByTheCollector() string {
	return strings.Replace(printing("basic"), "{debug: {verbosity: basic}}", "{debug: {}, no_such_exporter: {}}", 1)
}

// TestARefusedConfigurationReachesNoPodThatServes has 200 requests a second go to each Collector. A pod that starts again during
// a rollout starts with the configuration that it was rolled out with.
func TestARefusedConfigurationReachesNoPodThatServes(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	rows := map[string]refusal{
		"deployment": {mode: v1alpha1.ModeDeployment, killed: true},
		// Their controllers delete an old pod that is not ready for a moment: that of DaemonSets if it surges, and that of StatefulSets with
		// the feature MaxUnavailableStatefulSet, which Kubernetes 1.37 has on (k8s.io/kubernetes, pkg/controller/daemon/update.go and
		// statefulset/stateful_set_control.go). Only a check protects from that.
		"statefulset":         {mode: v1alpha1.ModeStatefulSet, replicas: new(int32(2))},
		"daemonset":           {mode: v1alpha1.ModeDaemonSet},
		"daemonset-checked":   {mode: v1alpha1.ModeDaemonSet, check: &v1alpha1.Check{}, killed: true},
		"statefulset-checked": {mode: v1alpha1.ModeStatefulSet, check: &v1alpha1.Check{}, killed: true},
	}
	var collectors []*v1alpha1.Collector
	for name, row := range rows {
		collector := newCollector(namespace, name, printing("basic"))
		collector.Spec.Mode, collector.Spec.Replicas, collector.Spec.Check = row.mode, row.replicas, row.check
		create(t, collector)
		collectors = append(collectors, collector)
	}
	steady := newRetryingClient(t, collectors)
	for _, collector := range collectors {
		awaitReady(t, collector)
	}
	steady.start(t)
	steady.awaitMore(t, 50)
	began := time.Now()
	t.Run("meanwhile", func(t *testing.T) {
		for _, collector := range collectors {
			t.Run(collector.Name, func(t *testing.T) {
				t.Parallel()
				rows[collector.Name].tryOn(t, collector)
			})
		}
	})
	steady.awaitMore(t, 50)
	_, failures := steady.stop()
	NewWithT(t).Expect(failures).To(BeEmpty(), "what the client itself refuses")
	t.Logf("%d requests to each in %s, and all were answered", steady.awaitAnswered(t), time.Since(began).Round(time.Second))
}

// refusal is how a configuration that the collector refuses comes to a Collector.
type refusal struct {
	mode     v1alpha1.Mode
	replicas *int32
	check    *v1alpha1.Check
	killed   bool // an old container is, in the middle
}

func (r refusal) tryOn(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	g := NewWithT(t)
	before := podsOf(t, collector)
	old := before[0]
	for _, pod := range before {
		if pod.Name < old.Name {
			old = pod // a StatefulSet rolls from the last pod on
		}
	}
	restarts := 0
	var killer killer
	if r.killed {
		killer, restarts = newKiller(t, old), 1
	}
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(refusedByTheCollector()) })
	if r.check != nil {
		awaitReadySays(t, collector, "False ConfigInvalid", "check exited with 1")
		g.Expect(uids(podsOf(t, collector))).To(Equal(uids(before)), "no pod is touched")
	} else {
		g.Eventually(func() string { return exits(t, collector, old) }).Should(Equal("exit 1, again and again"))
	}
	if r.killed {
		killer.send(t, "-KILL $process")
	}
	g.Eventually(func() corev1.Pod { return *get(t, &old, &corev1.Pod{}) }).Should(And(
		HaveField("UID", old.UID), Satisfy(isReady),
		HaveField("Status.ContainerStatuses", ConsistOf(HaveField("RestartCount", BeEquivalentTo(restarts))))))

	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("basic")) })
	awaitReady(t, collector)
}

// checksOf returns the names of the Jobs by which a Collector's changes were ever checked: their events stay.
func checksOf(t *testing.T, collector *v1alpha1.Collector) []string {
	t.Helper()
	var events corev1.EventList
	if err := cluster.List(t.Context(), &events, client.InNamespace(collector.Namespace)); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, event := range events.Items {
		if event.Reason == "SuccessfulCreate" && strings.HasPrefix(event.InvolvedObject.Name, collector.Name+"-check-") {
			found = append(found, event.InvolvedObject.Name)
		}
	}
	slices.Sort(found)
	return found
}

func TestAHundredEditsEndAtTheLastOne(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	collector.Spec.Check = &v1alpha1.Check{}
	create(t, collector)
	awaitReady(t, collector)
	template := get(t, collector, &appsv1.Deployment{}).Spec.Template

	for i := range 100 {
		text := fmt.Sprintf("%s# edit %d\n", printing("basic"), i)
		if i == 99 {
			text = printing("detailed")
		}
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(text) })
	}
	awaitReady(t, collector)
	g := NewWithT(t)
	g.Eventually(func() error { return send(t.Context(), collector, "after-the-edits") }).Should(Succeed())
	awaitPrinted(t, collector, "after-the-edits") // which only the last one does

	g.Eventually(func() ([]corev1.Secret, error) {
		var secrets corev1.SecretList
		err := cluster.List(t.Context(), &secrets, client.InNamespace(collector.Namespace), client.HasLabels{collectorLabel})
		return secrets.Items, err
	}).Should(HaveLen(2), "Secrets with the first and the last configuration")

	// The first one was checked before, so going back to it needs no other check.
	checks := checksOf(t, collector)
	t.Logf("%d checks", len(checks))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("basic")) })
	awaitReady(t, collector)
	g.Expect(get(t, collector, &appsv1.Deployment{}).Spec.Template).To(Equal(template))
	g.Expect(checksOf(t, collector)).To(Equal(checks), "checks")
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
			spoil: func(c *v1alpha1.Collector) { c.Spec.Image = &v1alpha1.Image{Registry: "registry.invalid"} },
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
			collector.Spec.Check = &v1alpha1.Check{}
			create(t, collector)
			awaitReady(t, collector)
			old := podsOf(t, collector)[0]
			change(t, collector, func(c *v1alpha1.Collector) {
				row.spoil(c)
				c.Spec.Check.TimeoutSeconds = new(int32(20))
			})
			awaitReadySays(t, collector, "False CheckFailed", "DeadlineExceeded")
			NewWithT(t).Expect(podsOf(t, collector)).To(ConsistOf(And(HaveField("UID", old.UID), Satisfy(isReady))))
			change(t, collector, func(c *v1alpha1.Collector) {
				row.mend(c)
				c.Spec.Check.TimeoutSeconds = nil // on a busy machine a pod takes longer to start
			})
			awaitReady(t, collector)
		})
	}
}

// The containers beside the collector's have no say in what a check finds (kube-logging/logging-operator#2303, #952).
func TestTheCollectorAloneDecidesACheck(t *testing.T) {
	t.Parallel()
	beside := func(name string, args ...string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "docker.io/grafana/alloy:v1.21.2", ImagePullPolicy: corev1.PullNever, Args: args,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(bool), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}
	}
	sidecar := beside("sidecar", "hang")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	collector.Spec.Check = &v1alpha1.Check{}
	collector.Spec.InitContainers = []corev1.Container{sidecar}
	collector.Spec.TerminationGracePeriodSeconds = new(int64(3))
	create(t, collector)
	awaitReady(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(refusedByTheCollector()) })
	awaitReadySays(t, collector, "False ConfigInvalid", "check exited with 1")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("detailed")) })
	awaitReady(t, collector)

	g := NewWithT(t)
	g.Eventually(func() []corev1.Pod { return podsOf(t, collector) }).Should(HaveLen(1), "the pods, after the old one has ended")
	before := uids(podsOf(t, collector))
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.InitContainers = append(c.Spec.InitContainers, beside("setup", "no-such-command"))
	})
	awaitReadySays(t, collector, "False CheckFailed", `init container "setup" failed, with exit code 1`)
	g.Expect(uids(podsOf(t, collector))).To(Equal(before), "the pods that serve")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.InitContainers = c.Spec.InitContainers[:1] })
	awaitReady(t, collector)
}
