package release

import (
	"context"
	"errors"
	"fmt"

	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/record"
	"github.com/kube8/kube8-operator/internal/render"
)

// simRecord is the record of a revision.
type simRecord struct {
	revision int
	want     plan.Want
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
	return "", nil, errors.ErrUnsupported // simRecorded reads
}

func (s *simRecords) Forget(context.Context) error {
	effect, lost := s.request("delete the records")
	if effect {
		s.records = nil
	}
	return lost
}

// simRecorded is recordedRevision, for the records of the model.
func simRecorded(r *actionClient, revision int) (*recorded, error) {
	s := simSpaceOf(r)
	if effect, lost := s.request("read the record of revision %d", revision); !effect || lost != nil {
		return nil, lost
	}
	for _, found := range s.records {
		if found.revision != revision {
			continue
		}
		in := found.of
		in.shard = r.Shard
		want := s.world.charts.render(in)
		if found.tampered {
			want.Hash = "tampered"
		}
		return &recorded{Want: want, secret: func(what inventory.Reference) (*render.Object, error) { return want.Has(what), nil }}, nil
	}
	return nil, fmt.Errorf("revision %d is not recorded", revision)
}
