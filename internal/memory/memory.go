// Package memory lets a pass over an unchanged Collector cost nothing.
//
// It decorates the stock action client. The reconciler renders the chart on every pass, has the API server look at the
// result, and reads every object of the release to see whether it is still what it should be. The decorated client
// remembers the release that a pass ended with, and what its objects looked like when all of them were in order. As long
// as the Collector's spec and configuration are the same, the cluster offers the same, and the objects in the informer
// cache are the same too, it answers from that. When it is not sure, the pass is a full one; and so is the first one
// after each reconcile period.
package memory

import (
	"context"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/drift"
)

// Memory is what the operator remembers of each Collector. It is empty after a start, but for what statuses say.
type Memory struct {
	// Cache reads the objects of releases from the informer cache.
	Cache client.Reader

	// Configuration tells versions of a Collector's configuration apart that are not in its spec.
	Configuration func(*unstructured.Unstructured) string

	// Capabilities tells versions of what the cluster offers apart, for which charts can test.
	Capabilities func(context.Context) int

	// Period is how long a pass can be answered from memory until the next full one.
	Period time.Duration

	mutex   sync.Mutex
	entries map[types.UID]*entry
	charts  map[*chart.Chart]string // what tells them apart

	offering *chartutil.Capabilities
	offered  string // what tells it apart from others
}

// entry is what is remembered of one Collector. Only the pass over it, of which there is one at a time, uses it.
type entry struct {
	generation    int64
	configuration string
	capabilities  int

	// known says that a pass has found out what there is since the operator started.
	known bool

	// release is the deployed release: without its manifest, once all objects were seen in order.
	release *release.Release
	// objects are those of the release, in order; nil until all of them were seen.
	objects []drift.Object
	// since is when the release was deployed, or last found to be what the spec asks for by a full pass.
	since time.Time

	deployed Deployed
	err      error
}

// Outcome is how the last pass over a Collector ended.
type Outcome struct {
	// Deployed is the release, or nil if none was deployed since the operator started.
	Deployed *Deployed

	// InOrder says that the informer cache has every object of the release as it should be.
	InOrder bool

	// Err is the error that ended the pass, or nil.
	Err error
}

// Of returns how the last pass over a Collector ended.
func (m *Memory) Of(uid types.UID) Outcome {
	m.mutex.Lock()
	r, found := m.entries[uid]
	m.mutex.Unlock()
	if !found {
		return Outcome{}
	}
	outcome := Outcome{InOrder: r.objects != nil, Err: r.err}
	if r.deployed != (Deployed{}) {
		outcome.Deployed = &r.deployed
	}
	return outcome
}

// Forget drops what is remembered of a Collector.
func (m *Memory) Forget(uid types.UID) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.entries, uid)
}

func (m *Memory) entry(uid types.UID) *entry {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.entries == nil {
		m.entries = map[types.UID]*entry{}
	}
	if m.entries[uid] == nil {
		m.entries[uid] = &entry{}
	}
	return m.entries[uid]
}

// answers tells whether a pass over collector can be answered from r.
func (m *Memory) answers(ctx context.Context, r *entry, collector client.Object, configuration string, capabilities int) bool {
	if r.release == nil || collector.GetDeletionTimestamp() != nil ||
		r.generation != collector.GetGeneration() || r.configuration != configuration || r.capabilities != capabilities ||
		time.Since(r.since) >= m.Period {
		return false
	}
	for i := range r.objects {
		if !r.objects[i].IsStillInOrder(ctx, m.Cache) {
			return false
		}
	}
	return true
}
