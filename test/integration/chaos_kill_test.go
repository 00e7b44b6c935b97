package integration

import (
	"testing"

	. "github.com/onsi/gomega"
)

// kills is how often the operator is killed.
const kills = 50

func TestChaosTheOperatorIsKilledAtAnyMoment(t *testing.T) {
	random := newRandom(t)
	f := newFleet(t, random)
	hit, found, last := 0, 0, 0
	for range kills {
		last = plane.audit.mark(t)
		since, count := plane.audit.mark(t), 1+random.IntN(3)
		f.change(t, count)
		// An install is eight writes or more, and an upgrade four.
		awaitWrites(t, since, f.namespace, 1+random.IntN(8*count))
		if err := shared.kill(); err != nil {
			t.Fatal(err)
		}
		if halfDone := f.halfDone(t, since); halfDone > 0 {
			hit, found = hit+1, found+halfDone
		}
		forgetLeader(t)
		if err := shared.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	took, revived := f.awaitSettled(t)

	g := NewWithT(t)
	g.Expect(revived).To(BeZero(), "ends of the operator that were its own doing")
	g.Expect(hit).To(BeNumerically(">=", kills/5), "kills in the middle of an action")
	recordFigure(t, "Operator killed (`kill -9`)", kills)
	recordFigure(t, "Changes of Collectors meanwhile", f.changes)
	recordFigure(t, "Kills that hit the middle of a Helm action", hit)
	recordFigure(t, "Releases found half done after a kill", found)
	recordFigure(t, "Releases still half done in the end", f.halfDone(t, last))
	recordFigure(t, "Settled after the last kill within", took)
}
