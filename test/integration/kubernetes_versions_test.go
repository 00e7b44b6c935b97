package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// says is what an API server says since a minor version of Kubernetes.
type says struct {
	since int
	what  string
}

// TestWhatDependsOnTheVersionOfKubernetes has the facts that the operator and its documentation allow for. `make test KUBERNETES=1.34` runs it
// on that version.
func TestWhatDependsOnTheVersionOfKubernetes(t *testing.T) {
	t.Parallel()
	minor := minorOfAPIServer(t)
	namespace := newNamespace(t)
	creates := func(object client.Object) string {
		return saying(plane.client.Create(t.Context(), object, client.DryRunAll))
	}
	for name, row := range map[string]struct {
		ask      func() string
		expected []says
	}{
		"the claim templates of a StatefulSet change": {
			ask: func() string {
				set := statefulSetWith(namespace, "10Gi")
				if err := plane.client.Create(t.Context(), set); err != nil {
					return err.Error()
				}
				set.Spec.VolumeClaimTemplates = statefulSetWith(namespace, "20Gi").Spec.VolumeClaimTemplates
				return saying(plane.client.Update(t.Context(), set, client.DryRunAll))
			},
			expected: []says{{34, "FieldValueForbidden spec"}, {37, "FieldValueInvalid spec.volumeClaimTemplates"}},
		},
		"no pod of a StatefulSet may be missing": {
			ask: func() string {
				set := statefulSetWith(namespace, "10Gi")
				set.Name = "none"
				set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: new(intstr.FromInt32(0))}
				return creates(set)
			},
			expected: []says{{34, "accepted"}, {37, "FieldValueInvalid spec.updateStrategy.rollingUpdate.maxUnavailable"}},
		},
		"a network is written with an address in it": {
			ask: func() string {
				policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
				policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{
					From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.1/8"}}},
				}}
				return creates(policy)
			},
			expected: []says{{34, "accepted"}, {36, "FieldValueInvalid spec.ingress[0].from[0].ipBlock.cidr"}},
		},
		"an autoscaler scales to 0 by an external metric": {
			ask: func() string {
				scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
				scaler.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "a"},
					MinReplicas:    new(int32(0)), MaxReplicas: 2,
					Metrics: []autoscalingv2.MetricSpec{{
						Type: autoscalingv2.ExternalMetricSourceType,
						External: &autoscalingv2.ExternalMetricSource{
							Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
							Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: new(resource.MustParse("5"))},
						},
					}},
				}
				return creates(scaler)
			},
			expected: []says{{34, "FieldValueInvalid spec.minReplicas"}, {37, "accepted"}},
		},
		"who changed a Collector is stamped by a policy": {
			ask: func() string {
				kind := schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}
				mappings, err := plane.client.RESTMapper().RESTMappings(kind)
				if err != nil && !meta.IsNoMatchError(err) {
					return err.Error()
				}
				var served []string
				for _, mapping := range mappings {
					served = append(served, mapping.GroupVersionKind.Version)
				}
				return "served as " + strings.Join(served, " ")
			},
			expected: []says{{34, "served as "}, {36, "served as v1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			for _, one := range row.expected {
				if minor >= one.since {
					want = one.what
				}
			}
			NewWithT(t).Expect(row.ask()).To(Equal(want), "version 1.%d", minor)
		})
	}
}

// saying returns which fields an API server refuses and why, or that it accepts all.
func saying(err error) string {
	if err == nil {
		return "accepted"
	}
	refused, isStatus := errors.AsType[*apierrors.StatusError](err)
	if !isStatus || refused.ErrStatus.Details == nil {
		return err.Error()
	}
	var causes []string
	for _, cause := range refused.ErrStatus.Details.Causes {
		causes = append(causes, fmt.Sprintf("%s %s", cause.Type, cause.Field))
	}
	return strings.Join(causes, ", ")
}

func statefulSetWith(namespace, size string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "a"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: "a"}}
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	return set
}
