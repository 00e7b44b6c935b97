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
)

// Not parallel: it kills the operator.
func TestAnOperatorThatIsKilledWhileCanaryPodsCrashGoesBackAsAnyOther(t *testing.T) {
	collector := withCanary(t, v1alpha1.ModeDeployment, nil)
	var killer killer
	for round := range changesOfKills {
		seen := census(t, collector)
		seen.most = 2 // one that is killed after the rollback and before the status tells of it leaves the change to be tried once more
		change(t, collector, func(c *v1alpha1.Collector) {
			c.Spec.Collector.Configuration = fmt.Appendf(nil, "%s# change %d\n", crashing(), round)
		})
		for range kills / changesOfKills {
			operator := operatorPod(t)
			if killer.Name == "" {
				killer = newKiller(t, operator)
			}
			killer.aim(t, operator)
			moment := rand.N(momentOfKill)
			<-time.After(moment)
			killer.send(t, "-KILL $process")
			// Another pod takes over at once: a restart of the container waits ever longer, and the next leader waits for the Lease to expire.
			g := NewWithT(t)
			g.Expect(cluster.Delete(t.Context(), &operator, client.GracePeriodSeconds(0))).To(Succeed())
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "kube8-operator"}}
			g.Expect(client.IgnoreNotFound(cluster.Delete(t.Context(), lease))).To(Succeed())
			g.Eventually(func() error {
				return cluster.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)
			}).Should(Succeed(), "the Lease of another one")
			t.Logf("change %d: killed after %s", round, moment.Round(time.Millisecond))
		}
		seen.awaitBack(t, 3*time.Minute, crashed...)
	}
}
