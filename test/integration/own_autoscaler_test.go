package integration

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// newAutoscaler creates an autoscaler of the user's own. KEDA makes one that a ScaledObject owns.
func newAutoscaler(t *testing.T, namespace, kind, target string, owners ...metav1.OwnerReference) *autoscalingv2.HorizontalPodAutoscaler {
	t.Helper()
	own := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own", OwnerReferences: owners},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: target}, MaxReplicas: 9,
		},
	}
	if err := plane.client.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	return own
}

// autoscale sets the number of pods of a workload as the controller of HorizontalPodAutoscalers does.
func autoscale(t *testing.T, workload client.Object, replicas int32) {
	t.Helper()
	wanted := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas))
	options := []client.SubResourcePatchOption{client.FieldOwner("kube-controller-manager"), client.WithSubResourceBody(&autoscalingv1.Scale{})}
	if err := plane.client.SubResource("scale").Patch(t.Context(), workload, wanted, options...); err != nil {
		t.Fatal(err)
	}
}

const twoScale = `%[1]s sets the number of pods of %[2]s "gateway", so the operator leaves it alone; ` +
	"set spec.autoscaling.external to true, or delete %[1]s"

// opentelemetry-operator#729 (`kubectl autoscale`), #4260 (KEDA) and #4400: an operator that brings its number of pods back makes and deletes
// a pod as often as the autoscaler looks.
func TestAnAutoscalerOfTheUsersOwnIsToldAndNotFought(t *testing.T) {
	t.Parallel()
	scaled := metav1.OwnerReference{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "queue", UID: "1", Controller: new(true)}
	for name, row := range map[string]struct {
		mode   v1alpha1.Mode
		kind   string
		owners []metav1.OwnerReference
		scaler string
	}{
		"of a Deployment":  {v1alpha1.ModeDeployment, "Deployment", nil, `HorizontalPodAutoscaler "own"`},
		"of a StatefulSet": {v1alpha1.ModeStatefulSet, "StatefulSet", nil, `HorizontalPodAutoscaler "own"`},
		"of KEDA":          {v1alpha1.ModeDeployment, "Deployment", []metav1.OwnerReference{scaled}, `ScaledObject "queue"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Mode, collector.Spec.Replicas = row.mode, new(int32(2))
			create(t, collector)
			awaitTold(t, collector)
			workload := func() client.Object { return get(t, collector, "", workloadOf(row.mode)) }
			own := newAutoscaler(t, collector.Namespace, row.kind, collector.Name, row.owners...)
			autoscale(t, workload(), 3)
			told := fmt.Sprintf(twoScale, row.scaler, row.kind)
			awaitReady(t, collector, "False", "Progressing", told)
			g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), collector)).To(Succeed())
			g.Expect(pluginIn(t, collector.Namespace).run("why", "gateway")).To(ContainSubstring("Set `spec.autoscaling.external: true`"))
			settled(t, collector)

			since := plane.audit.mark(t)
			autoscale(t, workload(), 5)
			touch(t, collector)
			g.Consistently(func() *int32 { return replicasOf(workload()) }, 3*time.Second).Should(HaveValue(BeEquivalentTo(5)))
			g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty())
			upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			g.Expect(replicasOf(workload())).To(HaveValue(BeEquivalentTo(5)), "with another revision")
			awaitReady(t, collector, "False", "Progressing", told)
			g.Expect(events(t, collector)).NotTo(HaveKey(ContainSubstring("restored to the release")))

			if row.kind == "StatefulSet" { // it takes a minute until it is looked for again
				g.Expect(plane.client.Delete(t.Context(), own)).To(Succeed())
				g.Eventually(func() *int32 { return replicasOf(workload()) }, 90*time.Second).Should(HaveValue(BeEquivalentTo(2)))
			} else {
				upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = &v1alpha1.Autoscaling{External: true} })
				g.Expect(replicasOf(workload())).To(HaveValue(BeEquivalentTo(5)))
			}
			g.Eventually(func() string { return condition(t, collector, "Ready").Message }).ShouldNot(ContainSubstring("sets the number of pods"))
		})
	}
}

func workloadOf(mode v1alpha1.Mode) client.Object {
	if mode == v1alpha1.ModeStatefulSet {
		return &appsv1.StatefulSet{}
	}
	return &appsv1.Deployment{}
}

func replicasOf(workload client.Object) *int32 {
	if set, is := workload.(*appsv1.StatefulSet); is {
		return set.Spec.Replicas
	}
	deployment, _ := workload.(*appsv1.Deployment)
	return deployment.Spec.Replicas
}

// settled waits until the operator has done with a Collector: it writes nothing.
func settled(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() []string {
		since := plane.audit.mark(t)
		touch(t, collector)
		return plane.audit.writes(t, since, collector.Namespace)
	}).Should(BeEmpty())
}

func TestTheNumberOfPodsIsBroughtBackIfNoAutoscalerHasTheWorkloadAsItsTarget(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Replicas = new(int32(2))
	create(t, collector)
	newAutoscaler(t, collector.Namespace, "StatefulSet", collector.Name)
	autoscale(t, get(t, collector, "", &appsv1.Deployment{}), 3)
	g.Eventually(func() *int32 { return get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas }).Should(HaveValue(BeEquivalentTo(2)))
	g.Expect(condition(t, collector, "Ready").Message).NotTo(ContainSubstring("sets the number of pods"))
}

// Not parallel: it kills the shared operator.
func TestAnOperatorThatStartsKnowsWhoElseScales(t *testing.T) {
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Replicas = new(int32(2))
	create(t, collector)
	awaitTold(t, collector)
	newAutoscaler(t, collector.Namespace, "Deployment", collector.Name)
	autoscale(t, get(t, collector, "", &appsv1.Deployment{}), 3)
	told := fmt.Sprintf(twoScale, `HorizontalPodAutoscaler "own"`, "Deployment")
	awaitReady(t, collector, "False", "Progressing", told)
	if err := shared.kill(); err != nil {
		t.Error(err)
	}
	autoscale(t, get(t, collector, "", &appsv1.Deployment{}), 4)
	forgetLeader(t)
	if err := shared.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	touch(t, collector)
	awaitReady(t, collector, "False", "Progressing", told)
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(HaveValue(BeEquivalentTo(4)))
}
