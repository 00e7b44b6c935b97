package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// describePause says why a Collector is not paused although its annotation is set.
func describePause(collector *unstructured.Unstructured, after *v1alpha1.CollectorStatus) {
	if _, err := v1alpha1.IsPaused(collector); err != nil {
		set(after, v1alpha1.Condition{
			Type: "Paused", Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonAnnotationInvalid, Message: err.Error(),
		})
	}
}

// announce tells what a written status says that the one before did not. This way, news is reported once, also if the
// operator is restarted in between. isProven tells whether canary pods have proven what is deployed.
func (w writer) announce(collector *unstructured.Unstructured, before, after *v1alpha1.CollectorStatus, isProven bool) {
	switch was, is := isTrue(before, "Paused"), isTrue(after, "Paused"); {
	case is && !was:
		w.events.Event(collector, corev1.EventTypeNormal, "Paused", "the operator does not follow the spec until annotation "+
			v1alpha1.PausedAnnotation+" is removed")
	case was && !is:
		w.events.Event(collector, corev1.EventTypeNormal, "Resumed", "the operator follows the spec again")
	}
	switch from, to := before.DeployedRelease, after.DeployedRelease; {
	case to == nil || from != nil && from.Revision == to.Revision:
	case from == nil:
		w.events.Eventf(collector, corev1.EventTypeNormal, "Installed", "version %s, as revision %d", after.Version, to.Revision)
	default:
		w.events.Event(collector, corev1.EventTypeNormal, "Upgraded", upgrade(before, after))
	}
	w.announceCanary(collector, before, after, isProven)
	for _, conditionType := range []string{v1alpha1.PresetsReady, "Ready", "Paused", v1alpha1.UpdatePending} {
		old, news := find(before, conditionType), find(after, conditionType)
		if news != nil && failed[news.Reason] != "" && (old == nil || old.Reason != news.Reason || old.Message != news.Message) {
			w.events.Event(collector, corev1.EventTypeWarning, failed[news.Reason], shorten(news.Message))
		}
	}
}

// failed are the events of failures, by the reason of the condition.
var failed = map[string]string{
	v1alpha1.ReasonReleaseFailed: "ReleaseFailed",
	v1alpha1.ReasonConfigInvalid: "Refused",
	v1alpha1.ReasonConfigMissing: "Refused",
	v1alpha1.ReasonConflict:      "Refused",
	v1alpha1.ReasonRefused:       "Refused",
	v1alpha1.ReasonCheckFailed:   "CheckFailed",
	v1alpha1.ReasonRolledBack:    "RolledBack",
	v1alpha1.ReasonCanaryPaused:  "CanaryPaused",
	v1alpha1.ReasonRoleMissing:   "RoleMissing",

	v1alpha1.ReasonAnnotationInvalid: "AnnotationInvalid",
}

func upgrade(before, after *v1alpha1.CollectorStatus) string {
	what := []string{fmt.Sprintf("to revision %d", after.DeployedRelease.Revision)}
	if before.Version != after.Version {
		what = append(what, fmt.Sprintf("version %s → %s", before.Version, after.Version))
	}
	if before.ConfigHash != after.ConfigHash {
		what = append(what, "configuration changed")
	}
	return strings.Join(what, ", ")
}

// shorten cuts a message to what an event can hold: 1,024 bytes (k8s.io/kubernetes, pkg/apis/core/validation, event.go).
func shorten(message string) string {
	if len(message) <= 1024 {
		return message
	}
	return strings.ToValidUTF8(message[:1020], "") + "…"
}
