package integration

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestChaosTheAPIServerRestartsInTheMiddle(t *testing.T) {
	random := newRandom(t)
	f := newFleet(t, random)
	restarts, lostLeases, slowest := 0, 0, time.Duration(0)
	for _, outage := range []struct {
		atLeast     time.Duration
		wantRevived int
	}{
		{atLeast: 0},
		{atLeast: 0},
		// An operator that cannot renew its Lease for ten seconds ends, because another may be the leader by then.
		{atLeast: 12 * time.Second, wantRevived: 1},
	} {
		since := plane.audit.mark(t)
		f.change(t, 4)
		awaitWrites(t, since, f.namespace, 1+random.IntN(20))
		over := time.NewTimer(outage.atLeast)
		crashAPIServer(t)
		<-over.C
		start := time.Now()
		if err := plane.env.ControlPlane.GetAPIServer().Start(); err != nil {
			t.Fatal(err)
		}
		plane.audit.recordStartup(start)
		restarts++

		took, revived := f.awaitSettled(t)
		NewWithT(t).Expect(revived).To(BeNumerically("<=", outage.wantRevived), "starts of the operator after an outage of %s", outage.atLeast)
		lostLeases += revived
		slowest = max(slowest, took)
	}
	recordFigure(t, "API server killed and started again, in the middle of installs and upgrades", restarts)
	recordFigure(t, "Of these, long enough for the operator to lose its Lease, end and be started again", lostLeases)
	recordFigure(t, "Settled after each restart within", slowest)
}

// crashAPIServer ends the API server at once. Asked to end, it would go on answering for ten seconds.
func crashAPIServer(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(plane.dir, apiServerPID))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Waits until it has ended.
	if err := plane.env.ControlPlane.GetAPIServer().Stop(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}
