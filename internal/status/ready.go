package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// readiness is what the condition Ready says.
type readiness struct {
	status          corev1.ConditionStatus
	reason, message string
}

// with adds a message, unless there is none.
func (r readiness) with(message string) readiness {
	if message != "" {
		r.message += "; " + message
	}
	return r
}

// readiness says whether the Collector's pods serve, as its spec says. after is the status so far.
func (s *Seen) readiness(after *v1alpha1.CollectorStatus) readiness {
	if isTrue(after, paused) {
		message := "annotation " + v1alpha1.PausedAnnotation + " is true: the operator does not follow the spec"
		return readiness{corev1.ConditionUnknown, v1alpha1.ReasonPaused, message}.with(s.pods().with(s.Outcome.Message).message)
	}
	if found := s.undeployed(after); found != nil {
		return *found
	}
	found := s.pods().with(s.Outcome.Message)
	switch {
	case found.status != corev1.ConditionTrue:
		return found
	case s.Outcome.Message != "":
		return readiness{corev1.ConditionFalse, v1alpha1.ReasonProgressing, found.message}
	case !s.Outcome.InOrder:
		// The workload in the informer cache can be from before the last change.
		return readiness{corev1.ConditionFalse, v1alpha1.ReasonProgressing, "applied, but the informer cache does not have all objects yet"}
	}
	return found
}

// undeployed says that what the spec asks for is not deployed, or returns nil. Then Ready does not depend on the pods.
func (s *Seen) undeployed(status *v1alpha1.CollectorStatus) *readiness {
	if s.Outcome.isRefused() {
		return nil
	}
	for _, conditionType := range []string{"ReleaseFailed", "Irreconcilable"} {
		if isTrue(status, conditionType) {
			return new(failure(s.Outcome.Err, find(status, conditionType).Message).with(s.ofCheck()).with(s.Outcome.Message))
		}
	}
	if s.Outcome.Checking != "" {
		return new(readiness{corev1.ConditionFalse, v1alpha1.ReasonChecking, s.Outcome.Checking}.with(s.ofCheck()).with(s.Outcome.Message))
	}
	if s.Outcome.Proof != "" {
		reason := map[bool]string{true: v1alpha1.ReasonCanaryPaused, false: v1alpha1.ReasonProving}[s.Outcome.Canary.Paused != ""]
		return new(readiness{corev1.ConditionFalse, reason, s.Outcome.Proof}.with(s.ofWorkload()).with(s.Outcome.Message))
	}
	return nil
}

// ofCheck says what keeps the pod of a check from running, or nothing.
func (s *Seen) ofCheck() string {
	if s.Outcome.obstructed() == "" {
		return ""
	}
	return strings.Join(s.Troubles, "; ")
}

// ofWorkload says what a Deployment says of pods that cannot be made, or nothing.
func (s *Seen) ofWorkload() string {
	if s.Workload == nil {
		return ""
	}
	return strings.Join(s.Workload.troubles, "; ")
}

// pods says whether the pods serve, and are as many as the spec asks for.
func (s *Seen) pods() readiness {
	if s.Workload == nil {
		return readiness{corev1.ConditionFalse, v1alpha1.ReasonProgressing, "no workload is there"}
	}
	found := s.Workload.readiness(s.Troubles)
	if missed := askedBy(s.Collector).missedBy(s.Workload.Wanted); missed != "" && found.status == corev1.ConditionTrue {
		return readiness{corev1.ConditionFalse, v1alpha1.ReasonProgressing, found.message}.with(missed)
	}
	return found
}

// failure says why a reconcile failed: by the error that the operator made, without what Helm put before it, or else by the
// reconciler's message.
func failure(err error, message string) readiness {
	reason := v1alpha1.ReasonReleaseFailed
	if conflict, ok := errors.AsType[*live.ConflictError](err); ok {
		reason, message = v1alpha1.ReasonConflict, conflict.Error()
	} else if checked, ok := errors.AsType[*plan.CheckError](err); ok {
		reason, message = v1alpha1.ReasonCheckFailed, checked.Error()
	} else if canary, ok := errors.AsType[*plan.CanaryError](err); ok {
		reason, message = v1alpha1.ReasonRolledBack, canary.Error()
	} else if fields, ok := errors.AsType[*specpath.FieldsError](err); ok {
		message = fields.Error()
	} else if refused, ok := errors.AsType[*configuration.Error](err); ok {
		reason, message = v1alpha1.ReasonConfigInvalid, refused.Error()
		if refused.Missing {
			reason = v1alpha1.ReasonConfigMissing
		}
	}
	return readiness{corev1.ConditionFalse, reason, message}
}

// workloadOf returns what runs collector's pods, or nil. As long as a change of spec.mode waits or is refused, that is of another kind.
func (w writer) workloadOf(ctx context.Context, collector *unstructured.Unstructured) (*Workload, error) {
	mode, _, _ := unstructured.NestedString(collector.Object, "spec", "mode")
	wanted := v1alpha1.Mode(cmp.Or(mode, string(v1alpha1.ModeDeployment)))
	var found *Workload
	for _, mode := range []v1alpha1.Mode{wanted, v1alpha1.ModeDeployment, v1alpha1.ModeDaemonSet, v1alpha1.ModeStatefulSet} {
		object := workloads[mode]()
		switch err := w.Client.Get(ctx, client.ObjectKeyFromObject(collector), object); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("read the workload of %s: %w", collector.GetName(), err)
		case metav1.IsControlledBy(object, collector):
			return workloadOf(object), nil
		case mode == wanted && found == nil:
			found = workloadOf(object)
		}
	}
	return found, nil
}
