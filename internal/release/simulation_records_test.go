package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/revision"
)

// simRecord is the record of a revision.
type simRecord struct {
	revision int
	want     plan.Want
	of       simInputs
	spec     int64 // the generation of the Collector
	tampered bool
}

// simRecords are those of one Collector.
type simRecords struct {
	*simSpace
	r      *reconcile
	listed bool
}

func (s *simRecords) Prepare(context.Context) error {
	if s.r.deployed.Revision > 0 || s.listed {
		return nil
	}
	effect, lost := s.request("list the records")
	s.listed = effect && lost == nil
	return lost
}

func (s *simRecords) Kept() (kept []v1alpha1.RecordedRevision) {
	for _, known := range s.records {
		kept = append(kept, known.recorded())
	}
	return kept
}

func (s *simRecords) Begin(_ context.Context, content record.Content) (v1alpha1.RecordedRevision, error) {
	next := s.r.deployed.Revision + 1
	added := s.rendered[content.Manifest]
	for _, known := range s.records {
		if known.revision >= next && known.want.Hash == content.Manifest && known.spec == content.Generation {
			_, lost := s.request("read the record of revision %d, which was begun", known.revision)
			return known.recorded(), lost
		}
		next = max(next, known.revision+1)
	}
	added.revision, added.spec = next, content.Generation
	unknown := v1alpha1.RecordedRevision{Revision: int64(next)}
	effect, lost := s.request("begin revision %d", next)
	if !effect {
		return unknown, lost
	}
	if err := s.refuses(true, simRef("Secret", "record"), false); err != nil {
		s.world.trace("      refused: %v", err)
		return v1alpha1.RecordedRevision{}, err
	}
	if s.records = append(s.records, added); lost != nil {
		return unknown, lost
	}
	return added.recorded(), nil
}

func (s *simRecords) Accept(_ context.Context, begun v1alpha1.RecordedRevision) {
	added := s.rendered[begun.Hash] // somebody may have deleted the record
	added.revision, added.spec = int(begun.Revision), begun.Generation
	s.accepts(added)
	s.known[added.revision] = added
	s.records = s.records[max(0, len(s.records)-simHistory):]
	s.accepted, s.acceptedOf, s.acceptedAs = added.want, added.of, added.revision
	s.dropTouched()
}

func (s *simRecords) Withdraw(_ context.Context, begun v1alpha1.RecordedRevision) error {
	effect, lost := s.request("withdraw revision %d", begun.Revision)
	if effect {
		s.records = slices.DeleteFunc(s.records, func(known simRecord) bool { return known.revision == int(begun.Revision) })
	}
	return lost
}

// recorded is the record as the history has it.
func (s simRecord) recorded() v1alpha1.RecordedRevision {
	return v1alpha1.RecordedRevision{Revision: int64(s.revision), Hash: s.want.Hash, Generation: s.spec}
}

// recalls has what the status tells accepted: an operator that starts knows no more.
func (s *simSpace) recalls() {
	if told := int(s.state.revision); s.acceptedAs != told {
		known := s.known[told]
		s.accepted, s.acceptedOf, s.acceptedAs = known.want, known.of, told
	}
}

// Read returns the revision as the manifest, because the model has no text.
func (s *simRecords) Read(_ context.Context, number int) (record.Content, error) {
	effect, lost := s.request("read the record of revision %d", number)
	i := slices.IndexFunc(s.records, func(found simRecord) bool { return found.revision == number })
	if !effect || lost != nil || i < 0 {
		return record.Content{}, cmp.Or(lost, fmt.Errorf("revision %d is not recorded", number))
	}
	return record.Content{Manifest: strconv.Itoa(number), Generation: s.records[i].spec}, nil
}

func (s *simRecords) Forget(context.Context, bool) (found bool, err error) {
	effect, lost := s.request("list and delete the records")
	if found = len(s.records) > 0; effect {
		s.records = nil
	}
	return found, lost
}

// simBroken stands for what a broken configuration is rendered to.
const simBroken = "broken"

// simRevisions are rendered by the model's chart.
type simRevisions struct {
	*revision.Source
	world *simWorld
	chart int
}

// Render renders as revision.Source does: versions of what is read are taken before it is read.
func (r simRevisions) Render(
	ctx context.Context, collector *unstructured.Unstructured, _ map[string]any, _ string,
) (*revision.Revision, error) {
	now, _, err := r.Inputs(ctx, collector)
	if err != nil {
		return nil, err
	}
	s := r.world.of(collector)
	spec := s.spec.Effective()
	if spec.Configuration == 0 {
		if effect, lost := s.request("read the user's Secret"); !effect || lost != nil {
			return nil, lost
		}
		s.world.reads++
		now.Configuration = strconv.Itoa(s.secret)
	}
	again, _, err := r.Inputs(ctx, collector) // the base may have changed meanwhile
	if now.Bases = again.Bases; err != nil {
		return nil, err
	}
	in := simInputs{spec, s.secret, r.chart, r.world.base, r.world.hashes, string(s.uid)}
	if s.current = in; in.isBroken() {
		s.world.refused++
		s.want = plan.Want{Hash: simBroken}
		return nil, &revision.RefusedError{Inputs: now, Err: errors.New("the configuration is broken")}
	}
	want := s.world.charts.render(in)
	s.want = want
	s.rendered[want.Hash] = simRecord{want: want, of: in, spec: s.generation}
	return &revision.Revision{
		Want: want, Manifest: func() string { return want.Hash }, ConfigHash: strconv.Itoa(in.configuration()), Inputs: now,
	}, nil
}

// Recorded returns a revision of the model's records.
func (r simRevisions) Recorded(
	_ context.Context, collector *unstructured.Unstructured, of record.Content, _ *revision.Revision,
) (*revision.Revision, error) {
	s := r.world.of(collector)
	found := s.records[slices.IndexFunc(s.records, func(found simRecord) bool { return strconv.Itoa(found.revision) == of.Manifest })]
	in := found.of
	in.hashes = r.world.hashes
	want := s.world.charts.render(in)
	if found.tampered {
		want.Hash = "tampered"
	}
	secret := func(what inventory.Reference) (*render.Object, error) { return want.Has(what), nil }
	return &revision.Revision{
		Want: want, Inputs: revision.Inputs{Generation: of.Generation}, ConfigHash: strconv.Itoa(in.configuration()), Secret: secret,
	}, nil
}
