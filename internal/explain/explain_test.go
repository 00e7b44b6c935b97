package explain

import (
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestEachReasonIsExplainedByTheDocuments(t *testing.T) {
	for _, reason := range []string{
		v1alpha1.ReasonAvailable, v1alpha1.ReasonProgressing, v1alpha1.ReasonPodsNotReady, v1alpha1.ReasonConfigInvalid,
		v1alpha1.ReasonConfigMissing, v1alpha1.ReasonChecking, v1alpha1.ReasonCheckFailed, v1alpha1.ReasonConflict,
		v1alpha1.ReasonReleaseFailed, v1alpha1.ReasonPaused, v1alpha1.ReasonProving, v1alpha1.ReasonRolledBack, v1alpha1.ReasonCanaryPaused, Unknown,
	} {
		found, err := Reason(reason, "tenant-acme", "gateway")
		if err != nil {
			t.Errorf("%s: %v; docs/reference/conditions.md explains each reason in the table of \"Reasons of Ready\"", reason, err)
			continue
		}
		if reason != Unknown && (found.Meaning == "" || found.Action == "") {
			t.Errorf("%s: docs/reference/conditions.md does not say what it means or what to do: %+v", reason, found)
		}
		if found.Runbook != "" && len(found.Commands) == 0 {
			t.Errorf("%s: the runbook %s has no commands in Diagnosis: %+v", reason, found.Runbook, found)
		}
		for _, text := range append(found.Commands, found.Meaning, found.Action, found.Mitigation) {
			if strings.Contains(text, "NAME") || strings.Contains(text, "](") {
				t.Errorf("%s: a placeholder or a link is left in %q", reason, text)
			}
		}
	}
}

func TestAReasonOfALaterVersionIsAnError(t *testing.T) {
	if found, err := Reason("Sleepy", "tenant-acme", "gateway"); err == nil || !strings.Contains(err.Error(), "Sleepy") {
		t.Errorf("got %+v, %v", found, err)
	}
}
