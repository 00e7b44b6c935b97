//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// kills is how often the operator is killed while changes crash, and changesOfKills how many changes there are.
	kills, changesOfKills = 20, 5

	// momentOfKill is within what time after the change, or after the last operator began to lead, it is killed.
	momentOfKill = 4 * time.Second

	// lateKills is how often it is killed after that while data does not flow, later from one time to the next: a verdict about data takes at
	// least as long as all of these parts, and an operator that starts knows nothing of the windows before.
	lateKills, partOfVerdict = 2, 50 * time.Second
)

// Not parallel: it kills the operator.
func TestAnOperatorThatIsKilledWhileCanaryPodsFailGoesBackAsAnyOther(t *testing.T) {
	var crash []*v1alpha1.Collector
	var losing []*counted
	for _, mode := range modes {
		crash = append(crash, withCanary(t, mode, nil))
		_, gateway := withBackend(t, mode)
		losing = append(losing, census(t, gateway))
	}
	for _, seen := range losing {
		seen.most = 2 // one that is killed after the rollback and before the status tells of it leaves the change to be tried once more
		change(t, seen.of, loseData)
	}
	var k operatorKiller
	changed := time.Now()
	for round := range changesOfKills {
		var seen []*counted
		for _, collector := range crash {
			seen = append(seen, census(t, collector))
		}
		for _, each := range seen {
			each.most = 2
			change(t, each.of, func(c *v1alpha1.Collector) {
				c.Spec.Collector.Configuration = fmt.Appendf(nil, "%s# change %d\n", crashing(), round)
			})
		}
		for range kills / changesOfKills {
			k.killAfter(t, rand.N(momentOfKill))
		}
		for _, each := range seen {
			each.awaitBack(t, 3*time.Minute, crashed...)
		}
	}
	for part := range time.Duration(lateKills) {
		k.killAfter(t, part*partOfVerdict+rand.N(partOfVerdict))
	}
	took := time.Since(changed)
	for _, seen := range losing {
		seen.awaitBack(t, took+dataTime, lost)
	}
	t.Logf("%d kills while %d changes of %d Collectors crash, and %d within %s while data of %d does not flow: the accepted revisions serve again",
		kills, changesOfKills, len(crash), k.count, took.Round(time.Second), len(losing))
}

// operatorKiller kills the operator again and again.
type operatorKiller struct {
	killer
	count int
}

// killAfter kills the operator after some time, and waits until another one leads.
func (k *operatorKiller) killAfter(t *testing.T, moment time.Duration) {
	t.Helper()
	operator := operatorPod(t)
	if k.count == 0 {
		k.killer = newKiller(t, operator)
	}
	k.aim(t, operator)
	<-time.After(moment)
	k.send(t, "-KILL $process")
	k.count++
	// Another pod takes over at once: a restart of the container waits ever longer, and the next leader waits for the Lease to expire.
	g := NewWithT(t)
	g.Expect(cluster.Delete(t.Context(), &operator, client.GracePeriodSeconds(0))).To(Succeed())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "kube8-operator"}}
	g.Expect(client.IgnoreNotFound(cluster.Delete(t.Context(), lease))).To(Succeed())
	g.Eventually(func() error {
		return cluster.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)
	}).Should(Succeed(), "the Lease of another one")
	t.Logf("kill %d after %s", k.count, moment.Round(time.Millisecond))
}
