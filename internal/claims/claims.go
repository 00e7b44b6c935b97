// Package claims is about the claims of StatefulSets: how they follow their templates. Claims can grow, and cannot shrink. The
// package sends no requests.
package claims

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// Followed returns how a StatefulSet with immutable fields becomes what is wanted, or why it cannot. Its claim templates stay as they are
// where what is wanted has what they have, or what was applied before: a webhook may have completed or changed them. Then the rest can be
// changed. With other templates, it is replaced by another StatefulSet, which adopts the pods. Claims that have a volume stay, and are
// expanded if the templates ask for more. pods are those of the StatefulSet.
func Followed(wanted *render.Object, uid types.UID, found apply.Immutable, pods []live.Pod) (*render.Object, *apply.Old, error) {
	if found.Live == nil || found.Live.UID != uid {
		return nil, nil, found.Err
	}
	change, err := changeOf(found, pods)
	if err != nil {
		return nil, nil, err
	}
	if !equality.Semantic.DeepEqual(change.next, found.Wanted.Spec.VolumeClaimTemplates) {
		if wanted, err = withTemplates(wanted, change.next); err != nil {
			return nil, nil, err
		}
	} else if !change.replaces() {
		return nil, nil, found.Err
	}
	if !change.replaces() {
		return wanted, nil, nil
	}
	grow, owned := grown(found, change.larger), owned(found, change.next)
	return wanted, &apply.Old{Ref: wanted.Ref, UID: uid, Orphan: true, Grow: grow, Owned: owned}, nil
}

// Foretell says what becomes of the claims of a StatefulSet whose templates change, a sentence each, and which of them grow. The error is
// what the change is refused with.
func Foretell(found apply.Immutable, pods []live.Pod) (says []string, grow []apply.Growth, err error) {
	c, err := changeOf(found, pods)
	if err != nil {
		return nil, nil, err
	}
	return c.says(found), grown(found, c.larger), nil
}

// TemplatesOf returns the names of the claim templates of a StatefulSet, as the informer cache keeps them. Another object has none.
func TemplatesOf(set *render.Object) string {
	var names []string
	templates, _, _ := unstructured.NestedSlice(set.Content.Object, "spec", "volumeClaimTemplates")
	for _, template := range templates {
		fields, _ := template.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "metadata", "name")
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// Unshrunk returns a claim with the size that it has, or nil if it is another claim: no claim can shrink, so it keeps the size that a
// refused change or an autoscaler of volumes has given it. isAsked tells whether the spec asks for another size than before.
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

// change is how the claim templates of a StatefulSet change.
type change struct {
	next   []corev1.PersistentVolumeClaim // that it is to have
	larger map[string]resource.Quantity   // the sizes of the claims that grow, by the names of their templates

	added, removed, other []string // the names of those that come, that go, and that change otherwise than by growth
}

// replaces tells whether another StatefulSet has to take the place of the one that is there.
func (c *change) replaces() bool {
	return len(c.larger)+len(c.added)+len(c.removed)+len(c.other) > 0
}

// says returns what becomes of the claims.
func (c *change) says(found apply.Immutable) (says []string) {
	if !c.replaces() {
		return nil
	}
	says = append(says, fmt.Sprintf("StatefulSet %q is replaced, and its pods keep running", found.Live.Name))
	for _, template := range c.next {
		size, grows := c.larger[template.Name]
		isOther := slices.Contains(c.other, template.Name)
		switch {
		case slices.Contains(c.added, template.Name):
			says = append(says, fmt.Sprintf("pods without a claim of %s are replaced one after the other, to get one", template.Name))
		case (grows || isOther) && !holds(found, template.Name):
			says = append(says, fmt.Sprintf("claims of %s have no volume yet, and are made anew", template.Name))
		case grows:
			says = append(says, fmt.Sprintf("claims of %s grow to %s", template.Name, &size))
		}
		if isOther && holds(found, template.Name) {
			says = append(says, fmt.Sprintf("claims of %s that are there keep their StorageClass, access modes, labels and data; "+
				"only claims of new pods follow the template", template.Name))
		}
	}
	for _, name := range c.removed {
		says = append(says, fmt.Sprintf("claims of %s stay, and no pod mounts them", name))
	}
	return says
}

// changeOf compares the claim templates that a StatefulSet has with what is wanted of it.
func changeOf(found apply.Immutable, pods []live.Pod) (c change, err error) {
	const field = "volumeClaimTemplates"
	wanted, applied := found.Wanted.Spec.VolumeClaimTemplates, []corev1.PersistentVolumeClaim(nil)
	if found.Applied != nil {
		applied = found.Applied.Spec.VolumeClaimTemplates
	}
	c.larger = map[string]resource.Quantity{}
	for _, template := range found.Live.DeepCopy().Spec.VolumeClaimTemplates {
		at, before := named(wanted, template.Name), named(applied, template.Name)
		if at < 0 {
			lacks := slices.ContainsFunc(pods, func(pod live.Pod) bool { return pod.Lacks(template.Name) })
			if found.Applied != nil && before < 0 && !lacks { // a webhook has added it, and no refused change
				c.next = append(c.next, template)
			} else {
				c.removed = append(c.removed, template.Name)
			}
			continue
		}
		asked, has := wanted[at], template.Spec.Resources.Requests.Storage()
		size, old := *asked.Spec.Resources.Requests.Storage(), (*corev1.PersistentVolumeClaim)(nil)
		isAsked := !size.Equal(*has)
		if before >= 0 {
			old = &applied[before]
			isAsked = !size.Equal(*old.Spec.Resources.Requests.Storage())
		}
		if found.Superseded {
			old, isAsked = nil, isAsked || has.Cmp(size) < 0
		}
		isOther := !stays(unsized(&asked), unsized(old), unsized(&template))
		shrinks := isAsked && has.Cmp(size) > 0
		switch {
		case shrinks && found.TakesBack: // a change that was not accepted has grown the claims
			isAsked = false
		case shrinks && holds(found, template.Name):
			return c, specpath.Refuse(fmt.Sprintf("%s[%d].spec.resources.requests.storage", field, at),
				fmt.Sprintf("%s is less than before, and a claim cannot shrink; set it to %s or more", &size, has))
		case shrinks:
			isOther = true
		case isAsked && has.Cmp(size) < 0 && found.Proves && holds(found, template.Name):
			isAsked = false
		case isAsked && has.Cmp(size) < 0:
			c.larger[template.Name] = size
		}
		if isAsked {
			template.Spec.Resources.Requests[corev1.ResourceStorage] = size
		}
		if template.TypeMeta = asked.TypeMeta; isOther { // the API server's answer has a type in one encoding only
			kept := template.Spec.Resources.Requests[corev1.ResourceStorage]
			template = *asked.DeepCopy()
			template.Spec.Resources.Requests[corev1.ResourceStorage] = kept
			c.other = append(c.other, template.Name)
		}
		c.next = append(c.next, template)
	}
	for _, template := range wanted {
		if named(found.Live.Spec.VolumeClaimTemplates, template.Name) < 0 {
			c.next, c.added = append(c.next, template), append(c.added, template.Name)
		}
	}
	if isByHand := found.Wanted.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType; isByHand && lack(pods, c.added) {
		return c, specpath.Refuse(field, fmt.Sprintf("StatefulSet %q has pods without the claim %s, and makes none before they are replaced; "+
			"set updateStrategy.type to RollingUpdate until they are", found.Live.Name, c.added[0]))
	}
	return c, nil
}

// lack tells whether a pod lacks one of some claim templates.
func lack(pods []live.Pod, templates []string) bool {
	return slices.ContainsFunc(pods, func(pod live.Pod) bool { return pod.Lacks(strings.Join(templates, " ")) })
}

// holds tells whether a claim of a template has a volume.
func holds(found apply.Immutable, template string) bool {
	return slices.ContainsFunc(found.Claims, func(claim corev1.PersistentVolumeClaim) bool {
		return apply.HasVolume(&claim) && isOf(&claim, template, found.Live.Name)
	})
}

// isOf tells whether a claim is of a template of a StatefulSet. Two StatefulSets can give claims the same name: "data-eu" of "gw" is "data"
// of "eu-gw". The label tells them apart, where a claim has one.
func isOf(claim *corev1.PersistentVolumeClaim, template, set string) bool {
	collector, isLabeled := claim.Labels[v1alpha1.CollectorLabel]
	return apply.IsOfTemplate(claim.Name, template, set) && (!isLabeled || collector == set)
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
func stays(wanted, applied, current any) bool {
	if equality.Semantic.DeepEqual(wanted, current) || wanted != nil && equality.Semantic.DeepEqual(wanted, applied) {
		return true
	}
	if wanted == nil {
		return applied == nil
	}
	asked, isMap := wanted.(map[string]any)
	before, _ := applied.(map[string]any)
	now, _ := current.(map[string]any)
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

// grown returns the claims of a StatefulSet that are to grow, also those whose pods were scaled away. One without a volume cannot.
func grown(found apply.Immutable, larger map[string]resource.Quantity) (grow []apply.Growth) {
	for name, size := range larger {
		for _, claim := range found.Claims {
			controller := metav1.GetControllerOfNoCopy(&claim)
			isOther := controller != nil && controller.Kind != "StatefulSet" && controller.Kind != "Pod" // who take their claims with them
			isOfTemplate := apply.HasVolume(&claim) && isOf(&claim, name, found.Live.Name)
			if isOfTemplate && !isOther && claim.Spec.Resources.Requests.Storage().Cmp(size) < 0 {
				grow = append(grow, apply.Growth{Claim: claim.Name, UID: claim.UID, Version: claim.ResourceVersion, Size: size.String()})
			}
		}
	}
	return grow
}
