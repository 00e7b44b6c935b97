package release

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// patience is how often in a row an object is repaired at once. Each further time doubles the time to the next.
	patience = 3

	// longestTruce bounds that time, and is how long an object has to stay in order to be repaired at once again.
	longestTruce = 5 * time.Minute
)

// count counts a repair of an object that was known.
func (s *state) count(known *state) {
	if time.Since(known.at) < longestTruce+time.Minute {
		s.repairs = known.repairs + 1
	}
	if s.repairs > patience {
		s.next = s.at.Add(min(time.Second<<min(s.repairs-patience, 10), longestTruce))
	}
}

// isTruce tells whether what is not in order is only what waits for its next repair.
func (r *actionClient) isTruce() bool {
	truce := true
	for what, known := range r.objects {
		object := r.observed[what]
		if object != nil && known.isInOrder(object) {
			continue
		}
		if object == nil || !time.Now().Before(known.next) {
			truce = false
			continue
		}
		r.contest(what, object, known)
	}
	return truce && r.contested != ""
}

// contest has the status say who changes an object again and again.
func (r *actionClient) contest(what ref, before client.Object, known *state) {
	if known.repairs <= patience {
		return
	}
	editor := sightOf(before).editor
	if editor == "" {
		editor = "an unknown client"
	}
	r.contested = fmt.Sprintf("%s changes %s again and again, so the operator repairs it less and less often", editor, what)
	r.queue.after(r.collector, time.Until(known.next))
}
