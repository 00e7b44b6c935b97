package kubectl

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAPauseKeepsTheGate(t *testing.T) {
	const hold, gate = v1alpha1.RolloutHold, v1alpha1.RolloutGate
	type steer = func(*corev1.Namespace) (string, error)
	for name, row := range map[string]struct {
		label string
		steps []steer
		want  string // the label
		said  string // or the error
	}{
		"pause":                             {"", []steer{pauseAll}, hold, "paused: "},
		"pause and resume":                  {"", []steer{pauseAll, resumeAll}, "", "resumed: "},
		"pause and resume at a gate":        {gate, []steer{pauseAll, resumeAll}, gate, "each ring waits at its gate as before"},
		"pause twice and resume at a gate":  {gate, []steer{pauseAll, pauseAll, resumeAll}, gate, "resumed: "},
		"pause twice":                       {"", []steer{pauseAll, pauseAll}, hold, "is paused already"},
		"resume at a gate without a pause":  {gate, []steer{resumeAll}, gate, "is not paused"},
		"resume, and a later pause no more": {gate, []steer{pauseAll, resumeAll, ungate, pauseAll, resumeAll}, "", "resumed: "},
		"a pause that the label has ended":  {gate, []steer{pauseAll, ungate, pauseAll, resumeAll}, "", "resumed: "},
		"resume without a pause":            {"", []steer{resumeAll}, "", "is not paused"},
		"continue at a gate":                {gate, []steer{continueAll}, gate, "continued: "},
		"continue during a pause":           {gate, []steer{pauseAll, continueAll}, hold, "first: kubectl collector rollout resume"},
	} {
		namespace := &corev1.Namespace{}
		if row.label != "" {
			namespace.Labels = map[string]string{v1alpha1.RolloutLabel: row.label}
		}
		var said string
		for _, step := range row.steps {
			var err error
			if said, err = step(namespace); err != nil {
				said = err.Error()
			}
		}
		if got := namespace.Labels[v1alpha1.RolloutLabel]; got != row.want || !strings.Contains(said, row.said) {
			t.Errorf("%s: the label is %q, want %q; it says %q, want %q", name, got, row.want, said, row.said)
		}
	}
}

func ungate(namespace *corev1.Namespace) (string, error) {
	delete(namespace.Labels, v1alpha1.RolloutLabel)
	return "", nil
}
