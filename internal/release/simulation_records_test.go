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
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/drift"
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
	r *actionClient
}

func (s *simRecords) Prepare(_ context.Context, deployed int) error {
	if s.r.Alone && deployed > 0 {
		return nil
	}
	_, lost := s.request("list the records")
	return lost
}

func (s *simRecords) Any() bool { return len(s.records) > 0 }

func (s *simRecords) Add(_ context.Context, content record.Content) (number int, err error) {
	for range 3 {
		if number, err = s.add(content); !apply.IsLost(err) {
			break
		}
	}
	return number, err
}

func (s *simRecords) add(content record.Content) (int, error) {
	next := 1
	for _, known := range s.records {
		next = max(next, known.revision+1)
	}
	effect, lost := s.request("record revision %d", next)
	if !effect {
		return 0, lost
	}
	if err := s.refuses(true, simRef("Secret", "record"), false); err != nil {
		s.world.trace("      refused: %v", err)
		s.unrecorded = content.Manifest
		return 0, err
	}
	added := s.rendered[content.Manifest]
	added.revision, added.spec = next, content.Generation
	s.accepts(added)
	s.records = append(s.records, added)
	s.records = s.records[max(0, len(s.records)-simHistory):]
	s.accepted, s.acceptedOf = added.want, added.of
	s.dropTouched()
	return next, lost
}

// accepts checks a revision that is recorded.
func (s *simSpace) accepts(added simRecord) {
	isApplied := added.want.Hash == s.unrecorded // before this refusal
	if why := s.refusal(); why != "" && s.fresh && added.want.Hash == s.want.Hash && !isApplied {
		s.world.violates("S1", "the change is accepted although %s refuses it", why)
	}
	if len(s.records) == 0 || len(s.refusals) > 0 || isApplied || !s.fresh || !s.isHeld {
		return
	}
	before := s.records[len(s.records)-1]
	isOther, isTold := before.of.hashes != added.of.hashes, before.revision == int(s.state.revision)
	if !isTold && (isOther || s.isDisturbed()) {
		return // known: nothing tells that the record of an operator that was killed before it told is not forged
	}
	if !isOther && s.rollout != v1alpha1.RolloutHold || isOther && s.isHarmed(before.want, added.want) {
		return // nobody can verify what is recorded, so nothing else repairs the Collector
	}
	isChanged := before.of.chart != added.of.chart || before.of.base != added.of.base || before.of.hashes != added.of.hashes
	isByOperator := isChanged && before.of.secret == added.of.secret
	if isByOperator && before.spec == added.spec && before.of.uid == added.of.uid && !before.tampered {
		s.world.violates("S9", "the operator's change is accepted although its turn has not come")
	}
}

// isDisturbed tells whether somebody has touched something that the last recorded revision has brought.
func (s *simSpace) isDisturbed() bool {
	var earlier plan.Want
	if n := len(s.records); n > 1 {
		earlier = s.records[n-2].want
	}
	return slices.ContainsFunc(s.records[len(s.records)-1].want.Objects, func(brought render.Object) bool {
		known, live := earlier.Has(brought.Ref), s.objects[brought.Ref]
		return (known == nil || known.Hash != brought.Hash) && (s.touched[brought.Ref] || live != nil && live.deleting)
	})
}

// isHarmed tells whether somebody has touched an object, or has deleted one that was wanted, as far as the operator has seen, or whether
// an earlier try has changed one.
func (s *simSpace) isHarmed(before, after plan.Want) bool {
	for what, seen := range s.view {
		wanted, begun := after.Has(what), s.started[what]
		isBegun := wanted != nil && begun != nil && begun.get(simApplied) == wanted.Hash
		if isBegun || seen.State == drift.Changed || seen.State == drift.Lost {
			return true
		}
	}
	return len(s.touched) > 0 || slices.ContainsFunc(before.Objects, func(object render.Object) bool {
		found := s.started[object.Ref]
		return found == nil || found.deleting
	})
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

func (s *simRecords) Forget(context.Context) error {
	effect, lost := s.request("delete the records")
	if effect {
		s.records = nil
	}
	return lost
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
	in := simInputs{spec, s.secret, r.chart, r.world.base, r.world.hashes, r.Shard, string(s.uid)}
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
	in.shard, in.hashes = r.Shard, r.world.hashes
	want := s.world.charts.render(in)
	if found.tampered {
		want.Hash = "tampered"
	}
	secret := func(what inventory.Reference) (*render.Object, error) { return want.Has(what), nil }
	return &revision.Revision{
		Want: want, Inputs: revision.Inputs{Generation: of.Generation}, ConfigHash: strconv.Itoa(in.configuration()), Secret: secret,
	}, nil
}
