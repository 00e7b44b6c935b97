package integration

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/kustomize"
)

// Not parallel: it stops the shared operator, which would work on the same Collectors.
func TestTheNamespacedInstallNeedsRolesOnly(t *testing.T) {
	home, first, second, foreign := newNamespace(t), newNamespace(t), newNamespace(t), newNamespace(t)
	untouched := newCollector(foreign, "gateway")
	forAll := shared
	if err := forAll.stop(); err != nil {
		t.Error(err)
	}
	if err := plane.client.Create(t.Context(), untouched); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBE_FEATURE_WatchListClient", "false") // older clusters do not stream lists, and the Roles must do for them too
	for _, row := range []struct {
		name, folder string
		home         string // the operator's
		watched      []string
		names        []string // old and new, of namespaces
	}{
		{"for one namespace", "config/namespaced", home, []string{home}, []string{systemNamespace, home}},
		{
			"for several namespaces", "config/namespaced/several", foreign, []string{first, second},
			[]string{systemNamespace, foreign, "team-a", first, "team-b", second},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			base := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: row.home, Name: "shared", Labels: map[string]string{v1alpha1.BaseLabel: "first"}},
				Data:       map[string]string{"part.yaml": "processors: {batch: {}}\n"},
			}
			if err := plane.client.Create(t.Context(), base); err != nil {
				t.Fatal(err)
			}
			shared = installNamespaced(t, row.folder, row.home, row.names...)
			if err := shared.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := shared.stop(); err != nil {
					t.Error(err)
				}
			})
			for _, namespace := range row.watched {
				collector := newWithEverything(namespace)
				create(t, collector)
				upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" }) // it is a label of each object
				NewWithT(t).Expect(names(contents(t, namespace, client.HasLabels{collectorLabel}))).To(ConsistOf(
					"Deployment/gateway", "HorizontalPodAutoscaler/gateway", "NetworkPolicy/gateway", "PodDisruptionBudget/gateway",
					"PodMonitor/gateway", "PrometheusRule/gateway", "Secret/gateway"+filesOf(config), "Service/gateway", "ServiceAccount/gateway", "ServiceMonitor/gateway"))
				upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Bases = []v1alpha1.Base{{Name: base.Name}} })
				NewWithT(t).Eventually(func() []string { return get(t, collector, "", &v1alpha1.Collector{}).Status.Bases }).Should(
					HaveExactElements(HavePrefix(base.Name+"@")), "it reads bases where it runs")
				remove(t, collector)
			}
			NewWithT(t).Expect(get(t, untouched, "", &v1alpha1.Collector{})).To(Equal(untouched))
		})
	}
	shared = forAll
	if err := shared.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitRevision(t, untouched, 1) // there was nothing wrong with it
}

// newWithEverything returns a Collector that becomes an object of every kind but the workloads of other modes.
func newWithEverything(namespace string) *v1alpha1.Collector {
	collector := newCollector(namespace, "gateway")
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MaxReplicas: new(int32(2))}
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	collector.Spec.PodDisruptionBudget = &v1alpha1.PodDisruptionBudget{Enabled: true}
	collector.Spec.PodMonitor, collector.Spec.ServiceMonitor = &v1alpha1.Monitor{Enabled: true}, &v1alpha1.Monitor{Enabled: true}
	collector.Spec.PrometheusRule = &v1alpha1.PrometheusRule{Enabled: true}
	return collector
}

// installNamespaced creates what a folder has, with other names of namespaces, but for the Deployment: it returns an
// operator with the account, the flags and the namespaces that the Deployment says.
func installNamespaced(t *testing.T, folder, home string, names ...string) *operator {
	t.Helper()
	objects, err := kustomize.Build(folder, names...)
	if err != nil {
		t.Fatal(err)
	}
	g, deployment := NewWithT(t), &appsv1.Deployment{}
	for _, object := range objects {
		g.Expect(object.GetKind()).To(BeElementOf("Deployment", "NetworkPolicy", "Role", "RoleBinding", "ServiceAccount"))
		if object.GetKind() == "Deployment" {
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment)).To(Succeed())
			continue
		}
		if err := plane.client.Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	pod := deployment.Spec.Template.Spec
	g.Expect(pod.Containers[0].Args).To(ContainElements("--leader-elect", "--metrics-bind-address=127.0.0.1:8080", "--metrics-secure=false"))
	return &operator{
		binary:         shared.binary,
		account:        types.NamespacedName{Namespace: deployment.Namespace, Name: pod.ServiceAccountName},
		watchNamespace: watchNamespace(t, home, pod.Containers[0].Env),
		// A Pod has ports of its own, and a service account that says its namespace.
		args: append(slices.DeleteFunc(pod.Containers[0].Args, func(arg string) bool { return strings.Contains(arg, "-bind-address") }),
			"--metrics-bind-address="+metricsAddress, "--leader-election-namespace="+home),
	}
}

// watchNamespace returns the variable as the kubelet would set it in a pod of a namespace.
func watchNamespace(t *testing.T, namespace string, variables []corev1.EnvVar) string {
	t.Helper()
	for _, variable := range variables {
		switch from := variable.ValueFrom; {
		case variable.Name != "WATCH_NAMESPACE":
		case from == nil:
			return variable.Value
		case from.FieldRef.FieldPath == "metadata.namespace":
			return namespace
		}
	}
	t.Fatalf("WATCH_NAMESPACE is not set to a namespace: %+v", variables)
	return ""
}
