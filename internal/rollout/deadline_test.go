package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestForHowLongOthersWaitForACollectorThatIsNotReconciled(t *testing.T) {
	for name, row := range map[string]struct {
		began, created time.Duration // how long ago
		waits          bool
	}{
		"until the deadline after the change began":               {began: time.Minute, created: time.Hour, waits: true},
		"no longer than that":                                     {began: time.Minute + time.Second, created: time.Hour},
		"until the deadline after its creation, if that is later": {began: time.Hour, created: time.Minute, waits: true},
		"no longer than that either":                              {began: time.Hour, created: time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("1", now.Add(-row.began))
			f.add("a ring=0 unseen")
			f.add("b ring=1 waits")
			f.collectors[0].SetCreationTimestamp(metav1.NewTime(now.Add(-row.created)))
			chosen := f.choose(f.collectors, now)
			if got := chosen.Waiting == 1; got != row.waits || chosen.Overdue != 0 {
				t.Errorf("got %+v", chosen.Counts)
			}
		})
	}
}
