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

// loseLease is how long an outage must be before an operator may end, because another one may be the leader by then. The operator tries to
// renew its Lease every 2 s, and ends after 10 s without success. If these begin just before the crash, the last try is 8 s after it. An
// API server that has just started may not answer that one in time.
const loseLease = 6 * time.Second

func TestChaosTheAPIServerRestartsInTheMiddle(t *testing.T) {
	random := newRandom(t)
	f := newFleet(t, random)
	restarts, lostLeases, slowest := 0, 0, time.Duration(0)
	for _, atLeast := range []time.Duration{0, 0, 12 * time.Second} {
		since := plane.audit.mark(t)
		f.change(t, 4)
		awaitWrites(t, since, f.namespace, 1+random.IntN(20))
		crash, over := time.Now(), time.NewTimer(atLeast)
		crashAPIServer(t)
		<-over.C
		start := time.Now()
		if err := plane.env.ControlPlane.GetAPIServer().Start(); err != nil {
			t.Fatal(err)
		}
		plane.audit.recordStartup(start)
		restarts++
		outage, wantRevived := time.Since(crash), 0
		if outage > loseLease {
			wantRevived = 1
		}

		took, revived := f.awaitSettled(t)
		NewWithT(t).Expect(revived).To(BeNumerically("<=", wantRevived), "starts of the operator after an outage of %s", outage)
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
