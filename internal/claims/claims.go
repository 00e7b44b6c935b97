// Package claims is about the claims of StatefulSets, which can grow and cannot shrink. It sends no request.
package claims

import (
	"fmt"
	"regexp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// Successor returns what makes room for a StatefulSet that nobody can change, or why nothing can. One whose claims grow is created anew,
// and adopts the pods. Other changes are refused.
func Successor(what inventory.Reference, uid types.UID, found apply.Immutable) (*apply.Old, error) {
	if found.Live == nil || found.Live.UID != uid {
		return nil, found.Err
	}
	larger, err := growth(found.Live, found.Wanted)
	if err != nil {
		return nil, err
	}
	if len(larger) == 0 {
		return nil, found.Err
	}
	return &apply.Old{Ref: what, UID: uid, Orphan: true, Grow: grown(found, larger)}, nil
}

// Unshrunk returns an object of the deployed revision as it can be repaired, or nil if that is not what is in the way: claims cannot
// shrink, so a StatefulSet and a claim keep the sizes that a change gave them before it was refused.
func Unshrunk(wanted *render.Object, uid types.UID, found apply.Immutable) *render.Object {
	for i := range found.Claims {
		if claim := &found.Claims[i]; wanted.Ref.Kind().Kind == "PersistentVolumeClaim" && claim.UID == uid {
			kept := *wanted
			kept.Content = wanted.Content.DeepCopy()
			size := claim.Spec.Resources.Requests.Storage().String()
			_ = unstructured.SetNestedField(kept.Content.Object, size, "spec", "resources", "requests", "storage") // it has been applied
			return &kept
		}
	}
	if found.Live == nil || found.Live.UID != uid {
		return nil
	}
	larger, err := growth(found.Wanted, found.Live)
	if err != nil || len(larger) == 0 {
		return nil
	}
	kept := *wanted
	kept.Content = wanted.Content.DeepCopy()
	templates, _, _ := unstructured.NestedFieldNoCopy(kept.Content.Object, "spec", "volumeClaimTemplates")
	list, _ := templates.([]any)
	for _, template := range list {
		fields, _ := template.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "metadata", "name")
		if size, isLarger := larger[name]; isLarger {
			_ = unstructured.SetNestedField(fields, size.String(), "spec", "resources", "requests", "storage") // growth has read it
		}
	}
	return &kept
}

// growth returns the sizes of the claims that grow, by the names of their templates. Another difference of the templates is an error.
func growth(live, wanted *appsv1.StatefulSet) (map[string]resource.Quantity, error) {
	const field = "volumeClaimTemplates"
	differs := specpath.Refuse(field, "the claims of a StatefulSet that is there can grow, and nothing else of them can change; "+
		"set them as they were, or create another Collector")
	if len(live.Spec.VolumeClaimTemplates) != len(wanted.Spec.VolumeClaimTemplates) {
		return nil, differs
	}
	larger := map[string]resource.Quantity{}
	for i := range wanted.Spec.VolumeClaimTemplates {
		template, old := wanted.Spec.VolumeClaimTemplates[i].DeepCopy(), live.Spec.VolumeClaimTemplates[i]
		has, asked := old.Spec.Resources.Requests.Storage(), template.Spec.Resources.Requests.Storage().DeepCopy()
		switch has.Cmp(asked) {
		case 1:
			return nil, specpath.Refuse(fmt.Sprintf("%s[%d].spec.resources.requests.storage", field, i),
				fmt.Sprintf("%s is less than before, and a claim cannot shrink; set it to %s or more", &asked, has))
		case -1:
			larger[template.Name] = asked
			template.Spec.Resources.Requests[corev1.ResourceStorage] = *has // the rest is compared
		}
		old.TypeMeta = template.TypeMeta // the API server's answer has it in one encoding only
		if !equality.Semantic.DeepEqual(old, *template) {
			return nil, differs
		}
	}
	return larger, nil
}

// grown returns the claims of a StatefulSet that are to grow, also those whose pods were scaled away.
func grown(found apply.Immutable, larger map[string]resource.Quantity) (grow []apply.Growth) {
	for name, size := range larger {
		isOfTemplate := regexp.MustCompile("^" + regexp.QuoteMeta(name+"-"+found.Live.Name) + "-[0-9]+$").MatchString
		for _, claim := range found.Claims {
			controller := metav1.GetControllerOfNoCopy(&claim)
			isOther := controller != nil && controller.Kind != "StatefulSet" && controller.Kind != "Pod" // who take their claims with them
			if isOfTemplate(claim.Name) && !isOther && claim.Spec.Resources.Requests.Storage().Cmp(size) < 0 {
				grow = append(grow, apply.Growth{Claim: claim.Name, UID: claim.UID, Version: claim.ResourceVersion, Size: size.String()})
			}
		}
	}
	return grow
}
