// Package validation says what the API server would refuse of an object, without one: it decodes, defaults, converts and
// validates with the API server's own code, at the version of the Kubernetes libraries in go.mod and with the feature
// gates at their defaults. The code is large, so only `kube8-operator render` uses it, and the image goes without.
package validation

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"

	// These fill the scheme.
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
)

// As clusters commonly have it. Whether a namespace allows it is a matter of Pod Security.
func init() { capabilities.Setup(true, 0) }

// decoder reads objects as the API server does: unknown fields are errors, defaults are set, versions are converted.
var decoder = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()

// strategies are what the API server does with new objects. The strategies of other kinds depend on the API server's storage.
var strategies = map[string]rest.RESTCreateStrategy{
	"Deployment":              deployment.Strategy,
	"DaemonSet":               daemonset.Strategy,
	"StatefulSet":             statefulset.Strategy,
	"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy,
	"Ingress":                 ingress.Strategy,
	"NetworkPolicy":           networkpolicy.Strategy,
	"PodDisruptionBudget":     poddisruptionbudget.Strategy,
}

// Create returns the error of an API server that would refuse to create obj, or nil. It knows the kinds that the chart
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
	// The API server finds in its context which version of the API a request is for. Its log of its two ways to
	// validate is not for people who render.
	ctx := klog.NewContext(context.Background(), logr.Discard())
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: kind.Group, APIVersion: kind.Version})
	if refused := validate(ctx, kind.Kind, decoded); len(refused) > 0 {
		return apierrors.NewInvalid(kind.GroupKind(), obj.GetName(), refused) //nolint:wrapcheck // as the API server says it
	}
	return nil
}

// validate validates a new object, as the API server does.
func validate(ctx context.Context, kind string, obj runtime.Object) field.ErrorList {
	if strategy, ok := strategies[kind]; ok {
		strategy.PrepareForCreate(ctx, obj)
		refused := rest.ValidateCreate(ctx, obj, strategy)
		if set, ok := obj.(*apps.StatefulSet); ok {
			refused = append(refused, validateClaims(set)...)
		}
		return refused
	}
	// The API's types declare some rules, and others are written by hand.
	declared := rest.DeclarativeValidationConfig{Options: map[string]bool{string(features.WorkloadWithJob): false}}
	return rest.ValidateDeclarativelyWithMigrationChecks(ctx, legacyscheme.Scheme, obj, nil, validateByHand(obj), operation.Create, declared)
}

// validateByHand validates a new object of a kind whose strategy depends on the API server's storage.
func validateByHand(obj runtime.Object) field.ErrorList {
	switch obj := obj.(type) {
	case *core.Service:
		if obj.Spec.ClusterIP != "" && obj.Spec.ClusterIPs == nil {
			obj.Spec.ClusterIPs = []string{obj.Spec.ClusterIP}
		}
		if service.NeedsHealthCheck(obj) && obj.Spec.HealthCheckNodePort == 0 {
			obj.Spec.HealthCheckNodePort = 1 // the API server allocates one
		}
		return corevalidation.ValidateServiceCreate(obj)
	case *batch.Job: // the Collector has a say in its pod only
		options := pod.GetValidationOptionsFromPodTemplate(&obj.Spec.Template, nil)
		return corevalidation.ValidatePodTemplateSpec(&obj.Spec.Template, field.NewPath("spec", "template"), options)
	case *core.PersistentVolumeClaim:
		persistentvolumeclaim.DropDisabledFields(&obj.Spec, nil)
		persistentvolumeclaim.EnforceDataSourceBackwardsCompatibility(&obj.Spec, nil)
		persistentvolumeclaim.NormalizeDataSources(&obj.Spec)
		return corevalidation.ValidatePersistentVolumeClaim(obj, corevalidation.ValidationOptionsForPersistentVolumeClaimCreate())
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(obj)
	case *core.Secret:
		return corevalidation.ValidateSecret(obj)
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
