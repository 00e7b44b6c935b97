package kubectl

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestADecisionIsAboutTheLastChangeOrRefused(t *testing.T) {
	failed := &v1alpha1.CanaryStatus{Hash: "0123456789ab", RolledBack: "pod c-x: Error"}
	for name, row := range map[string]struct {
		reason, message string
		observed        int64
		canary          *v1alpha1.CanaryStatus
		refuses         string // or nothing
	}{
		"canary pods prove it":                                   {v1alpha1.ReasonProving, "until noon", 2, &v1alpha1.CanaryStatus{Hash: "0123456789ab"}, ""},
		"canary pods have failed, and stay":                      {v1alpha1.ReasonCanaryPaused, "pod c-x: Error", 2, &v1alpha1.CanaryStatus{Hash: "0123456789ab"}, ""},
		"canary pods have failed, and it is rolled back":         {v1alpha1.ReasonRolledBack, "pod c-x: Error", 2, failed, ""},
		"no operator has reconciled it yet":                      {v1alpha1.ReasonRolledBack, "pod c-x: Error", 1, failed, "wait until `kubectl collector status gateway -n acme` shows it"},
		"an earlier change has failed, and it is checked":        {v1alpha1.ReasonChecking, "Job a checks the change", 2, failed, "it does not prove itself, and Ready is Checking: Job a checks the change; wait until it does"},
		"an earlier change has failed, and pods come back first": {v1alpha1.ReasonProgressing, "Deployment comes back", 2, failed, "Deployment comes back; wait until it does"},
		"an earlier change has failed, and it is refused": {v1alpha1.ReasonConfigInvalid, "line 3: no such receiver", 2, failed,
			"Ready is ConfigInvalid: line 3: no such receiver; `kubectl collector status gateway -n acme` shows more"},
		"there is nothing to prove": {v1alpha1.ReasonAvailable, "1/1 available", 2, nil, "it does not prove itself, and Ready is Available: 1/1 available"},
		"the Collector is paused":   {v1alpha1.ReasonPaused, "the operator does not follow the spec", 1, failed, "`kubectl collector resume gateway -n acme`"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			_ = v1alpha1.AddToScheme(scheme)
			collector := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", Generation: 2}}
			collector.Status.ObservedGeneration, collector.Status.Canary = row.observed, row.canary
			collector.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: corev1.ConditionFalse, Reason: row.reason, Message: row.message}}
			s := &session{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(collector).Build(), namespace: "acme"}
			var out strings.Builder
			p := &plugin{IOStreams: genericiooptions.IOStreams{Out: &out}}
			err := p.decide(t.Context(), s, "gateway", "promoted", v1alpha1.PromoteAnnotation, v1alpha1.AbortAnnotation)
			if readErr := s.client.Get(t.Context(), client.ObjectKeyFromObject(collector), collector); readErr != nil {
				t.Fatal(readErr)
			}
			promoted := collector.Annotations[v1alpha1.PromoteAnnotation]
			switch {
			case row.refuses == "" && (err != nil || promoted != "0123456789ab" || !strings.Contains(out.String(), "promoted: change 0123456789ab")):
				t.Errorf("got %v, annotation %q and %q", err, promoted, out.String())
			case row.refuses != "" && (err == nil || !strings.Contains(err.Error(), row.refuses) || promoted != "" || out.String() != ""):
				t.Errorf("got %v, annotation %q and %q, want %q", err, promoted, out.String(), row.refuses)
			}
		})
	}
}
