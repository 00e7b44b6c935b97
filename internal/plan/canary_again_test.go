package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestDecideWhetherACanaryHadItsTime(t *testing.T) {
	hourAgo := v1alpha1.CanaryStatus{Hash: changeHash, Since: metav1.NewTime(noon.Add(-time.Hour))}
	deployment := map[string]any{"replicas": int64(4)}
	orphan := podSince(time.Hour)
	orphan.Orphan, orphan.Ready = true, false
	decisions{
		"a canary that a finalizer or a check has kept away begins anew": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) { s.Canary.Last = hourAgo }),
			"Proving\ntry Service/c\ncreate Secret/c-2\nchange Deployment/c",
		},
		"a canary whose pods cannot be created fails": {
			changed(begun(canaryOf("Deployment", deployment)), func(s *Situation) { s.Canary.Last = hourAgo }),
			"Refused, restores\nerror: canary pods were not there in time",
		},
		"a canary that was rolled back does not begin anew": {
			changed(canaryOf("Deployment", deployment), func(s *Situation) {
				s.Canary.Last = hourAgo
				s.Canary.Last.RolledBack = "it died"
			}),
			"Refused\nerror: it died",
		},
		"a canary pod that has lost its StatefulSet for a moment is waited for": {
			changed(begun(canaryOf("StatefulSet", nil, orphan)), func(s *Situation) { s.Canary.Last = hourAgo }),
			"Proving",
		},
	}.run(t)
}
