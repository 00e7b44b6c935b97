package release

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// behind is how long the informer cache may take to show what was applied, until the API server is asked.
const behind = time.Second

// memory is what the operator remembers of each Collector. It is empty after a start, except for what statuses say.
type memory struct {
	mutex   sync.Mutex
	entries map[client.ObjectKey]*entry
}

// entry is what is remembered of one Collector. Only its reconcile uses it, and there is one at a time.
type entry struct {
	uid       types.UID // of the Collector
	inputs    inputs    // that the objects were rendered from
	since     time.Time // when they were
	hash      string    // of what was rendered for the deployed revision; empty if that is not known
	objects   map[ref]*state
	whole     bool // the informer cache has shown all objects in order
	deployed  *Deployed
	records   []recorded   // nil if that is not known
	conflicts bool         // the last reconcile met something of somebody else
	begun     bool         // a revision was begun, and is not deployed yet
	waiting   map[ref]bool // what is pruned once the pods that use it have gone
	contested string
	lacked    string              // what was last said of references that are not followed
	checking  string              // which Job has not accepted the change yet
	unjudged  types.UID           // of the Job that ended without a verdict, and was told
	update    *v1alpha1.Condition // says that a change by the operator is not deployed yet
	deferred  bool                // such a change was rendered from inputs, and waits for its turn
	err       error
}

// inputs tell apart what a Collector is rendered from, as long as the operator runs.
type inputs struct {
	generation             int64
	configuration, offered string
}

// state is what is known of one object.
type state struct {
	want    string // hash of what was applied
	uid     types.UID
	version string // the last one that was seen in order
	digest  string // of its sight then
	seen    bool   // the informer cache has shown it
	fresh   bool   // it was created for a change that has reached no workload yet
	at      time.Time

	repairs int // in a row, after which it waits until next
	next    time.Time
}

// Deployed says what a deployed release is, without its content.
type Deployed struct {
	// Revision is the release's revision, from 1.
	Revision int

	// Generation is the Collector's generation that is deployed.
	Generation int64

	// Version is what the image is chosen by: its digest, its tag, or the collector's version, as the spec has them.
	Version string

	// ConfigHash is the SHA-256 of the decoded configuration, in hex.
	ConfigHash string

	// Digest tells after a restart that there is nothing to do, see digest.
	Digest string
}

// Outcome is how the last reconcile of a Collector ended.
type Outcome struct {
	// Deployed is the release, or nil if none was deployed since the operator started.
	Deployed *Deployed

	// InOrder says that the informer cache has every object as it should be.
	InOrder bool

	// Contested says who changes an object again and again, or is empty.
	Contested string

	// Checking says which Job has not accepted a change yet, or is empty.
	Checking string

	// Update says that a change by the operator is not deployed yet, or is nil.
	Update *v1alpha1.Condition

	// Err is the error that ended the reconcile, or nil.
	Err error
}

// Of returns how the last reconcile of a Collector ended.
func (c *Clients) Of(collector client.Object) Outcome {
	e := c.memory.find(client.ObjectKeyFromObject(collector), collector.GetUID())
	if e == nil {
		return Outcome{}
	}
	return Outcome{Deployed: e.deployed, InOrder: e.whole, Contested: e.contested, Checking: e.checking, Update: e.update, Err: e.err}
}

// Forget forgets a Collector that the operator is no longer for. Its reconcile must call it, so that none begins to remember again.
func (c *Clients) Forget(collector client.ObjectKey) {
	c.memory.forget(collector)
	c.Waves.Forget(collector)
}

// of returns the entry of a Collector, which is empty if there is none.
func (m *memory) of(collector client.Object) *entry {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := client.ObjectKeyFromObject(collector)
	if found := m.entries[key]; found == nil || found.uid != collector.GetUID() {
		m.entries[key] = &entry{uid: collector.GetUID()}
	}
	return m.entries[key]
}

// find returns the entry of a Collector, or nil. It passes over the entry of an earlier Collector with the same name.
func (m *memory) find(key client.ObjectKey, uid types.UID) *entry {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if found := m.entries[key]; found != nil && found.uid == uid {
		return found
	}
	return nil
}

func (m *memory) forget(collector client.ObjectKey) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.entries, collector)
}

// recall takes from the Collector's status what is deployed, if the operator has not found that out since it started, or if
// another operator has recorded the same once more.
func (r *actionClient) recall() {
	status, _, _ := unstructured.NestedMap(r.collector.Object, "status")
	revision, found, _ := unstructured.NestedInt64(status, "deployedRelease", "revision")
	if !found || revision == 0 {
		return
	}
	digest, _, _ := unstructured.NestedString(status, "deployedRelease", "digest")
	_, hash, _ := splitDigest(digest)
	if r.deployed != nil && (hash != r.hash || int(revision) <= r.deployed.Revision) {
		return
	}
	generation, _, _ := unstructured.NestedInt64(status, "deployedRelease", "generation")
	if generation == 0 { // an earlier version does not say it
		generation, _, _ = unstructured.NestedInt64(status, "observedGeneration")
	}
	r.deployed, r.hash = &Deployed{Revision: int(revision), Generation: generation, Digest: digest}, hash
	r.deployed.Version, _, _ = unstructured.NestedString(status, "version")
	r.deployed.ConfigHash, _, _ = unstructured.NestedString(status, "configHash")
}

// isUnchanged tells whether there is nothing to do, by what is remembered or by what the status says.
func (r *actionClient) isUnchanged() bool {
	now, err := r.current()
	if err != nil {
		return false
	}
	if r.objects != nil {
		return r.inputs == now && time.Since(r.since) < r.Period && (r.isWhole() || r.isTruce()) && !r.canPrune()
	}
	inputs, hash, objects := splitDigest(r.deployed.Digest)
	if hash == "" || inputs != r.digestOfInputs(now) || objects != r.digestOfObjects() {
		return false
	}
	r.adopt()
	r.inputs, r.since = now, time.Now()
	return true
}

// rendersTheSame tells whether what was rendered is deployed and in order, by what the status says: then another version of
// the operator writes only the status.
func (r *actionClient) rendersTheSame() bool {
	_, hash, objects := splitDigest(r.deployed.Digest)
	if r.objects != nil || hash != r.rendered.hash || objects != r.digestOfObjects() {
		return false
	}
	r.adopt()
	r.inputs, r.since, r.rendered = r.version, time.Now(), nil
	deployed := *r.deployed
	deployed.Generation, deployed.Digest = r.version.generation, r.digestOfInputs(r.version)+hash+objects
	r.deployed = &deployed
	return true
}

// adopt takes the objects to be in order as the informer cache has them.
func (r *actionClient) adopt() {
	r.objects, r.whole = map[ref]*state{}, true
	for what, object := range r.observed {
		r.objects[what] = stateOf(object)
	}
}

// stateOf returns the state of an object that is in order as the informer cache has it.
func stateOf(object client.Object) *state {
	return &state{uid: object.GetUID(), version: object.GetResourceVersion(), digest: sightOf(object).digest, seen: true}
}

// current tells what the Collector must be rendered from.
func (r *actionClient) current() (inputs, error) {
	offered, err := r.offers.get(r.ctx)
	if err != nil {
		return inputs{}, err
	}
	return inputs{r.collector.GetGeneration(), r.ConfigurationVersion(r.collector), offered.version}, nil
}

// isWhole tells whether the informer cache has just the objects that were applied, in order. If it has, their digest is that
// of the deployed release.
func (r *actionClient) isWhole() bool {
	r.whole = true
	for what := range r.observed {
		r.whole = r.whole && (r.objects[what] != nil || r.waiting[what])
	}
	for what, known := range r.objects {
		object, found := r.observed[what]
		r.whole = found && known.isInOrder(object) && r.whole
	}
	if r.whole && r.deployed != nil && len(r.deployed.Digest) == digestLength {
		deployed := *r.deployed
		deployed.Digest = deployed.Digest[:2*partLength] + r.digestOfObjects()
		r.deployed = &deployed
	}
	return r.whole
}

// isInOrder tells whether an object in the informer cache is as it was when it was last applied, or seen in order.
func (s *state) isInOrder(object client.Object) bool {
	if object.GetUID() != s.uid || object.GetDeletionTimestamp() != nil {
		return false
	}
	seen := sightOf(object).digest
	if object.GetResourceVersion() == s.version {
		s.uid, s.version, s.digest = object.GetUID(), object.GetResourceVersion(), seen // equal texts, and not twice in memory
	}
	if seen != s.digest {
		return false
	}
	s.seen = true
	return true
}

// isBehind tells whether the informer cache does not show yet what was applied.
func (s *state) isBehind(object client.Object) bool {
	if object == nil {
		return !s.seen && time.Since(s.at) < behind
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), s.version)
	return err == nil && order < 0 && time.Since(s.at) < behind
}

// remember keeps what was deployed.
func (r *actionClient) remember() {
	r.inputs, r.since, r.hash = r.version, time.Now(), r.rendered.hash
	r.begun, r.conflicts = false, false
	r.deployed = &Deployed{
		Revision: r.deployed.Revision, Generation: r.version.generation, Version: versionOf(r.collector), ConfigHash: r.rendered.configHash(),
		Digest: r.digestOfInputs(r.version) + r.rendered.hash + strings.Repeat("-", digestLength-2*partLength), // not seen yet
	}
	r.awaitCache()
	if !r.whole {
		r.queue.after(r.collector, behind)
	}
}

// versionOf returns what a Collector's image is chosen by.
func versionOf(collector *unstructured.Unstructured) string {
	for _, field := range []string{"digest", "tag"} {
		if found, _, _ := unstructured.NestedString(collector.Object, "spec", "image", field); found != "" {
			return found
		}
	}
	version, _, _ := unstructured.NestedString(collector.Object, "spec", "collector", "version")
	return version
}
