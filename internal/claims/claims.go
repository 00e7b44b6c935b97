// Package claims is about the claims of StatefulSets, which can grow and cannot shrink. It sends no request.
package claims

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// Followed returns how a StatefulSet that nobody can change becomes what is wanted, or why it cannot. Its claim templates stay as they are
// where what is wanted has what was applied before: a webhook may have completed them. Then it can be changed. One whose claims grow is
// replaced by another one, which adopts the pods. Other changes are refused.
func Followed(wanted *render.Object, uid types.UID, found apply.Immutable) (*render.Object, *apply.Old, error) {
	if found.Live == nil || found.Live.UID != uid {
		return nil, nil, found.Err
	}
	next, larger, err := templates(found)
	if err != nil {
		return nil, nil, err
	}
	if !equality.Semantic.DeepEqual(next, found.Wanted.Spec.VolumeClaimTemplates) {
		if wanted, err = withTemplates(wanted, next); err != nil {
			return nil, nil, err
		}
	} else if len(larger) == 0 {
		return nil, nil, found.Err
	}
	if len(larger) == 0 {
		return wanted, nil, nil
	}
	return wanted, &apply.Old{Ref: wanted.Ref, UID: uid, Orphan: true, Grow: grown(found, larger)}, nil
}

// Unshrunk returns a claim of the deployed revision with the size that it has, or nil if it is another claim: no claim can shrink, so it
// keeps the size that a change gave it before it was refused.
func Unshrunk(wanted *render.Object, uid types.UID, found apply.Immutable) *render.Object {
	for i := range found.Claims {
		if claim := &found.Claims[i]; claim.UID == uid {
			kept := *wanted
			kept.Content = wanted.Content.DeepCopy()
			size := claim.Spec.Resources.Requests.Storage().String()
			_ = unstructured.SetNestedField(kept.Content.Object, size, "spec", "resources", "requests", "storage") // it has been applied
			return &kept
		}
	}
	return nil
}

func withTemplates(wanted *render.Object, templates []corev1.PersistentVolumeClaim) (*render.Object, error) {
	with := *wanted
	with.Content = wanted.Content.DeepCopy()
	list := make([]any, 0, len(templates))
	for i := range templates {
		template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&templates[i])
		if err != nil {
			return nil, fmt.Errorf("keep the claim templates of %s: %w", wanted.Ref, err)
		}
		list = append(list, template)
	}
	if err := unstructured.SetNestedSlice(with.Content.Object, list, "spec", "volumeClaimTemplates"); err != nil {
		return nil, fmt.Errorf("keep the claim templates of %s: %w", wanted.Ref, err)
	}
	return &with, nil
}

// templates returns the claim templates that a StatefulSet is to have, and the sizes of the claims that grow, by the names of their
// templates. Another difference of the templates is an error.
func templates(found apply.Immutable) (next []corev1.PersistentVolumeClaim, larger map[string]resource.Quantity, err error) {
	const field = "volumeClaimTemplates"
	differs := specpath.Refuse(field, "the claims of a StatefulSet that is there can grow, and nothing else of them can change; "+
		"set them as they were, or create another Collector")
	live, wanted := found.Live.Spec.VolumeClaimTemplates, found.Wanted.Spec.VolumeClaimTemplates
	applied := live
	if found.Applied != nil && slices.EqualFunc(live, found.Applied.Spec.VolumeClaimTemplates, haveOneName) {
		applied = found.Applied.Spec.VolumeClaimTemplates
	}
	if !slices.EqualFunc(applied, wanted, haveOneName) {
		return nil, nil, differs
	}
	larger = map[string]resource.Quantity{}
	for i := range wanted {
		template, old := *live[i].DeepCopy(), *applied[i].DeepCopy()
		has, asked := template.Spec.Resources.Requests.Storage(), *wanted[i].Spec.Resources.Requests.Storage()
		isAsked := !asked.Equal(*old.Spec.Resources.Requests.Storage())
		switch has.Cmp(asked) {
		case 1:
			if isAsked {
				return nil, nil, specpath.Refuse(fmt.Sprintf("%s[%d].spec.resources.requests.storage", field, i),
					fmt.Sprintf("%s is less than before, and a claim cannot shrink; set it to %s or more", &asked, has))
			}
		case -1:
			larger[template.Name] = asked
			template.Spec.Resources.Requests[corev1.ResourceStorage] = asked
		}
		if isAsked {
			old.Spec.Resources.Requests[corev1.ResourceStorage] = asked // the rest is compared
		}
		old.TypeMeta = wanted[i].TypeMeta // the API server's answer has it in one encoding only
		if !equality.Semantic.DeepEqual(old, wanted[i]) {
			return nil, nil, differs
		}
		template.TypeMeta = wanted[i].TypeMeta
		next = append(next, template)
	}
	return next, larger, nil
}

func haveOneName(a, b corev1.PersistentVolumeClaim) bool { return a.Name == b.Name }

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
