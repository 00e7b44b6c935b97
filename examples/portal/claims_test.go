package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The operator refuses what the API server accepts of a Collector (VictoriaMetrics/operator#1127).
func TestTheEditorSaysBeforehandWhatBecomesOfClaims(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	withClaims := get(t)
	withClaims.Spec.Mode = v1alpha1.ModeStatefulSet
	withClaims.Spec.VolumeClaimTemplates = []v1alpha1.VolumeClaimTemplate{{
		Metadata: v1alpha1.ClaimMetadata{Name: "queue"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("2Gi"),
			}},
		},
	}}
	shared := withClaims.Spec.VolumeClaimTemplates[0].DeepCopy()
	shared.Metadata.Name = "shared"
	shared.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("5Gi")
	withClaims.Spec.VolumeClaims = []v1alpha1.VolumeClaimTemplate{*shared}
	g.Expect(admin.Update(t.Context(), withClaims)).To(Succeed())
	set, claim := setOf(withClaims)
	ofAll := claim.DeepCopy()
	ofAll.Name, ofAll.OwnerReferences, ofAll.Spec.Resources = "gateway-shared", set.OwnerReferences, shared.Spec.Resources
	g.Expect(admin.Create(t.Context(), ofAll)).To(Succeed())
	g.Expect(admin.Create(t.Context(), set)).To(Succeed())
	g.Expect(admin.Create(t.Context(), claim)).To(Succeed())
	claim.Status.Phase = corev1.ClaimBound
	g.Expect(admin.Status().Update(t.Context(), claim)).To(Succeed())
	t.Cleanup(func() {
		_ = admin.Delete(context.Background(), set)
		_ = admin.Delete(context.Background(), claim)
		_ = admin.Delete(context.Background(), ofAll)
	})

	text, tag := opened(t, "")
	code, says := save(t, "?dryRun=All", strings.Replace(text, "storage: 2Gi", "storage: 1Gi", 1), "If-Match", tag)
	g.Expect(code).To(Equal(http.StatusBadRequest), says)
	g.Expect(says).To(ContainSubstring("the operator would refuse it: spec.volumeClaimTemplates[0].spec.resources.requests.storage: " +
		"1Gi is less than before, and a claim cannot shrink; set it to 2Gi or more"))

	code, says = callText(t, http.MethodPut, manifests+"?dryRun=All", strings.Replace(text, "name: queue", "name: other", 1), "If-Match", tag)
	g.Expect(code).To(Equal(http.StatusOK), says)
	g.Expect(says).To(And(ContainSubstring(`StatefulSet \"gateway\" is replaced, and its pods keep running`),
		ContainSubstring("claims of queue stay, and no pod mounts them")))

	code, says = callText(t, http.MethodPut, manifests+"?dryRun=All", strings.Replace(text, "storage: 2Gi", "storage: 3Gi", 1), "If-Match", tag)
	g.Expect(code).To(Equal(http.StatusForbidden), says)
	g.Expect(says).To(ContainSubstring("only dynamically provisioned pvc can be resized"), "the API server's words")

	code, says = callText(t, http.MethodPut, manifests+"?dryRun=All", strings.Replace(text, "storage: 5Gi", "storage: 4Gi", 1), "If-Match", tag)
	g.Expect(code).NotTo(Equal(http.StatusOK), says)
	g.Expect(says).To(ContainSubstring("gateway-shared"))
}

// setOf returns the StatefulSet of a Collector with a claim that has a volume.
func setOf(of *v1alpha1.Collector) (*appsv1.StatefulSet, *corev1.PersistentVolumeClaim) {
	template := of.Spec.VolumeClaimTemplates[0]
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: template.Metadata.Name}, Spec: template.Spec}
	isOf := map[string]string{"app": "gateway"}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: of.Namespace, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(of, v1alpha1.GroupVersion.WithKind("Collector")),
		}},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: isOf},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: isOf},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "collector", Image: "a"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim},
		},
	}
	bound := claim.DeepCopy()
	bound.Name, bound.Namespace, bound.Spec.VolumeName = "queue-gateway-0", of.Namespace, "volume"
	return set, bound
}
