package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// complete has a webhook patch objects of a resource when they are created in a namespace, or also when they change, and returns when it does.
func complete(t *testing.T, group, resource, patch string, probe client.Object, also ...registrationv1.OperationType) {
	t.Helper()
	config := answerReviews(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(patch), PatchType: new(admissionv1.PatchTypeJSONPatch)}
	})
	namespace := probe.GetNamespace()
	register(t, &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "complete-" + namespace},
		Webhooks: []registrationv1.MutatingWebhook{{
			Name: "complete.example.com", ClientConfig: config,
			Rules: []registrationv1.RuleWithOperations{{
				Operations: append(also, registrationv1.Create),
				Rule:       registrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:       new(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
	NewWithT(t).Eventually(func() map[string]string {
		asked := probe.DeepCopyObject().(client.Object)
		_ = plane.client.Create(t.Context(), asked, client.DryRunAll)
		return asked.GetLabels()
	}).Should(HaveKeyWithValue("backup", "yes"))
}

const addsLabel = `{"op": "add", "path": "/metadata/labels/backup", "value": "yes"}`

// statefulSetIn returns a StatefulSet in a namespace that the API server accepts.
func statefulSetIn(namespace string) *appsv1.StatefulSet {
	like := deploymentIn(namespace)
	like.Labels = map[string]string{"any": ""}
	return &appsv1.StatefulSet{
		ObjectMeta: like.ObjectMeta, Spec: appsv1.StatefulSetSpec{Selector: like.Spec.Selector, Template: like.Spec.Template},
	}
}

// newCompleted returns a Collector whose claim templates a webhook completes, as the default class of a cluster or a policy for backups
// does. completed checks that they are complete, and of a size.
func newCompleted(t *testing.T) (collector *v1alpha1.Collector, completed func(size string)) {
	t.Helper()
	createClass(t, "expands", true)
	collector = newCollector(newNamespace(t), "gateway")
	probe := statefulSetIn(collector.Namespace)
	probe.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "queue"}, Spec: queueOf("expands", "1Gi")[0].Spec,
	}}
	complete(t, "apps", "statefulsets", `[`+addsLabel+`,
		{"op": "add", "path": "/spec/volumeClaimTemplates/0/metadata/labels", "value": {"backup": "yes"}},
		{"op": "add", "path": "/spec/volumeClaimTemplates/0/spec/storageClassName", "value": "expands"}]`, probe)
	template := queueOf("", "1Gi")
	template[0].Spec.StorageClassName = nil
	collector.Spec.Mode, collector.Spec.Replicas, collector.Spec.VolumeClaimTemplates = v1alpha1.ModeStatefulSet, new(int32(3)), template
	return collector, func(size string) {
		t.Helper()
		g := NewWithT(t)
		claim := get(t, collector, "", &appsv1.StatefulSet{}).Spec.VolumeClaimTemplates[0]
		g.Expect(claim.Labels).To(HaveKeyWithValue("backup", "yes"))
		g.Expect(claim.Spec.StorageClassName).To(HaveValue(Equal("expands")))
		g.Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal(size))
	}
}

func TestClaimTemplatesThatAWebhookCompletesKeepThatAndCanGrow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector, completed := newCompleted(t)
	create(t, collector)
	completed("1Gi")
	before := get(t, collector, "", &appsv1.StatefulSet{})

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	completed("1Gi")
	g.Expect(get(t, collector, "", &appsv1.StatefulSet{}).UID).To(Equal(before.UID))

	scaled := get(t, collector, "", &appsv1.StatefulSet{})
	scaled.Spec.Replicas = new(int32(1))
	g.Expect(plane.client.Update(t.Context(), scaled)).To(Succeed())
	g.Eventually(func() *int32 { return get(t, collector, "", &appsv1.StatefulSet{}).Spec.Replicas }).Should(HaveValue(BeEquivalentTo(3)))

	orphanPods(t.Context(), t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { // it may also say what the webhook has completed
		c.Spec.VolumeClaimTemplates = queueOf("expands", "2Gi")
	})
	completed("2Gi")

	orphanPods(t.Context(), t, collector)
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates[0].Spec.AccessModes = modes })
	completed("2Gi")
	g.Expect(get(t, collector, "", &appsv1.StatefulSet{}).Spec.VolumeClaimTemplates[0].Spec.AccessModes).To(Equal(modes))
}

func TestCompletedClaimTemplatesThatNoRecordHasCanBeChanged(t *testing.T) {
	t.Parallel()
	another := func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" }
	for name, happens := range map[string]func(t *testing.T, collector *v1alpha1.Collector){
		"the first revision could not be recorded": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			g := NewWithT(t)
			allow := forbid(t, collector.Namespace, "", "secrets", "!object.metadata.name.startsWith('sh.helm')", registrationv1.Create)
			probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "sh.helm.probe"}}
			g.Eventually(func() error { return plane.client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) }).ShouldNot(Succeed())
			g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
			awaitFailed(t, collector, "not in this test")
			allow()
		},
		"the record has gone": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			create(t, collector)
			NewWithT(t).Expect(plane.client.Delete(t.Context(), record(t, collector))).To(Succeed())
		},
		"the mode was changed, and is taken back": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			create(t, collector)
			upgrade(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Mode, c.Spec.VolumeClaimTemplates = v1alpha1.ModeDeployment, nil
			})
			change(t, collector, func(c *v1alpha1.Collector) {
				template := queueOf("", "1Gi")
				template[0].Spec.StorageClassName = nil
				c.Spec.Mode, c.Spec.VolumeClaimTemplates = v1alpha1.ModeStatefulSet, template
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector, completed := newCompleted(t)
			happens(t, collector)
			change(t, collector, another)
			NewWithT(t).Eventually(func() string { return get(t, collector, "", &v1alpha1.Collector{}).Status.Version }).
				WithTimeout(time.Minute).Should(Equal("0.151.0"), "%v", condition(t, collector, "Ready"))
			completed("1Gi")
		})
	}
}

func TestAClaimThatAWebhookCompletesKeepsThatAndCanGrow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	createClass(t, "expands", true)
	collector := newCollector(newNamespace(t), "gateway")
	complete(t, "", "persistentvolumeclaims", `[`+addsLabel+`,
		{"op": "add", "path": "/spec/storageClassName", "value": "expands"}]`, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "probe", Labels: map[string]string{"any": ""}},
		Spec:       queueOf("any", "1Gi")[0].Spec,
	})
	collector.Spec.VolumeClaims = queueOf("", "1Gi")
	collector.Spec.VolumeClaims[0].Spec.StorageClassName = nil
	create(t, collector)
	claim := get(t, collector, "-queue", &corev1.PersistentVolumeClaim{})
	bind(t, claim)

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.VolumeClaims[0].Spec.Resources = queueOf("", "2Gi")[0].Spec.Resources
	})
	after := get(t, collector, "-queue", &corev1.PersistentVolumeClaim{})
	g.Expect(after.UID).To(Equal(claim.UID))
	g.Expect(after.Labels).To(HaveKeyWithValue("backup", "yes"))
	g.Expect(after.Spec.StorageClassName).To(HaveValue(Equal("expands")))
	g.Expect(after.Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
}
