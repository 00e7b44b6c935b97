package integration

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// brokenWaves is how often the operator brings a change, or the platform a base, with which no pod becomes ready, and waveKills how often it is killed
	// in each.
	brokenWaves, waveKills = 5, 2

	// waveBudget is how many of the Collectors may be broken.
	waveBudget = "10%"
)

func TestChaosTheOperatorIsKilledInAWaveThatBreaksPods(t *testing.T) {
	for kind, byBase := range map[string]bool{"of its own change": false, "of a base": true} {
		t.Run(kind, func(t *testing.T) {
			most, size := breakWaves(t, byBase)
			recordFigure(t, "Changes that broke pods, "+kind+", with 2 kills in each", brokenWaves)
			recordFigure(t, "Collectors that each would have reached, "+kind, size)
			recordFigure(t, "Of these, broken at most, with a budget of "+waveBudget+", "+kind, most)
		})
	}
}

// breakWaves has changes break pods, and returns how many Collectors they broke at most, of how many.
func breakWaves(t *testing.T, byBase bool) (most, size int) {
	t.Helper()
	g, random := NewWithT(t), newRandom(t)
	size = 10 // CHAOS_WAVE=… has another number
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
	careful, careless := []string{"--rollout-budget=" + waveBudget, "--rollout-deadline=3s"}, []string{"--rollout-budget=100%"}
	bring := func(name string, args []string) string {
		w.bring(t, name+".example.com/", args...)
		return name + ".example.com/"
	}
	if byBase {
		bring = shareBase(t, w)
	}
	for i := range brokenWaves {
		w.mutex.Lock()
		w.broken = brokenChange(byBase, i)
		w.mutex.Unlock()
		broken := bring(fmt.Sprintf("broken-%d", i), careful)
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
		w.awaitReady(t, bring(fmt.Sprintf("mended-%d", i), careless))
	}
	return most, size
}

// brokenChange returns a change whose pods never become ready, as the wave tells it.
func brokenChange(byBase bool, i int) string {
	if byBase {
		return stampOf("base-t-chaos.yaml", fmt.Sprintf("broken-%d: {}\n", i))
	}
	return fmt.Sprintf("broken-%d.example.com/", i)
}

// shareBase gives all Collectors of a wave a base, and returns what gives that another content.
func shareBase(t *testing.T, w *wave) func(name string, args []string) string {
	t.Helper()
	restart(t, append(slices.Clone(w.args), "--rollout-budget=100%"))
	base := newBase(t, "t-chaos", "first", "begin: {}\n")
	w.mutex.Lock()
	w.change = basesOf
	w.mutex.Unlock()
	for name := range w.fleet {
		w.label(t, name, v1alpha1.BasesLabel, "t-chaos")
	}
	w.awaitReady(t, stampOf("base-t-chaos.yaml", "begin: {}\n"))
	return func(name string, args []string) string {
		content := name + ": {}\n"
		restart(t, append(slices.Clone(w.args), args...))
		writeBase(t, base, content)
		return stampOf("base-t-chaos.yaml", content)
	}
}
