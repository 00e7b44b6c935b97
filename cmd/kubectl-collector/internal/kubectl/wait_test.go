package kubectl

import (
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAWaitEndsWhenOnlyAChangeHelps(t *testing.T) {
	const byItself, inVain = "does not become ready by itself", "was waited for in vain"
	for name, row := range map[string]struct {
		reason     string
		ready      corev1.ConditionStatus
		stalled    corev1.ConditionStatus
		generation int64 // of the status; the Collector's is 2
		want       string
		since      metav1.Time
		pauseOver  bool // the annotation is gone already
	}{
		"it is ready":                             {reason: v1alpha1.ReasonAvailable, ready: "True", generation: 2},
		"pods start":                              {reason: v1alpha1.ReasonProgressing, ready: "False", generation: 2, want: inVain},
		"a release has failed, and is tried":      {reason: v1alpha1.ReasonReleaseFailed, ready: "False", generation: 2, want: inVain},
		"a release has failed, and stays so":      {reason: v1alpha1.ReasonReleaseFailed, ready: "False", stalled: "True", generation: 2, want: byItself},
		"a release has just been refused":         {v1alpha1.ReasonReleaseFailed, "False", "True", 2, inVain, metav1.Now(), false},
		"its configuration is refused":            {v1alpha1.ReasonConfigInvalid, "False", "True", 2, byItself, metav1.Now(), false},
		"canary pods have failed":                 {v1alpha1.ReasonRolledBack, "False", "True", 2, byItself, metav1.Now(), false},
		"canary pods have failed, and stay":       {v1alpha1.ReasonCanaryPaused, "False", "True", 2, byItself, metav1.Now(), false},
		"the change before it has failed":         {v1alpha1.ReasonRolledBack, "False", "True", 1, inVain, metav1.Now(), false},
		"it was ready before the change":          {reason: v1alpha1.ReasonAvailable, ready: "True", generation: 1, want: inVain},
		"it is paused, so that no change is seen": {reason: v1alpha1.ReasonPaused, ready: "False", generation: 1, want: byItself},
		"the pause has just ended":                {reason: v1alpha1.ReasonPaused, pauseOver: true, ready: "False", generation: 1, want: inVain},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			_ = v1alpha1.AddToScheme(scheme)
			collector := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", Generation: 2}}
			collector.Status.ObservedGeneration = row.generation
			if row.reason == v1alpha1.ReasonPaused && !row.pauseOver {
				collector.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
			}
			collector.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: row.ready, Reason: row.reason}}
			if row.stalled != "" {
				collector.Status.Conditions = append(collector.Status.Conditions, v1alpha1.Condition{
					Type: v1alpha1.Stalled, Status: row.stalled, LastTransitionTime: row.since,
				})
			}
			s := &session{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(collector).Build(), namespace: "acme"}
			p := &plugin{IOStreams: genericiooptions.IOStreams{ErrOut: io.Discard}}
			err := p.until(t.Context(), s, "gateway", waiting{wait: true, timeout: time.Millisecond})
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || ExitCode(err) != exitNotReady || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
