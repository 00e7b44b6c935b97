package plan

import (
	"testing"
	"time"

	"github.com/kube8/kube8-operator/internal/live"
)

func TestWhatIsRememberedNamesTheSameObstacleAsADecision(t *testing.T) {
	view := held(having("StatefulSet/c=1", "Service/c=1", "Deployment/c=1 deleting"), "Deployment/c")
	decided := Decide(Situation{Deployed: "r1", Want: wanted("r1", "StatefulSet/c=1", "Service/c=1"), View: live.View{Objects: view}})
	remembered, isUnchanged := Unchanged(Remembered{Now: noon, Until: noon.Add(time.Hour), Objects: view, ToPrune: decided.ToPrune})
	if !isUnchanged || decided.Message == "" || remembered.Message != decided.Message {
		t.Errorf("unchanged %t, remembered %q, decided %q", isUnchanged, remembered.Message, decided.Message)
	}
}
