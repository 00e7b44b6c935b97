package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestWhatServesIsRepairedWhileAChangeIsRefused(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*testing.T, *v1alpha1.Collector){
		"by its check": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			reconfigure(t, collector, config+" # refused")
			refuseCheck(t, awaitCheck(t, collector))
			awaitFailed(t, collector, "check exited with 3")
		},
		"for its configuration": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			reconfigure(t, collector, "- not a mapping")
			awaitFailed(t, collector, "is not a YAML mapping")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := checked(t, v1alpha1.ModeDeployment)
			want := get(t, collector, "", &appsv1.Deployment{})
			secret := get(t, collector, filesOf(config), &corev1.Secret{})
			refuse(t, collector)
			g := NewWithT(t)
			for _, object := range []client.Object{want.DeepCopy(), secret.DeepCopy(), get(t, collector, "", &corev1.Service{})} {
				g.Expect(plane.client.Delete(t.Context(), object)).To(Succeed())
				g.Eventually(func() types.UID {
					again := object.DeepCopyObject().(client.Object)
					if plane.client.Get(t.Context(), client.ObjectKeyFromObject(object), again) != nil {
						return object.GetUID()
					}
					return again.GetUID()
				}).ShouldNot(Equal(object.GetUID()), "%T is there again", object)
			}
			g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template).To(Equal(want.Spec.Template))
			g.Expect(get(t, collector, filesOf(config), &corev1.Secret{}).Data).To(Equal(secret.Data))
		})
	}
}

func TestAnObjectThatIsHeldInDeletionIsNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.VolumeClaims = queueOf("any", "1Gi")
	create(t, collector)
	claim := get(t, collector, "-queue", &corev1.PersistentVolumeClaim{})
	g := NewWithT(t)
	claim.Finalizers = append(claim.Finalizers, "example.com/held")
	g.Expect(plane.client.Update(t.Context(), claim)).To(Succeed())
	g.Expect(plane.client.Delete(t.Context(), claim)).To(Succeed())
	awaitFailed(t, collector, `PersistentVolumeClaim "gateway-queue" is being deleted, and held by finalizers`)
	since := plane.audit.mark(t)
	g.Consistently(func() []string { return plane.audit.writes(t, since, collector.Namespace) }, 3*time.Second).Should(BeEmpty())
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	claim.Finalizers = nil
	g.Expect(plane.client.Update(t.Context(), claim)).To(Succeed())
	g.Eventually(func() types.UID {
		again := &corev1.PersistentVolumeClaim{}
		_ = plane.client.Get(t.Context(), client.ObjectKeyFromObject(claim), again)
		return again.UID
	}).ShouldNot(Or(BeEmpty(), Equal(claim.UID)))
}

func TestTheLastOfTwoQuickWritesOfASecretIsDeployed(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	written := createSecret(t, namespace, "team-config", "first: {}")
	collector := newReferring(namespace, "gateway")
	create(t, collector)
	last := ""
	for i := range 30 {
		for j := range 2 {
			last = fmt.Sprintf("write-%d-%d: {}", i, j)
			changeSecret(t, written, func(s *corev1.Secret) { s.Data["collector.yaml"] = []byte(last) })
		}
		NewWithT(t).Eventually(func() string { return deployedHash(t, collector) }).Should(Equal(sha256Of(last)), "the last write")
	}
}

// refuseLikeKEDA has a webhook refuse ScaledObjects as KEDA's does: while the workload has a HorizontalPodAutoscaler.
func refuseLikeKEDA(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	key := client.ObjectKeyFromObject(collector) // read here: the test's goroutine writes the Collector
	config := answerReviews(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if plane.client.Get(context.Background(), key, &autoscalingv2.HorizontalPodAutoscaler{}) != nil {
			return &admissionv1.AdmissionResponse{Allowed: true}
		}
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusBadRequest, Message: fmt.Sprintf(
			"the workload '%s' of type 'apps/v1.Deployment' is already managed by the hpa '%[1]s'", key.Name)}}
	})
	register(t, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "keda-" + collector.Namespace},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "vscaledobject.kb.io", ClientConfig: config,
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
				Rule:       registrationv1.Rule{APIGroups: []string{"keda.sh"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"scaledobjects"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: collector.Namespace}},
			SideEffects:       new(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
}

// Not parallel: it needs KEDA's CRDs.
func TestKEDATakesThePlaceOfAnAutoscalerThatItsWebhookNames(t *testing.T) {
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MaxReplicas: new(int32(5))}
	refuseLikeKEDA(t, collector)
	create(t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MaxReplicas: new(int32(5)), KEDA: &v1alpha1.KEDA{
			Triggers: []v1alpha1.KEDATrigger{{Type: "cron", Metadata: map[string]string{"timezone": "UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "2"}}},
		}}
	})
	NewWithT(t).Expect(names(contents(t, collector.Namespace))).To(And(ContainElement("ScaledObject/gateway"), Not(ContainElement("HorizontalPodAutoscaler/gateway"))))
}

// Not parallel: it brings another default registry. Both changes happen while no operator runs.
func TestWhatChangesWhileNobodyWatchesIsRepairedAlsoByAnOperatorWhoseChangeWaits(t *testing.T) {
	w := newWave(t, map[string]map[string]string{"held": {v1alpha1.RolloutLabel: v1alpha1.RolloutHold}})
	held := w.fleet["held"]
	g := NewWithT(t)
	want := get(t, held, "", &appsv1.Deployment{}).Spec.Template
	disturb := func() types.UID {
		service := get(t, held, "", &corev1.Service{})
		g.Expect(plane.client.Delete(t.Context(), service)).To(Succeed())
		image := client.RawPatch(types.JSONPatchType, []byte( // the wave writes the status meanwhile
			`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "example.com/somebody-else"}]`))
		g.Expect(plane.client.Patch(t.Context(), get(t, held, "", &appsv1.Deployment{}), image, client.FieldOwner("rival"))).To(Succeed())
		return service.UID
	}
	for _, args := range [][]string{append(slices.Clone(w.args), "--collector-registry=mirror.example.com"), w.args} {
		g.Expect(shared.stop()).To(Succeed())
		gone := disturb()
		shared.args = args
		forgetLeader(t)
		g.Expect(shared.start(context.WithoutCancel(t.Context()))).To(Succeed())
		g.Eventually(func() types.UID {
			service := &corev1.Service{}
			_ = plane.client.Get(t.Context(), client.ObjectKeyFromObject(held), service)
			return service.UID
		}).ShouldNot(Or(BeEmpty(), Equal(gone)))
		g.Eventually(func() corev1.PodTemplateSpec { return get(t, held, "", &appsv1.Deployment{}).Spec.Template }).
			Should(Equal(want), "the revision that is deployed")
	}
}

// Not parallel: it brings another default registry.
func TestAChangeThatIsHeldStaysHeldWhenARepairGetsNoAnswer(t *testing.T) {
	w := newWave(t, map[string]map[string]string{"held": {v1alpha1.RolloutLabel: v1alpha1.RolloutHold}})
	p := newProxy(t, "--collector-registry=mirror.example.com")
	held, g := w.fleet["held"], NewWithT(t)
	g.Eventually(func() corev1.ConditionStatus { return condition(t, held, v1alpha1.UpdatePending).Status }).Should(Equal(corev1.ConditionTrue))
	p.inject(func(w http.ResponseWriter, r *http.Request) string {
		if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/services/held") || p.total() > 0 {
			return ""
		}
		answerError(w, http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
		return "504"
	})
	loseService(t, held)
	g.Expect(p.total()).To(Equal(1), "answers that were lost")
	g.Expect(w.have(t, "mirror.example.com/")).To(BeEmpty())
}
