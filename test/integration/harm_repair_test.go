package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAServiceThatSomebodyDeletesAgainAndAgainIsRestoredLaterAndLater(t *testing.T) {
	t.Parallel()
	collector := install(t)
	deletions := 0
	g := NewWithT(t)
	g.Consistently(func() int {
		service := &corev1.Service{}
		isThere := plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), service) == nil
		if isThere && plane.client.Delete(t.Context(), service) == nil {
			deletions++
		}
		return deletions
	}, 8*time.Second).Should(BeNumerically("<", 12))
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring(`changes Service "gateway" again and again`))
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &corev1.Service{})
	}).Should(Succeed(), "it is restored at last")
}

func TestALostCopyOfASecretDoesNotKeepTheRestFromBeingRepaired(t *testing.T) {
	t.Parallel()
	written := createSecret(t, newNamespace(t), "team-config", "first: {}")
	collector := newReferring(written.Namespace, "gateway")
	create(t, collector)
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), written)).To(Succeed())
	g.Eventually(func() string { return condition(t, collector, "Ready").Reason }).Should(Equal("ConfigMissing"))
	loseService(t, collector)
	var secrets corev1.SecretList
	g.Expect(plane.client.List(t.Context(), &secrets, client.InNamespace(collector.Namespace))).To(Succeed())
	copies := 0
	for i := range secrets.Items {
		if strings.HasPrefix(secrets.Items[i].Name, "gateway-config-") {
			g.Expect(plane.client.Delete(t.Context(), &secrets.Items[i])).To(Succeed())
			copies++
		}
	}
	g.Expect(copies).To(Equal(1))
	loseService(t, collector)
}

// scale sets the number of a workload's pods as an autoscaler does.
func scale(t *testing.T, workload client.Object, patch string) {
	t.Helper()
	change := client.RawPatch(types.MergePatchType, []byte(patch))
	if err := plane.client.Patch(t.Context(), workload, change, client.FieldOwner("autoscaler")); err != nil {
		t.Fatal(err)
	}
}

// orphan does what the garbage collector does for a workload that is deleted without its pods, once.
func orphan(t *testing.T, workload client.Object) {
	t.Helper()
	uid := workload.GetUID()
	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(workload), workload)).To(Succeed())
		g.Expect(workload.GetDeletionTimestamp()).NotTo(BeNil())
		workload.SetFinalizers(nil)
		g.Expect(plane.client.Update(t.Context(), workload)).To(Succeed())
	}).Should(Succeed())
	g.Eventually(func() types.UID {
		again := workload.DeepCopyObject().(client.Object)
		if plane.client.Get(t.Context(), client.ObjectKeyFromObject(workload), again) != nil {
			return uid
		}
		return again.GetUID()
	}).ShouldNot(Equal(uid), "%T is there again", workload)
}

func TestAWorkloadThatIsDeletedWithoutItsPodsComesBackWithAsManyPods(t *testing.T) {
	t.Parallel()
	collector := newAutoscaled(t, 10)
	g := NewWithT(t)
	g.Eventually(func() int32 { return get(t, collector, "", &v1alpha1.Collector{}).Status.Replicas }).Should(BeEquivalentTo(10))
	deployment := get(t, collector, "", &appsv1.Deployment{})
	g.Expect(plane.client.Delete(t.Context(), deployment, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	orphan(t, deployment)
	g.Expect(*get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(BeEquivalentTo(10))
	awaitTold(t, collector)
	g.Expect(*get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(BeEquivalentTo(10), "once it is the autoscaler's again")
}

func TestAScaledStatefulSetWhoseClaimsGrowKeepsItsPodsWhenItIsOrphanedLate(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = &v1alpha1.Autoscaling{External: true} })
	set := get(t, collector, "", &appsv1.StatefulSet{})
	scale(t, set, `{"spec": {"replicas": 4}}`)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	isDeleted := func() *metav1.Time { return get(t, collector, "", &appsv1.StatefulSet{}).DeletionTimestamp }
	g := NewWithT(t)
	g.Eventually(isDeleted).ShouldNot(BeNil())
	g.Consistently(isDeleted, 7*time.Second).ShouldNot(BeNil()) // which is longer than the operator waits in one reconcile
	orphan(t, set)
	g.Expect(*get(t, collector, "", &appsv1.StatefulSet{}).Spec.Replicas).To(BeEquivalentTo(4))
	awaitRevision(t, collector, 3)
	awaitTold(t, collector)
	g.Expect(*get(t, collector, "", &appsv1.StatefulSet{}).Spec.Replicas).To(BeEquivalentTo(4), "once it is the autoscaler's again")
}

// Not parallel: it stops the shared operator.
func TestPodsThatWereOrphanedWhileTheOperatorWasDownGetTheirStatefulSetBackBeforeTheModeChanges(t *testing.T) {
	collector := newQueued(t, "grows", true)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = &v1alpha1.Autoscaling{External: true} })
	g := NewWithT(t)
	g.Expect(shared.stop()).To(Succeed())
	var pods []*corev1.Pod
	for ordinal := range 3 {
		pods = append(pods, runPodAs(t, collector, fmt.Sprintf("gateway-%d", ordinal), corev1.VolumeSource{}))
	}
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.StatefulSet{}))).To(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode, c.Spec.VolumeClaimTemplates = v1alpha1.ModeDeployment, nil })
	startAgain(t)
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.StatefulSet{})
	}).Should(Succeed())
	g.Expect(*get(t, collector, "", &appsv1.StatefulSet{}).Spec.Replicas).To(BeEquivalentTo(3))
	takeBack(t, collector, pods...)
	awaitRevision(t, collector, 3)
	g.Expect(*get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(BeEquivalentTo(3), "and the next workload has as many")
}

// Not parallel: it stops the shared operator.
func TestPodsWhoseStatefulSetCannotComeBackServeUntilAnotherWorkloadDoes(t *testing.T) {
	collector := newQueued(t, "grows", true)
	g := NewWithT(t)
	g.Expect(shared.stop()).To(Succeed())
	orphan, users := runPodAs(t, collector, "gateway-0", corev1.VolumeSource{}), runPodAs(t, collector, "gateway-1", corev1.VolumeSource{})
	delete(users.Labels, appsv1.StatefulSetPodNameLabel)
	g.Expect(plane.client.Update(t.Context(), users)).To(Succeed())
	g.Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.StatefulSet{}))).To(Succeed())
	inNamespace := client.InNamespace(collector.Namespace)
	g.Expect(plane.client.DeleteAllOf(t.Context(), &corev1.Secret{}, inNamespace, client.MatchingLabels{"owner": "helm"})).To(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode, c.Spec.VolumeClaimTemplates = v1alpha1.ModeDeployment, nil })
	startAgain(t)
	awaitReady(t, collector, "False", "Progressing", `Pod "gateway-0" serves until Deployment "gateway" does`)
	becomeReady(t, collector)
	isThere := func(pod *corev1.Pod) error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{})
	}
	g.Eventually(func() bool { return apierrors.IsNotFound(isThere(orphan)) }).Should(BeTrue())
	g.Expect(isThere(users)).To(Succeed(), "no StatefulSet has made it")
}

// Not parallel: it removes CRDs, and stops the shared operator.
func TestACRDThatGoesWhileARefusalStandsDoesNotEndRepairs(t *testing.T) {
	collector := newMonitored(t)
	create(t, collector)
	g := NewWithT(t)
	g.Expect(names(contents(t, collector.Namespace))).To(ContainElement("ServiceMonitor/gateway"))
	reconfigure(t, collector, "- refused")
	awaitFailed(t, collector, "not a YAML mapping")
	removeMonitors(t)
	loseService(t, collector)
	g.Expect(shared.stop()).To(Succeed())
	lost := deleteService(t, collector)
	startAgain(t)
	awaitOtherService(t, collector, lost)
}
