package release

import (
	"context"
	"errors"
	"fmt"

	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/record"
)

// simRecord is the record of a revision.
type simRecord struct {
	revision int
	want     Want
	of       simInputs
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

func (s *simRecords) Add(context.Context, string, map[string]any) (int, error) {
	next := 1
	for _, known := range s.records {
		next = max(next, known.revision+1)
	}
	effect, lost := s.request("record revision %d", next)
	if !effect {
		return 0, lost
	}
	s.records = append(s.records, simRecord{revision: next, want: s.want, of: s.current})
	s.records = s.records[max(0, len(s.records)-record.History):]
	s.accepted, s.acceptedOf = s.want, s.current
	s.dropTouched()
	return next, lost
}

func (s *simRecords) Read(context.Context, int) (string, map[string]any, error) {
	return "", nil, errors.ErrUnsupported // simAccepted reads
}

func (s *simRecords) Forget(context.Context) error {
	effect, lost := s.request("delete the records")
	if effect {
		s.records = nil
	}
	return lost
}

// simAccepted is acceptedRevision, for the records of the model.
func simAccepted(r *actionClient) (Want, error) {
	s := simSpaceOf(r)
	if effect, lost := s.request("read the record of revision %d", r.revision()); !effect || lost != nil {
		return Want{}, lost
	}
	for _, found := range s.records {
		if found.revision != r.revision() {
			continue
		}
		if found.tampered || found.want.Hash != r.hash() {
			return Want{}, fmt.Errorf("the record of revision %d is not what was deployed", r.revision())
		}
		in := found.of
		in.shard = r.Shard
		found.want = s.world.charts.render(in)
		want, view := Want{Hash: found.want.Hash}, r.expected.See(r.found, r.now())
		for _, object := range found.want.Objects {
			if view[object.Ref].State != inventory.InOrder || object.Ref.Kind().Kind != "Secret" {
				want.Objects = append(want.Objects, object)
			}
		}
		return want, nil
	}
	return Want{}, fmt.Errorf("revision %d is not recorded", r.revision())
}
