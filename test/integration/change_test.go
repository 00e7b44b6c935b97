package integration

import (
	"slices"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAChangedConfigurationReplacesTheSecretAndRollsThePods(t *testing.T) {
	t.Parallel()
	collector := install(t)
	changed := "exporters: {debug: {}} # " + secret
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(changed) })

	g := NewWithT(t)
	g.Expect(get(t, collector, filesOf(changed), &corev1.Secret{}).Data).To(Equal(map[string][]byte{"config.yaml": []byte(changed)}))
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Annotations).To(HaveKeyWithValue(hashAnnotation, sha256Of(changed)))
}

func TestLabelsAndAnnotationsOfACollectorDoNotRollThePods(t *testing.T) {
	t.Parallel()
	collector := install(t)
	before := get(t, collector, "", &appsv1.Deployment{})
	touch(t, collector)

	g := NewWithT(t)
	g.Expect(get(t, collector, "", &appsv1.Deployment{})).To(Equal(before))
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
}

func TestAnotherBase64OfTheSameConfigurationChangesNothing(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Configuration = []byte("a: {}")
	create(t, collector)
	before, since := contents(t, collector.Namespace, client.HasLabels{collectorLabel}), shared.log.mark()

	// The last bits of the last letter are padding.
	for _, encoded := range []string{"YToge30=", "YToge31="} {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"collector":{"configuration":"`+encoded+`"}}}`))
		if err := plane.client.Patch(t.Context(), collector.DeepCopy(), patch); err != nil {
			t.Fatal(err)
		}
	}
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))

	g := NewWithT(t)
	g.Expect(contents(t, collector.Namespace, client.HasLabels{collectorLabel})).To(Equal(before))
	g.Expect(deployedRevision(t, collector)).To(Equal(1))
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Generation).To(BeEquivalentTo(2))
}

func TestAnotherVersionIsAnotherImage(t *testing.T) {
	t.Parallel()
	collector := install(t)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "v0.151.0" })

	template := get(t, collector, "", &appsv1.Deployment{}).Spec.Template
	g := NewWithT(t)
	g.Expect(template.Spec.Containers[0].Image).To(HaveSuffix("/opentelemetry-collector:0.151.0"))
	g.Expect(template.Annotations).To(HaveKeyWithValue(hashAnnotation, sha256Of(config)))
}

func TestAnotherPortNumberReplacesTheOldOne(t *testing.T) {
	t.Parallel()
	collector := install(t)
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Ports = map[string]v1alpha1.Port{"otlp": {Port: 5317}, "otlp-http": {Enabled: new(false)}}
	})
	ports := map[string]int32{}
	for _, port := range get(t, collector, "", &corev1.Service{}).Spec.Ports {
		ports[port.Name] = port.Port
	}
	NewWithT(t).Expect(ports).To(Equal(map[string]int32{"otlp": 5317, "metrics": 8888}))
}

func TestAnotherModeReplacesTheWorkload(t *testing.T) {
	t.Parallel()
	collector := install(t)
	for _, step := range []struct {
		mode v1alpha1.Mode
		want []string
	}{
		{v1alpha1.ModeDaemonSet, []string{"DaemonSet/gateway", "Service/gateway"}},
		{v1alpha1.ModeStatefulSet, []string{"Service/gateway", "Service/gateway-headless", "StatefulSet/gateway"}},
		{v1alpha1.ModeDeployment, []string{"Deployment/gateway", "Service/gateway"}},
	} {
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = step.mode })
		// And the workload can be changed as it is.
		upgrade(t, collector, func(c *v1alpha1.Collector) {
			c.Spec.PodAnnotations = map[string]string{"example.com/mode": string(step.mode)}
		})
		serveAs(t, collector, step.mode) // until then the workload of the mode before serves
		NewWithT(t).Eventually(func() []string {
			return slices.DeleteFunc(names(contents(t, collector.Namespace, client.HasLabels{collectorLabel})), func(name string) bool {
				return name == "Secret/gateway"+filesOf(config) || name == "ServiceAccount/gateway"
			})
		}).Should(Equal(step.want), "after mode %s", step.mode)
	}
}

func TestReplicasScaleTheWorkload(t *testing.T) {
	t.Parallel()
	collector := install(t)
	for _, replicas := range []int32{3, 0} {
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(replicas) })
		deployment := get(t, collector, "", &appsv1.Deployment{})
		NewWithT(t).Expect(deployment.Spec.Replicas).To(Equal(new(replicas)))
	}
}

func TestTheReplicasThatAnAutoscalerSetStay(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MinReplicas: new(int32(2)), MaxReplicas: new(int32(9))}
	create(t, collector)

	scaleTo(t, collector, 5)
	touch(t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	NewWithT(t).Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(Equal(new(int32(5))))
}

func TestTheReplicasStayWhenAnAutoscalerTakesOver(t *testing.T) {
	t.Parallel()
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeDeployment, v1alpha1.ModeStatefulSet} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Mode, collector.Spec.Replicas = mode, new(int32(3))
			create(t, collector)
			upgrade(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Replicas = nil
				c.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MinReplicas: new(int32(2)), MaxReplicas: new(int32(9))}
			})
			for name, workload := range contents(t, collector.Namespace, client.HasLabels{collectorLabel}) {
				if replicas, found, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas"); found {
					NewWithT(t).Expect(replicas).To(BeEquivalentTo(3), name)
				}
			}
		})
	}
}

func TestPortsOfOneNumberAndConstraintsOfOneKeyAreKeptApart(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Ports = map[string]v1alpha1.Port{
		"syslog": {Port: 514}, "syslog-udp": {Port: 514, Protocol: corev1.ProtocolUDP},
	}
	collector.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule},
		{TopologyKey: "zone", MaxSkew: 2, WhenUnsatisfiable: corev1.ScheduleAnyway},
	}
	create(t, collector)
	ports := func() map[string]string {
		found := map[string]string{}
		for _, port := range get(t, collector, "", &corev1.Service{}).Spec.Ports {
			if port.Port != 4317 && port.Port != 4318 && port.Port != 8888 {
				found[port.Name] = strconv.Itoa(int(port.Port)) + "/" + string(port.Protocol)
			}
		}
		return found
	}
	g := NewWithT(t)
	g.Expect(ports()).To(Equal(map[string]string{"syslog": "514/TCP", "syslog-udp": "514/UDP"}))
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.TopologySpreadConstraints).To(HaveLen(2))

	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Ports["syslog"] = v1alpha1.Port{Port: 6514}
		c.Spec.TopologySpreadConstraints[1].MaxSkew = 3
	})
	g.Expect(ports()).To(Equal(map[string]string{"syslog": "6514/TCP", "syslog-udp": "514/UDP"}))
	constraints := get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.TopologySpreadConstraints
	g.Expect([]int32{constraints[0].MaxSkew, constraints[1].MaxSkew}).To(Equal([]int32{1, 3}))
}

func TestAPodMonitorCanBeAddedLater(t *testing.T) {
	t.Parallel()
	collector := install(t)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.PodMonitor = &v1alpha1.Monitor{Enabled: true} })
	NewWithT(t).Expect(list(t, collector.Namespace, "monitoring.coreos.com/v1", "PodMonitor")).To(HaveLen(1))
}

func TestAnIngressAndAClaimCanBeAddedLater(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := install(t)
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Ingress = &v1alpha1.Ingress{Enabled: true, Hosts: []v1alpha1.IngressHost{{Host: "otlp.example.com"}}}
		c.Spec.VolumeClaims = queueOf("shared", "1Gi")
	})
	g.Expect(list(t, collector.Namespace, "networking.k8s.io/v1", "Ingress")).To(HaveLen(1))
	g.Expect(list(t, collector.Namespace, "v1", "PersistentVolumeClaim")).To(ConsistOf(HaveField("GetName()", "gateway-queue")))
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Ingress, c.Spec.VolumeClaims = nil, nil })
	g.Expect(list(t, collector.Namespace, "networking.k8s.io/v1", "Ingress")).To(BeEmpty())
	becomeReady(t, collector)
	g.Eventually(func() []unstructured.Unstructured { return list(t, collector.Namespace, "v1", "PersistentVolumeClaim") }).Should(BeEmpty())
}
