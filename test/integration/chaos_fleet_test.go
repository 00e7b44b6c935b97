package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The tests whose names begin with TestChaos stop, kill or mislead the shared operator, and so are not parallel. What
// they do is random, from a seed that they log; CHAOS_SEED=… replays it, as far as a race can be replayed.

// newRandom returns the source of one test's random decisions.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
	}
	t.Logf("CHAOS_SEED=%d", seed)
	return seeded(seed)
}

func seeded(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0))
}

// fleet is some Collectors in a namespace that are created, changed and deleted at random.
type fleet struct {
	namespace string
	random    *rand.Rand
	wanted    map[string]*v1alpha1.Collector // what each should be by now; nil for one that should not be

	changes int // made so far
	orphans int // objects of deleted Collectors that were left to Kubernetes' garbage collector
}

func newFleet(t *testing.T, random *rand.Rand) *fleet {
	t.Helper()
	f := &fleet{namespace: newNamespace(t), random: random, wanted: map[string]*v1alpha1.Collector{}}
	for i := range 6 {
		f.wanted[fmt.Sprintf("collector-%d", i)] = nil
	}
	return f
}

// change makes changes of a number of Collectors, without waiting for any of it.
func (f *fleet) change(t *testing.T, count int) {
	t.Helper()
	names := f.names()
	f.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:count] {
		collector := f.wanted[name]
		switch {
		case collector == nil:
			f.create(t, name)
		case f.random.IntN(6) == 0:
			if err := plane.client.Delete(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			f.wanted[name] = nil
		default:
			change(t, collector, f.edit)
		}
		f.changes++
	}
}

// create creates a Collector, unless one of its name is still being deleted.
func (f *fleet) create(t *testing.T, name string) {
	t.Helper()
	collector := newCollector(f.namespace, name)
	err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), &v1alpha1.Collector{})
	if err == nil {
		return
	}
	if !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	f.collectGarbage(t)
	f.edit(collector)
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	f.wanted[name] = collector
}

// edit changes one or two things that a Collector asks for. Objects come and go with it, and so do fields of objects.
func (f *fleet) edit(c *v1alpha1.Collector) {
	edits := []func(){
		func() { c.Spec.Collector.Configuration = fmt.Appendf(nil, "debug: {} # %s %d", secret, f.random.Int()) },
		func() { c.Spec.Collector.Version = fmt.Sprintf("0.%d.0", f.random.IntN(1000)) },
		func() {
			c.Spec.Mode, c.Spec.Replicas, c.Spec.PodDisruptionBudget = v1alpha1.ModeDaemonSet, nil, nil
		},
		func() {
			c.Spec.Mode = []v1alpha1.Mode{v1alpha1.ModeDeployment, v1alpha1.ModeStatefulSet}[f.random.IntN(2)]
			c.Spec.Replicas = new(f.random.Int32N(4))
			c.Spec.PodDisruptionBudget = &v1alpha1.PodDisruptionBudget{Enabled: f.random.IntN(2) == 0}
		},
		func() {
			c.Spec.PodAnnotations = map[string]string{fmt.Sprintf("example.com/%d", f.random.IntN(100)): "a"}
		},
		func() { c.Spec.Service = &v1alpha1.Service{Enabled: new(f.random.IntN(2) == 0)} },
		func() { c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: f.random.IntN(2) == 0} },
	}
	for range 1 + f.random.IntN(2) {
		edits[f.random.IntN(len(edits))]()
	}
}

func (f *fleet) names() []string {
	names := []string{}
	for name := range f.wanted {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// collectGarbage plays the part of Kubernetes' garbage collector, which is not there: it deletes the objects of
// Collectors that are gone.
func (f *fleet) collectGarbage(t *testing.T) {
	t.Helper()
	owners := map[types.UID]bool{}
	for _, collector := range list(t, f.namespace, "kube8.dev/v1alpha1", "Collector") {
		owners[collector.GetUID()] = true
	}
	for _, object := range contents(t, f.namespace) {
		if owner := metav1.GetControllerOf(&object); owner != nil && !owners[owner.UID] {
			if err := plane.client.Delete(t.Context(), &object); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			f.orphans++
		}
	}
}

// halfDone returns how many Collectors of the fleet an operator has begun to work on since a mark, and has not said to be
// done with.
func (f *fleet) halfDone(t *testing.T, since int) (count int) {
	t.Helper()
	begun := map[string]bool{}
	for _, r := range plane.audit.read(t)[since:] {
		if r.IsWrite() && r.ObjectRef.Namespace == f.namespace && !slices.Contains([]string{"collectors", "events"}, r.ObjectRef.Resource) {
			begun[r.ObjectRef.Name] = true
		}
	}
	for _, name := range f.names() {
		collector := newCollector(f.namespace, name)
		if !begun[name] || plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), collector) != nil {
			continue
		}
		if collector.DeletionTimestamp != nil || collector.Status.ObservedGeneration != collector.Generation {
			count++
		}
	}
	return count
}

// awaitWrites waits until the operator has sent a number of write requests for a namespace since a mark, or has
// nothing more to write for a while.
func awaitWrites(t *testing.T, since int, namespace string, count int) {
	t.Helper()
	deadline := time.NewTimer(time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(plane.audit.writes(t, since, namespace)) < count {
		select {
		case <-deadline.C:
			return
		case <-tick.C:
		}
	}
}

// forgetLeader deletes the leader Lease of an operator that could not give it back. Its successor would wait for the
// Lease's end, 15 s, which tests nothing here: the Lease is there for operators that are still alive.
func forgetLeader(t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "kube8-operator"}}
	if err := plane.client.Delete(context.WithoutCancel(t.Context()), lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// revive starts the shared operator again if it has ended by itself, as Kubernetes would, and says whether it had.
func revive(t *testing.T) bool {
	t.Helper()
	select {
	case err := <-shared.ended:
		t.Logf("the operator has ended: %v", err)
	default:
		return false
	}
	forgetLeader(t)
	if err := shared.start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(errors.Join(err, errors.New("the operator does not start again")))
	}
	return true
}
