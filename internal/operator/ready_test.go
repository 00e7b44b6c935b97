package operator

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnOperatorIsAtWorkWhenItRenewsItsLease(t *testing.T) {
	lease := func(holder string, second int64) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: time.Unix(second, 0)}}}
	}
	for name, row := range map[string]struct {
		first, now *coordinationv1.Lease
		renews     bool
	}{
		"it has renewed the Lease":                   {first: lease("one", 1), now: lease("one", 3), renews: true},
		"another operator has taken the Lease":       {first: lease("one", 1), now: lease("two", 20), renews: true},
		"the clock of the next operator is behind":   {first: lease("one", 20), now: lease("two", 1), renews: true},
		"the Lease is what an operator left":         {first: lease("one", 1), now: lease("one", 1)},
		"the operator has given the Lease away":      {first: lease("one", 1), now: lease("", 3)},
		"the Lease has no holder and no time so far": {first: &coordinationv1.Lease{}, now: &coordinationv1.Lease{}},
		"the first operator takes an empty Lease":    {first: &coordinationv1.Lease{}, now: lease("one", 1), renews: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := renews(row.first, row.now); got != row.renews {
				t.Errorf("got %t, want %t", got, row.renews)
			}
		})
	}
}
