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

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// Followed returns how a StatefulSet that nobody can change becomes what is wanted, or why it cannot. Its claim templates stay as they are
// where what is wanted has what they have, or what was applied before: a webhook may have completed or changed them. Then the rest can be
// changed. One whose claims grow is replaced by another one, which adopts the pods. Other changes are refused.
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

// Unshrunk returns a claim with the size that it has, or nil if it is another claim: no claim can shrink, so it keeps the size that a
// refused change or an autoscaler of volumes has given it. isAsked tells whether somebody asks for another size than before.
func Unshrunk(wanted *render.Object, uid types.UID, found apply.Immutable) (kept *render.Object, isAsked bool) {
	for i := range found.Claims {
		if claim := &found.Claims[i]; claim.UID == uid {
			with := *wanted
			with.Content = wanted.Content.DeepCopy()
			size := claim.Spec.Resources.Requests.Storage().String()
			_ = unstructured.SetNestedField(with.Content.Object, size, "spec", "resources", "requests", "storage") // it has been applied
			isApplied := claim.Annotations[v1alpha1.AppliedAnnotation] == wanted.Hash
			isAsBefore := found.Before != nil && equality.Semantic.DeepEqual(sizeOf(wanted), sizeOf(found.Before))
			return &with, !isApplied && !isAsBefore
		}
	}
	return nil, false
}

// sizeOf returns the size that a claim asks for.
func sizeOf(claim *render.Object) resource.Quantity {
	text, _, _ := unstructured.NestedString(claim.Content.Object, "spec", "resources", "requests", "storage")
	size, _ := resource.ParseQuantity(text) // the API server has accepted it
	return size
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
	wanted, applied := found.Wanted.Spec.VolumeClaimTemplates, []corev1.PersistentVolumeClaim(nil)
	if found.Applied != nil {
		applied = found.Applied.Spec.VolumeClaimTemplates
	}
	next, larger = found.Live.DeepCopy().Spec.VolumeClaimTemplates, map[string]resource.Quantity{}
	if slices.ContainsFunc(wanted, func(template corev1.PersistentVolumeClaim) bool { return named(next, template.Name) < 0 }) {
		return nil, nil, differs
	}
	for i := range next {
		template := &next[i]
		at, before := named(wanted, template.Name), named(applied, template.Name)
		if at < 0 {
			if isAdded := found.Applied != nil && before < 0; isAdded { // by a webhook
				continue
			}
			return nil, nil, differs
		}
		asked, has := wanted[at], template.Spec.Resources.Requests.Storage()
		size, old := *asked.Spec.Resources.Requests.Storage(), (*corev1.PersistentVolumeClaim)(nil)
		isAsked := !size.Equal(*has)
		if before >= 0 {
			old = &applied[before]
			isAsked = !size.Equal(*old.Spec.Resources.Requests.Storage())
		}
		switch {
		case isAsked && has.Cmp(size) > 0:
			return nil, nil, specpath.Refuse(fmt.Sprintf("%s[%d].spec.resources.requests.storage", field, at),
				fmt.Sprintf("%s is less than before, and a claim cannot shrink; set it to %s or more", &size, has))
		case isAsked && has.Cmp(size) < 0:
			larger[template.Name] = size
			template.Spec.Resources.Requests[corev1.ResourceStorage] = size
		}
		if !stays(unsized(&asked), unsized(old), unsized(template)) {
			return nil, nil, differs
		}
		template.TypeMeta = asked.TypeMeta // the API server's answer has it in one encoding only
	}
	return next, larger, nil
}

func named(templates []corev1.PersistentVolumeClaim, name string) int {
	return slices.IndexFunc(templates, func(template corev1.PersistentVolumeClaim) bool { return template.Name == name })
}

// unsized returns what must not change of a claim template, or nil without one.
func unsized(template *corev1.PersistentVolumeClaim) any {
	if template == nil {
		return nil
	}
	kept := template.DeepCopy()
	kept.TypeMeta = metav1.TypeMeta{}
	delete(kept.Spec.Resources.Requests, corev1.ResourceStorage)
	content, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(kept) // fails for no object of Kubernetes
	return content
}

// stays tells whether what is wanted asks for no other claim template than there is. A field is as it is there, or as it was applied: a
// webhook has set it otherwise then. A field that is not wanted must not have been applied either, if that is known.
func stays(wanted, applied, live any) bool {
	if equality.Semantic.DeepEqual(wanted, live) || wanted != nil && equality.Semantic.DeepEqual(wanted, applied) {
		return true
	}
	if wanted == nil {
		return applied == nil
	}
	asked, isMap := wanted.(map[string]any)
	before, _ := applied.(map[string]any)
	now, _ := live.(map[string]any)
	if !isMap {
		return false
	}
	for field := range before {
		if asked[field] == nil && !stays(nil, before[field], now[field]) {
			return false
		}
	}
	for field := range asked {
		if !stays(asked[field], before[field], now[field]) {
			return false
		}
	}
	return true
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
