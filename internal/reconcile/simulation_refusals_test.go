package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simHang is how long the API server waits for a webhook, unless that says otherwise.
const simHang = 10 * time.Second

// simRefusal is a rule of the cluster that refuses writes of a kind.
type simRefusal struct{ kind, how string }

func simInvalid(what live.Reference, kind metav1.CauseType, field, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: message,
		Details: &metav1.StatusDetails{Name: what.Name(), Causes: []metav1.StatusCause{{Type: kind, Field: field, Message: message}}},
	}}
}

// admit returns the API server's own refusals, and those of others.
func (c simCluster) admit(before, after *simObject, isDryRun bool) error {
	if before != nil {
		if kind := after.kind(); kind == "StatefulSet" && (before.get(simClaims) != after.get(simClaims) || before.get(simClass) != after.get(simClass)) {
			return c.world.refusesClaimTemplates(after.ref)
		} else if kind == "Secret" && before.get(simData) != after.get(simData) {
			return simInvalid(after.ref, metav1.CauseTypeForbidden, "data", "data: Forbidden: field is immutable when `immutable` is set")
		} else if kind == "PersistentVolumeClaim" && simShrinks(before, after.get(simSize)) {
			return simInvalid(after.ref, metav1.CauseTypeForbidden, "spec.resources.requests.storage", "field can not be less than status.capacity")
		}
	}
	return c.refuses(before == nil, after.ref, isDryRun)
}

// refusesClaimTemplates returns what the API server says to other claim templates: in each second schedule as Kubernetes does until 1.36.
func (w *simWorld) refusesClaimTemplates(what live.Reference) error {
	if w.schedule.Seed%2 == 0 {
		return simInvalid(what, metav1.CauseTypeForbidden, "spec", "spec: Forbidden: updates to statefulset spec are forbidden")
	}
	return simInvalid(what, metav1.CauseTypeFieldValueInvalid, "spec.volumeClaimTemplates", "field is immutable")
}

// refuses returns what a policy, a quota or a webhook says to a write.
func (s *simSpace) refuses(creates bool, what live.Reference, isDryRun bool) error {
	kind := what.Kind().Kind
	if kind == "ScaledObject" && creates {
		if hpa := s.objects[simRef("HorizontalPodAutoscaler", simName)]; hpa != nil && !hpa.deleting {
			return apierrors.NewForbidden(simResource(what), what.Name(), fmt.Errorf(
				"admission webhook denied the request: the workload '%s' of type 'apps/v1' is already managed by the hpa '%[1]s'", simName))
		}
	}
	for _, refusal := range s.refusals {
		if refusal.kind != kind {
			continue
		}
		isBlind := slices.Contains(simulation.Blind, refusal.how)
		switch {
		case isBlind && isDryRun:
			return apierrors.NewBadRequest("admission webhook \"w\" does not support dry run")
		case refusal.how == simulation.SilentWebhook, refusal.how == simulation.Quota && !creates, refusal.how == simulation.Keeper:
		case refusal.how == simulation.BrokenWebhook:
			return s.world.hangs()
		case refusal.how == simulation.Policy:
			return simInvalid(what, "", "", "ValidatingAdmissionPolicy 'p' denied request")
		default:
			return apierrors.NewForbidden(simResource(what), what.Name(), errors.New(refusal.how+" denied the request"))
		}
	}
	return nil
}

// hangs returns what the API server says to a write whose webhook does not answer. In some schedules it answers nothing until it is given up.
func (w *simWorld) hangs() error {
	why := "connect: connection refused"
	if w.schedule.Seed/2%2 == 0 {
		w.now = w.now.Add(simHang)
		for _, s := range w.spaces { // meanwhile, the informer cache shows all, and pods are ready
			for _, kind := range simulation.Kinds {
				s.deliver(kind)
			}
			s.deliver("Pod")
			s.proves()
		}
		why = "context deadline exceeded"
	}
	return apierrors.NewInternalError(errors.New("failed calling webhook \"w\": " + why))
}
