package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// pollInterval is how often the operator asks what the cluster offers.
const pollInterval = 30 * time.Second

var monitorCRDs = envtest.CRDInstallOptions{Paths: []string{"test/integration/testdata/crds"}, ErrorIfPathMissing: true}

// discoveries returns the requests since a mark by which operators found out what the cluster offers.
func discoveries(t *testing.T, since int) (paths []string) {
	t.Helper()
	for _, r := range plane.audit.read(t)[since:] {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if slices.Contains([]string{"/api", "/apis", "/version"}, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Not parallel: it counts requests that do not tell for whom they are.
func TestReconcilesDoNotAskWhatTheClusterOffers(t *testing.T) {
	collector := install(t)
	begin, since := time.Now(), plane.audit.mark(t)
	for range 5 {
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version += "0" })
	}
	polls := 1 + int(time.Since(begin)/pollInterval)
	NewWithT(t).Expect(len(discoveries(t, since))).To(BeNumerically("<=", 3*polls), "requests while %d polls can have come", polls)
}

// Not parallel: it removes a CRD, and stops the shared operator.
func TestACollectorFollowsWhatTheClusterOffers(t *testing.T) {
	g := NewWithT(t)
	known, collector := newMonitored(t), newMonitored(t)
	create(t, known)

	removeMonitors(t)
	since := shared.log.mark()
	create(t, collector) // before the operator asks again
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
	g.Expect(shared.log.reconciles(since, client.ObjectKeyFromObject(collector))).To(HaveEach(BeEmpty()), "failures of reconciles")

	installMonitors(t)
	g.Eventually(func() []unstructured.Unstructured {
		return list(t, collector.Namespace, "monitoring.coreos.com/v1", "ServiceMonitor")
	}).WithTimeout(time.Minute).Should(HaveLen(1))
	awaitRevision(t, collector, 2)
	settle(t, collector)

	uninstallMonitors(t)
	g.Eventually(func() int { return deployedRevision(t, collector) }).WithTimeout(time.Minute).Should(Equal(3))
	settle(t, collector)
	g.Expect(condition(t, collector, "Irreconcilable").Status).To(Equal(corev1.ConditionFalse))
	g.Expect(condition(t, collector, "ReleaseFailed").Status).To(Equal(corev1.ConditionFalse))
}

func installMonitors(t *testing.T) {
	t.Helper()
	if _, err := envtest.InstallCRDs(plane.env.Config, monitorCRDs); err != nil {
		t.Fatal(err)
	}
}

// removeMonitors removes the CRDs of the monitors until the test ends.
func removeMonitors(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		installMonitors(t)
		// The operator would see them too, in a while; tests that come do not wait so long.
		if err := errors.Join(shared.stop(), shared.start(context.Background())); err != nil {
			t.Fatal(err)
		}
	})
	uninstallMonitors(t)
}

// uninstallMonitors removes the CRDs of the monitors, and waits until nobody is told of them any more.
func uninstallMonitors(t *testing.T) {
	t.Helper()
	if err := envtest.UninstallCRDs(plane.env.Config, monitorCRDs); err != nil {
		t.Fatal(err)
	}
	offered := discovery.NewDiscoveryClientForConfigOrDie(plane.env.Config)
	NewWithT(t).Eventually(func() (left []string, err error) {
		_, lists, err := offered.ServerGroupsAndResources() // which is another answer than that of one group, and a later one
		for _, list := range lists {
			if strings.HasPrefix(list.GroupVersion, "monitoring.coreos.com/") {
				left = append(left, list.GroupVersion)
			}
		}
		return left, err
	}).Should(BeEmpty())
}
