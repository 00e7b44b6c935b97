package release

import (
	"context"
	"fmt"
	"regexp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.object.Object, wanted)
	if err != nil || len(live.Spec.VolumeClaimTemplates) != len(wanted.Spec.VolumeClaimTemplates) {
		return false, nil //nolint:nilerr // the API server has said what is wrong
	}
	larger := map[string]resource.Quantity{} // by the name of the template
	for i, template := range wanted.Spec.VolumeClaimTemplates {
		old := live.Spec.VolumeClaimTemplates[i]
		has, asked := old.Spec.Resources.Requests.Storage(), template.Spec.Resources.Requests.Storage()
		switch has.Cmp(*asked) {
		case 1:
			return false, &specpath.RefusedError{Problems: []specpath.Problem{{
				Field:   fmt.Sprintf("spec.volumeClaimTemplates[%d].spec.resources.requests.storage", i),
				Message: fmt.Sprintf("%s is less than before, and a claim cannot shrink; set it to %s or more", asked, has),
			}}}
		case -1:
			larger[template.Name] = *asked
			template.Spec.Resources.Requests[corev1.ResourceStorage] = *has // the rest is compared
		}
		old.TypeMeta = template.TypeMeta // the API server's answer has it in one encoding only
		if !equality.Semantic.DeepEqual(old, template) {
			return false, nil
		}
	}
	if len(larger) == 0 {
		return false, nil
	}
	if err := r.expand(live, larger); err != nil {
		return false, err
	}
	return true, r.orphan(s.ref, live)
}

// expand raises the requests of a StatefulSet's claims, also of claims whose pods were scaled away.
func (r *actionClient) expand(set *appsv1.StatefulSet, larger map[string]resource.Quantity) error {
	var claims corev1.PersistentVolumeClaimList
	err := r.live.List(r.ctx, &claims, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels))
	if err != nil {
		return fmt.Errorf("list the claims of StatefulSet %q: %w", set.Name, err)
	}
	for name, size := range larger {
		isOfTemplate := regexp.MustCompile("^" + regexp.QuoteMeta(name+"-"+set.Name) + "-[0-9]+$").MatchString
		for _, claim := range claims.Items {
			if !isOfTemplate(claim.Name) || claim.Spec.Resources.Requests.Storage().Cmp(size) >= 0 {
				continue
			}
			patch := client.MergeFromWithOptions(claim.DeepCopy(), client.MergeFromWithOptimisticLock{})
			claim.Spec.Resources.Requests[corev1.ResourceStorage] = size
			if err := r.cluster.Patch(r.ctx, &claim, patch, client.FieldOwner(manager)); err != nil {
				return fmt.Errorf("expand PersistentVolumeClaim %q for spec.volumeClaimTemplates: %w", claim.Name, err)
			}
		}
	}
	return nil
}

// orphan deletes a StatefulSet, and leaves its pods and claims alone.
func (r *actionClient) orphan(what ref, set *appsv1.StatefulSet) error {
	err := r.cluster.Delete(r.ctx, set, client.Preconditions{UID: &set.UID}, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s without its pods: %w", what, err)
	}
	err = wait.PollUntilContextTimeout(r.ctx, 20*time.Millisecond, orphanTimeout, true, func(context.Context) (bool, error) {
		found, err := r.find(r.ctx, what)
		return found == nil || found.GetUID() != set.UID, err
	})
	if err != nil {
		return fmt.Errorf("the operator creates %s again with larger claims when the old one is gone; its pods keep running: %w", what, err)
	}
	return nil
}
