package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// pollInterval is how often the operator asks which APIs the cluster serves.
const pollInterval = 30 * time.Second

// servedCRDs are the CRDs of what a Collector has only on a cluster with them.
var servedCRDs = envtest.CRDInstallOptions{
	Paths: []string{"test/integration/testdata/crds"}, ErrorIfPathMissing: true, MaxTime: timeForCRDs,
}

// otherProjects are files with CRDs, by the module that has them.
var otherProjects = map[string][]string{
	"github.com/kedacore/keda/v2":               {"config/crd/bases/keda.sh_scaledobjects.yaml"},
	"k8s.io/autoscaler/vertical-pod-autoscaler": {"deploy/vpa-v1-crd-gen.yaml"},
	"sigs.k8s.io/gateway-api": {
		"config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
	},
}

// findServedCRDs adds the CRDs of other projects, as they are in Go's module cache.
func findServedCRDs() error {
	for module, files := range otherProjects {
		out, err := exec.Command("go", "-C", "test/integration/crds", "mod", "download", "-json", module).Output()
		if err != nil {
			return fmt.Errorf("download module %s: %w\n%s", module, err, out)
		}
		var found struct{ Dir string }
		if err := json.Unmarshal(out, &found); err != nil {
			return err
		}
		for _, file := range files {
			servedCRDs.Paths = append(servedCRDs.Paths, filepath.Join(found.Dir, file))
		}
	}
	return nil
}

// offeredGroups are their API groups.
var offeredGroups = []string{"monitoring.coreos.com/", "keda.sh/", "autoscaling.k8s.io/", "gateway.networking.k8s.io/"}

// discoveries returns the requests since a mark by which operators found out which APIs the cluster serves.
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
	served := func() (kinds []string) {
		for _, kind := range []schema.GroupVersionKind{
			{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}, {Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"},
			{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"},
			{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
			{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GRPCRoute"},
		} {
			for range list(t, collector.Namespace, kind.GroupVersion().String(), kind.Kind) {
				kinds = append(kinds, kind.Kind)
			}
		}
		return kinds
	}
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MinReplicas: new(int32(0)), MaxReplicas: new(int32(3)), KEDA: &v1alpha1.KEDA{
		Triggers: []v1alpha1.KEDATrigger{{Type: "cron", Metadata: map[string]string{"timezone": "UTC", "start": "0 6 * * *", "end": "0 20 * * *"}}},
	}}
	collector.Spec.VerticalPodAutoscaler = &v1alpha1.VerticalPodAutoscaler{Enabled: true}
	route := &v1alpha1.Route{Enabled: true, ParentRefs: []v1alpha1.ParentReference{{Name: "shared"}}, Hostnames: []string{"otlp.example.com"}}
	collector.Spec.HTTPRoute, collector.Spec.GRPCRoute = route, route
	create(t, known)

	removeMonitors(t)
	since := shared.log.mark()
	create(t, collector) // before the operator asks again
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
	g.Expect(shared.log.reconciles(since, client.ObjectKeyFromObject(collector))).To(HaveEach(BeEmpty()), "failures of reconciles")

	installMonitors(t)
	g.Eventually(served).WithTimeout(time.Minute).Should(ConsistOf(
		"ServiceMonitor", "ScaledObject", "VerticalPodAutoscaler", "HTTPRoute", "GRPCRoute"))
	awaitRevision(t, collector, 2)
	awaitTold(t, collector)

	revision := deployedRevision(t, collector) // by more than one, if the operator looks when only some of the CRDs are there
	uninstallMonitors(t)
	g.Eventually(func() int { return deployedRevision(t, collector) }).WithTimeout(time.Minute).Should(BeNumerically(">", revision))
	awaitTold(t, collector)
	// An apply can fail while only some of the CRDs have gone, until the operator asks again.
	for _, failure := range []string{"Irreconcilable", "ReleaseFailed"} {
		g.Eventually(func() corev1.ConditionStatus { return condition(t, collector, failure).Status }).
			WithTimeout(time.Minute).Should(Equal(corev1.ConditionFalse), failure)
	}
}

func installMonitors(t *testing.T) {
	t.Helper()
	if _, err := envtest.InstallCRDs(plane.env.Config, servedCRDs); err != nil {
		t.Fatal(err)
	}
}

// removeMonitors removes the CRDs of the monitors until the test ends.
func removeMonitors(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		defer func() { // also if they do not come back: without an operator no other test succeeds
			// The operator would see them too, in a while; tests that come do not wait so long.
			if err := errors.Join(shared.stop(), shared.start(context.Background())); err != nil {
				t.Error(err)
			}
		}()
		installMonitors(t)
	})
	uninstallMonitors(t)
}

// uninstallMonitors removes the CRDs of the monitors, and waits until nobody is told of them any more.
func uninstallMonitors(t *testing.T) {
	t.Helper()
	// Its finalizer cannot list what nobody has ever read, and then often goes on only when its informer resyncs, up to five minutes later.
	list(t, "", "autoscaling.k8s.io/v1", "VerticalPodAutoscalerCheckpoint")
	if err := envtest.UninstallCRDs(plane.env.Config, servedCRDs); err != nil {
		t.Fatal(err)
	}
	served := discovery.NewDiscoveryClientForConfigOrDie(plane.env.Config)
	NewWithT(t).Eventually(func() (left []string, err error) {
		_, lists, err := served.ServerGroupsAndResources() // which is another answer than that of one group, and a later one
		for _, list := range lists {
			if slices.ContainsFunc(offeredGroups, func(group string) bool { return strings.HasPrefix(list.GroupVersion, group) }) {
				left = append(left, list.GroupVersion)
			}
		}
		return left, err
	}).Should(BeEmpty())
}
