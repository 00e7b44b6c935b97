// Package validation says what the API server would refuse of an object, without one: it decodes, defaults, converts and
// validates with the API server's own code, at the version of the Kubernetes libraries in go.mod and with the feature
// gates at their defaults. The code is large, so only `kube8-operator render` uses it, and the image goes without.
package validation

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsv1 "k8s.io/kubernetes/pkg/apis/apps/v1"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingv1 "k8s.io/kubernetes/pkg/apis/networking/v1"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyv1 "k8s.io/kubernetes/pkg/apis/policy/v1"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/features"
)

// decoder reads objects as the API server does: unknown fields are errors, defaults are set, versions are converted.
var decoder = newDecoder()

func newDecoder() runtime.Decoder {
	// As clusters commonly have it. Whether a namespace allows it is a matter of Pod Security.
	capabilities.Setup(true, 0)

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, corev1.AddToScheme, apps.AddToScheme, appsv1.AddToScheme,
		autoscaling.AddToScheme, autoscalingv2.AddToScheme, networking.AddToScheme, networkingv1.AddToScheme,
		policy.AddToScheme, policyv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
}

// Create returns the error with which the API server would refuse to create obj, or nil. It knows the kinds that the chart
// has of Kubernetes' own APIs, and accepts every other.
func Create(obj *unstructured.Unstructured) error {
	text, err := obj.MarshalJSON()
	if err != nil {
		return fmt.Errorf("write %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	decoded, kind, err := decoder.Decode(text, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	if refused := validate(decoded); len(refused) > 0 {
		return apierrors.NewInvalid(kind.GroupKind(), obj.GetName(), refused) //nolint:wrapcheck // as the API server says it
	}
	return nil
}

// validate validates a new object, as the API server's strategy for its kind does (k8s.io/kubernetes, pkg/registry).
func validate(obj runtime.Object) field.ErrorList {
	switch obj := obj.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(obj, podOptions(&obj.Spec.Template))
	case *apps.DaemonSet:
		return appsvalidation.ValidateDaemonSet(obj, podOptions(&obj.Spec.Template))
	case *apps.StatefulSet:
		rolling := obj.Spec.UpdateStrategy.RollingUpdate
		if rolling != nil && !utilfeature.DefaultFeatureGate.Enabled(features.MaxUnavailableStatefulSet) {
			rolling.MaxUnavailable = nil
		}
		return append(appsvalidation.ValidateStatefulSet(obj, podOptions(&obj.Spec.Template)), validateClaims(obj)...)
	case *core.Service:
		if obj.Spec.ClusterIP != "" && obj.Spec.ClusterIPs == nil {
			obj.Spec.ClusterIPs = []string{obj.Spec.ClusterIP}
		}
		return corevalidation.ValidateServiceCreate(obj)
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(obj)
	case *core.Secret:
		return corevalidation.ValidateSecret(obj)
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(obj, autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{
			MinReplicasLowerBound: 1, // 0 needs the feature gate HPAScaleToZero
		})
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(obj, networkingvalidation.ValidationOptionsForNetworking(obj, nil))
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(obj, policyvalidation.PodDisruptionBudgetValidationOptions{})
	}
	return nil
}

// validateClaims validates the metadata of a StatefulSet's claims, which the API server does not see before the controller
// creates the first one.
func validateClaims(set *apps.StatefulSet) (refused field.ErrorList) {
	for i, claim := range set.Spec.VolumeClaimTemplates {
		path := field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("metadata")
		refused = append(refused, metav1validation.ValidateLabels(claim.Labels, path.Child("labels"))...)
		refused = append(refused, apivalidation.ValidateAnnotations(claim.Annotations, path.Child("annotations"))...)
	}
	return refused
}

func podOptions(template *core.PodTemplateSpec) corevalidation.PodValidationOptions {
	pod.DropDisabledTemplateFields(template, nil)
	return pod.GetValidationOptionsFromPodTemplate(template, nil)
}
