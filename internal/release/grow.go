package release

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/specpath"
)

// orphanTimeout is how long a reconcile waits until a StatefulSet has let go of its pods. Mostly that takes milliseconds.
const orphanTimeout = 5 * time.Second

// grow has the claims of a StatefulSet grow, if that is how its templates differ from those that are wanted: the API server
// lets nobody change a template. It expands the claims, and deletes the StatefulSet without its pods, which the next one adopts.
// It tells whether it has. A smaller size is an error.
func (r *actionClient) grow(s *step, before client.Object) (bool, error) {
	live, wanted := &appsv1.StatefulSet{}, &appsv1.StatefulSet{}
	if err := r.live.Get(r.ctx, client.ObjectKeyFromObject(before), live); err != nil || live.UID != before.GetUID() {
		return false, client.IgnoreNotFound(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.object.Object, wanted); err != nil {
		return false, nil //nolint:nilerr // the API server has said what is wrong
	}
	larger := corev1.ResourceList{}                 // by the name of the template
	for i := range live.Spec.VolumeClaimTemplates { // the API server's answer has it in one encoding only
		live.Spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{}
	}
	for i := range wanted.Spec.VolumeClaimTemplates {
		template := &wanted.Spec.VolumeClaimTemplates[i]
		template.TypeMeta = metav1.TypeMeta{}
		for _, old := range live.Spec.VolumeClaimTemplates {
			has, asked := old.Spec.Resources.Requests.Storage(), template.Spec.Resources.Requests.Storage()
			if old.Name != template.Name || has.Cmp(*asked) == 0 {
				continue
			}
			if has.Cmp(*asked) > 0 {
				return false, &specpath.RefusedError{Problems: []specpath.Problem{{
					Field:   fmt.Sprintf("spec.volumeClaimTemplates[%d].spec.resources.requests.storage", i),
					Message: fmt.Sprintf("%s is less than before, and a claim cannot shrink; set it to %s or more", asked, has),
				}}}
			}
			larger[corev1.ResourceName(template.Name)] = asked.DeepCopy()
			template.Spec.Resources.Requests[corev1.ResourceStorage] = *has // the rest is compared
		}
	}
	if len(larger) == 0 || !equality.Semantic.DeepEqual(live.Spec.VolumeClaimTemplates, wanted.Spec.VolumeClaimTemplates) {
		return false, nil
	}
	if err := r.expand(live, larger); err != nil {
		return false, err
	}
	return true, r.orphan(s.ref, live)
}

// expand has the claims of a StatefulSet request as much as they shall have. Those of pods that were scaled away count too.
func (r *actionClient) expand(set *appsv1.StatefulSet, larger corev1.ResourceList) error {
	var claims corev1.PersistentVolumeClaimList
	err := r.live.List(r.ctx, &claims, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels))
	if err != nil {
		return fmt.Errorf("list the claims of StatefulSet %q: %w", set.Name, err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		end := strings.LastIndex(claim.Name, "-")
		template, found := strings.CutSuffix(claim.Name[:max(end, 0)], "-"+set.Name)
		size, wanted := larger[corev1.ResourceName(template)]
		isOrdinal := !slices.ContainsFunc([]rune(claim.Name[end+1:]), func(digit rune) bool { return digit < '0' || digit > '9' })
		if !found || !wanted || !isOrdinal || claim.Spec.Resources.Requests.Storage().Cmp(size) >= 0 {
			continue
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": claim.UID},
			"spec":     map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size.String()}}},
		})
		if err != nil {
			return fmt.Errorf("write it as JSON: %w", err)
		}
		if err := r.cluster.Patch(r.ctx, claim, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(manager)); err != nil {
			return fmt.Errorf("expand PersistentVolumeClaim %q for spec.volumeClaimTemplates: %w", claim.Name, err)
		}
	}
	return nil
}

// orphan deletes a StatefulSet, and leaves its pods and claims alone.
func (r *actionClient) orphan(what ref, set *appsv1.StatefulSet) error {
	if set.DeletionTimestamp == nil {
		err := r.cluster.Delete(r.ctx, set, client.Preconditions{UID: &set.UID}, client.PropagationPolicy(metav1.DeletePropagationOrphan))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s without its pods: %w", what, err)
		}
	}
	err := wait.PollUntilContextTimeout(r.ctx, 20*time.Millisecond, orphanTimeout, true, func(context.Context) (bool, error) {
		found, err := r.find(r.ctx, what)
		return err == nil && (found == nil || found.GetUID() != set.UID), err
	})
	if err != nil {
		return fmt.Errorf("the operator creates %s again with larger claims when the old one is gone; its pods keep running: %w", what, err)
	}
	return nil
}
