package release

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// contest says who changes an object again and again.
func (r *actionClient) contest(what ref, before client.Object, known *state) {
	if known.repairs <= patience {
		return
	}
	editor := sightOf(before).editor
	if editor == "" {
		editor = "an unknown client"
	}
	r.contested = fmt.Sprintf("%s is changed again and again by %s, and repaired ever more rarely", what, editor)
	if time.Now().After(known.next) || known.repairs == patience+1 {
		r.Events.Event(r.collector, corev1.EventTypeWarning, "Contested", r.contested)
	}
	r.queue.after(client.ObjectKeyFromObject(r.collector), time.Until(known.next))
}
