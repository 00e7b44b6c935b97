//go:build e2e

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 5.

func TestEachModeRunsAndLeavesNothingOfTheModeBefore(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("detailed"))
	common := append(contents(t, collector.Namespace), "Collector", "EndpointSlice", "Endpoints", "Pod",
		"Secret gateway-config", "Secret sh.helm.release.v1.gateway", "Service gateway", "ServiceAccount gateway")
	create(t, collector)
	for _, step := range []struct {
		mode v1alpha1.Mode
		want []string
		edit func(*v1alpha1.Collector)
	}{
		{v1alpha1.ModeDeployment, []string{"Deployment", "ReplicaSet"}, func(*v1alpha1.Collector) {}},
		{v1alpha1.ModeStatefulSet, []string{"ControllerRevision", "PersistentVolumeClaim", "Service gateway-headless", "StatefulSet"}, addVolume},
		{v1alpha1.ModeDaemonSet, []string{"ControllerRevision", "DaemonSet"}, removeVolume},
		{v1alpha1.ModeDeployment, []string{"Deployment", "ReplicaSet"}, func(*v1alpha1.Collector) {}},
	} {
		change(t, collector, func(c *v1alpha1.Collector) {
			c.Spec.Mode = step.mode
			step.edit(c)
		})
		awaitReady(t, collector)
		span := "a-span-in-mode-" + string(step.mode)
		g := NewWithT(t)
		g.Eventually(func() error { return send(t.Context(), collector, span) }).Should(Succeed())
		awaitPrinted(t, collector, span)
		g.Eventually(func() []string { return contents(t, collector.Namespace) }).
			Should(ConsistOf(append(step.want, common...)), "what is in the namespace in mode %s", step.mode)
	}
}

// addVolume gives each pod a volume of its own, with a log file in it: the collector ends if it cannot write there.
func addVolume(c *v1alpha1.Collector) {
	c.Spec.Replicas = ptr.To[int32](1)
	c.Spec.VolumeClaimTemplates = []v1alpha1.VolumeClaimTemplate{{
		Metadata: v1alpha1.ClaimMetadata{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("10Mi"),
			}},
		},
	}}
	c.Spec.ExtraVolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/otelcol"}}
	c.Spec.PodSecurityContext = &corev1.PodSecurityContext{FSGroup: ptr.To[int64](10001)}
	c.Spec.Collector.Configuration = []byte(strings.Replace(printing("detailed"), "service:",
		"service:\n  telemetry: {logs: {output_paths: [stderr, /var/lib/otelcol/collector.log]}}", 1))
}

func removeVolume(c *v1alpha1.Collector) {
	c.Spec.Replicas, c.Spec.VolumeClaimTemplates, c.Spec.ExtraVolumeMounts, c.Spec.PodSecurityContext = nil, nil, nil, nil
	c.Spec.Collector.Configuration = []byte(printing("detailed"))
}

var revision = regexp.MustCompile(`(\.v[0-9]+|-[0-9a-f]{10})$`)

// contents returns which kinds are in a namespace; of Secrets, Services and ServiceAccounts the names too.
func contents(t *testing.T, namespace string) []string {
	t.Helper()
	lists, err := cluster.Discovery().ServerPreferredNamespacedResources()
	unread, isPartial := discovery.GroupDiscoveryFailedErrorGroups(err)
	for group := range unread { // another test adds and removes the API of metrics, which has no such objects
		isPartial = isPartial && group.Group == "custom.metrics.k8s.io"
	}
	if err != nil && !isPartial {
		t.Fatal(err)
	}
	var found []string
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		for _, kind := range list.APIResources {
			objects := &metav1.PartialObjectMetadataList{}
			objects.SetGroupVersionKind(schema.FromAPIVersionAndKind(list.GroupVersion, kind.Kind))
			if err := cluster.List(t.Context(), objects, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			for _, object := range objects.Items {
				switch kind.Kind {
				case "Event": // is about what was
				case "Secret", "Service", "ServiceAccount":
					found = append(found, kind.Kind+" "+revision.ReplaceAllString(object.Name, ""))
				default:
					found = append(found, kind.Kind)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
