package integration

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// brokenWaves is how often the operator brings a change with which no pod becomes ready, and waveKills how often it is killed
	// in each.
	brokenWaves, waveKills = 5, 2

	// waveBudget is how many of the Collectors may be broken.
	waveBudget = "10%"
)

func TestChaosTheOperatorIsKilledInAWaveThatBreaksPods(t *testing.T) {
	g, random := NewWithT(t), newRandom(t)
	size := 10 // CHAOS_WAVE=… has another number
	if text := os.Getenv("CHAOS_WAVE"); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil {
			t.Fatalf("CHAOS_WAVE: %v", err)
		}
	}
	labels := map[string]map[string]string{}
	for i := range size {
		labels[fmt.Sprintf("gateway-%04d", i)] = ring(strconv.Itoa(i % 3))
	}
	w := newWave(t, labels)
	allowed := intstr.FromString(waveBudget)
	budget, err := intstr.GetScaledValueFromIntOrPercent(&allowed, size, false)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range brokenWaves {
		broken := fmt.Sprintf("broken-%d.example.com/", i)
		w.mutex.Lock()
		w.broken = broken
		w.mutex.Unlock()
		w.bring(t, broken, "--rollout-budget="+waveBudget, "--rollout-deadline=3s")
		for range waveKills {
			reached := random.IntN(budget)
			g.Eventually(func() int { return len(w.have(t, broken)) }).WithTimeout(time.Minute).Should(BeNumerically(">", reached))
			if err := shared.kill(); err != nil {
				t.Fatal(err)
			}
			forgetLeader(t)
			if err := shared.start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="held"}`) }).
			WithTimeout(time.Minute).Should(BeEquivalentTo(size - budget))
		most = max(most, len(w.have(t, broken)))
		g.Expect(most).To(BeNumerically("<=", budget), "broken by wave %d", i)
		w.bring(t, fmt.Sprintf("mended-%d.example.com/", i), "--rollout-budget=100%")
		w.awaitReady(t, fmt.Sprintf("mended-%d.example.com/", i))
	}
	recordFigure(t, "Changes by the operator that broke pods, with 2 kills in each", brokenWaves)
	recordFigure(t, "Collectors that each would have reached", size)
	recordFigure(t, "Of these, broken at most, with a budget of "+waveBudget, most)
}
