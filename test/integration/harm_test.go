package integration

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A refused change harms nothing: docs/explanation/architecture.md has the rules. Each test here is a defect that was found by trying.

// forbid has a policy refuse what an expression does not allow of some resources in a namespace, until it is told to allow that.
func forbid(
	t *testing.T, namespace, group, resources, expression string, operations ...admissionv1.OperationType,
) (allow func()) {
	t.Helper()
	name := metav1.ObjectMeta{Name: namespace + "-" + strings.ReplaceAll(resources, "/", "-")}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: name,
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: operations,
					Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resources}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: expression, Message: "not in this test"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: name,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := plane.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, object := range []client.Object{binding, policy} {
			if err := client.IgnoreNotFound(plane.client.Delete(t.Context(), object)); err != nil {
				t.Error(err)
			}
		}
	}
}

// identities returns the UIDs and generations of a Collector's objects that serve, by kind and name.
func identities(t *testing.T, collector *v1alpha1.Collector) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, object := range contents(t, collector.Namespace) {
		if !strings.HasPrefix(name, "Collector/") && !strings.HasPrefix(name, "Secret/sh.helm") && !strings.HasPrefix(name, "Pod/") {
			all[name] = fmt.Sprint(object.GetUID(), " ", object.GetGeneration(), " ", object.GetDeletionTimestamp())
		}
	}
	return all
}

// expectUnharmed expects all that served before to be there unchanged. More may be there.
func expectUnharmed(t *testing.T, collector *v1alpha1.Collector, before map[string]string) {
	t.Helper()
	now := identities(t, collector)
	for name, identity := range before {
		if now[name] != identity {
			t.Errorf("%s was %q, and is %q", name, identity, now[name])
		}
	}
}

// awaitFailed waits until a Collector says that a release has failed with a message.
func awaitFailed(t *testing.T, collector *v1alpha1.Collector, message string) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring(message))
}

// serveAs has a Collector's workload of a mode served by one pod, which is all that it wants.
func serveAs(t *testing.T, collector *v1alpha1.Collector, mode v1alpha1.Mode) {
	t.Helper()
	var object client.Object
	switch mode {
	case v1alpha1.ModeDaemonSet:
		set := get(t, collector, "", &appsv1.DaemonSet{})
		set.Status = appsv1.DaemonSetStatus{
			ObservedGeneration: set.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1,
			NumberReady: 1, NumberAvailable: 1,
		}
		object = set
	case v1alpha1.ModeStatefulSet:
		set := get(t, collector, "", &appsv1.StatefulSet{})
		set.Status = appsv1.StatefulSetStatus{
			ObservedGeneration: set.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, CurrentReplicas: 1,
		}
		object = set
	case v1alpha1.ModeDeployment:
		serve(t, collector, 1)
		return
	}
	if err := plane.client.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// serveAll has each workload of a namespace served by all its pods, as controllers would: a workload that is replaced by one of another
// kind goes when that serves.
func serveAll(t *testing.T, namespace string) {
	t.Helper()
	var deployments appsv1.DeploymentList
	var statefulSets appsv1.StatefulSetList
	var daemonSets appsv1.DaemonSetList
	for _, list := range []client.ObjectList{&deployments, &statefulSets, &daemonSets} {
		if plane.client.List(t.Context(), list, client.InNamespace(namespace)) != nil {
			return // the API server is down
		}
	}
	// A status that cannot be written now is written the next time.
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if pods := *d.Spec.Replicas; d.Status.ObservedGeneration < d.Generation {
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
			}
			_ = plane.client.Status().Update(t.Context(), d)
		}
	}
	for i := range statefulSets.Items {
		s := &statefulSets.Items[i]
		if pods := *s.Spec.Replicas; s.Status.ObservedGeneration < s.Generation {
			s.Status = appsv1.StatefulSetStatus{
				ObservedGeneration: s.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
			}
			_ = plane.client.Status().Update(t.Context(), s)
		}
	}
	for i := range daemonSets.Items {
		if d := &daemonSets.Items[i]; d.Status.ObservedGeneration < d.Generation {
			d.Status = appsv1.DaemonSetStatus{
				ObservedGeneration: d.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1,
				NumberReady: 1, NumberAvailable: 1,
			}
			_ = plane.client.Status().Update(t.Context(), d)
		}
	}
}

func quota(t *testing.T, namespace, what string) *corev1.ResourceQuota {
	t.Helper()
	limits := corev1.ResourceList{corev1.ResourceName(what): resource.MustParse("0")}
	limit := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "limit"}, Spec: corev1.ResourceQuotaSpec{Hard: limits},
	}
	if err := plane.client.Create(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	limit.Status = corev1.ResourceQuotaStatus{Hard: limits, Used: limits}
	if err := plane.client.Status().Update(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	return limit
}

func TestAnotherModeThatIsRefusedLeavesTheOldWorkload(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	before := identities(t, collector)
	limit := quota(t, collector.Namespace, "count/statefulsets.apps")
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Mode = v1alpha1.ModeStatefulSet
		c.Spec.Ports = map[string]v1alpha1.Port{"syslog": {Port: 5514}}
	})
	awaitFailed(t, collector, "exceeded quota")
	expectUnharmed(t, collector, before)

	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), limit)).To(Succeed())
	touch(t, collector)
	awaitRevision(t, collector, 2)
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).DeletionTimestamp).To(BeNil(), "the Deployment serves until the StatefulSet does")
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(
		ContainSubstring(`Deployment "gateway" serves until StatefulSet "gateway" does`))
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	g.Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.Deployment{})
	}).Should(MatchError(apierrors.IsNotFound, "not found"))
	awaitReady(t, collector, "True", "Available", "1/1 available")
}

func TestAModeWhosePodsCannotRunBesideTheOthersTakesTheirPlaceAtOnce(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode, c.Spec.HostNetwork = v1alpha1.ModeDaemonSet, true })
	NewWithT(t).Eventually(func() error {
		return plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &appsv1.Deployment{})
	}).Should(MatchError(apierrors.IsNotFound, "not found"))
}

func TestASecretThatAPolicyRefusesLeavesWhatPodsMount(t *testing.T) {
	t.Parallel()
	collector := install(t)
	before := identities(t, collector)
	allow := forbid(t, collector.Namespace, "", "secrets", "!object.metadata.name.startsWith('gateway-config')",
		admissionv1.Create, admissionv1.Update)
	g := NewWithT(t)
	secret := get(t, collector, filesOf(config), &corev1.Secret{})
	g.Eventually(func() error {
		return plane.client.Patch(t.Context(), secret.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`)), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not in this test")))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Cluster = "prod-eu-2" })
	awaitFailed(t, collector, "denied request")
	expectUnharmed(t, collector, before)
	allow()
}

func TestClaimsThatMayNotGrowLeaveTheStatefulSet(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	before := identities(t, collector)
	allow := forbid(t, collector.Namespace, "apps", "statefulsets",
		"!has(object.spec.volumeClaimTemplates) || object.spec.volumeClaimTemplates.all(c, string(c.spec.resources.requests.storage) == '1Gi')",
		admissionv1.Create, admissionv1.Update)
	g := NewWithT(t)
	g.Eventually(func() error {
		other := get(t, collector, "", &appsv1.StatefulSet{}).DeepCopy()
		other.ObjectMeta = metav1.ObjectMeta{Namespace: collector.Namespace, Name: "probe"}
		other.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
		return plane.client.Create(t.Context(), other, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not in this test")))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	awaitFailed(t, collector, "not in this test")
	expectUnharmed(t, collector, before)
	allow()
}

func TestClaimsGrowWhileAnAutoscalerHasSetTheNumberOfPods(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = &v1alpha1.Autoscaling{External: true} })
	g := NewWithT(t)
	set := get(t, collector, "", &appsv1.StatefulSet{})
	g.Expect(plane.client.Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": 4}}`)),
		client.FieldOwner("autoscaler"))).To(Succeed())
	orphanPods(t.Context(), t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	after := get(t, collector, "", &appsv1.StatefulSet{})
	g.Expect(after.UID).NotTo(Equal(set.UID))
	g.Expect(*after.Spec.Replicas).To(BeEquivalentTo(4))
	awaitTold(t, collector)
	g.Expect(*get(t, collector, "", &appsv1.StatefulSet{}).Spec.Replicas).To(BeEquivalentTo(4), "once it is the autoscaler's again")
}

func TestNothingThatServesChangesBeforeItsCheckHasAcceptedIt(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Check = &v1alpha1.Check{}
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	createChecked(t, collector)
	before := identities(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Configuration = []byte(config + " # refused")
		c.Spec.Ports = map[string]v1alpha1.Port{"syslog": {Port: 5514}}
		c.Spec.Mode = v1alpha1.ModeStatefulSet
	})
	job := awaitCheck(t, collector)
	expectUnharmed(t, collector, before)
	refuseCheck(t, job)
	awaitFailed(t, collector, "check exited with 3")
	expectUnharmed(t, collector, before)
}
