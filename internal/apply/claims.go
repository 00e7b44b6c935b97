package apply

import (
	"context"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// HasVolume tells whether a claim has a volume, or had one. No pod that mounts a claim without one has ever started.
func HasVolume(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName != "" || claim.Status.Phase == corev1.ClaimBound || claim.Status.Phase == corev1.ClaimLost
}

// IsOfTemplate tells whether a claim has a name as a StatefulSet gives it for one of its templates.
func IsOfTemplate(claim, template, set string) bool {
	is, err := regexp.MatchString("^"+regexp.QuoteMeta(template+"-"+set)+"-[0-9]+$", claim)
	return is && err == nil
}

// discard deletes the claims of a StatefulSet's templates that have no volume, before the StatefulSet takes pods over: its controller makes
// them anew by the present templates. Claims of others stay, and a claim that gets a volume meanwhile stays, too.
func (a *Applier) discard(ctx context.Context, s Step) {
	templates, _, _ := unstructured.NestedSlice(s.Object.Content.Object, "spec", "volumeClaimTemplates")
	if len(templates) == 0 {
		return
	}
	claims, err := a.Cluster.Claims(ctx)
	for i := range claims {
		claim := &claims[i]
		if HasVolume(claim) || claim.Labels[v1alpha1.CollectorLabel] != s.Ref.Name() {
			continue
		}
		for _, template := range templates {
			fields, _ := template.(map[string]any)
			name, _, _ := unstructured.NestedString(fields, "metadata", "name")
			if err == nil && IsOfTemplate(claim.Name, name, s.Ref.Name()) {
				err = a.Cluster.Discard(ctx, Growth{Claim: claim.Name, UID: claim.UID, Version: claim.ResourceVersion})
			}
		}
	}
	if err != nil { // the pods are taken over all the same
		log.FromContext(ctx).Info("could not delete the claims without a volume", "of", s.Ref.String(), "because", err.Error())
	}
}
