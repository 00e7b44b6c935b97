package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// quietFor is how long an operator must do nothing to count as quiet.
	quietFor = 5 * time.Second

	// idle is the CPU time that an operator with nothing to do may use in that time: it keeps its Lease and its watches.
	idle = 50 * time.Millisecond

	// patience is how long is waited for something that does happen.
	patience = 20 * time.Minute
)

// activity tells when a process was last seen to do something.
type activity struct {
	since time.Time     // when it last did
	cpu   time.Duration // what it had used then
}

// observe takes what was seen at a moment, and says whether the process has been quiet for long enough.
func (a *activity) observe(now time.Time, cpu time.Duration, requests int) bool {
	if a.since.IsZero() || requests > 0 || cpu-a.cpu > idle {
		a.since, a.cpu = now, cpu
	}
	return now.Sub(a.since) >= quietFor
}

// quiet is an operator that has nothing to do.
type quiet struct {
	since    time.Time     // when it was last seen to do something
	cpu      time.Duration // used until now
	requests counts        // since they were last asked for
	writes   int           // of these
}

// awaitQuiet waits until an operator has made no request and used no CPU to speak of for some seconds.
func (b *bench) awaitQuiet(ctx context.Context, p *process) (quiet, error) {
	found := quiet{requests: counts{}}
	var last activity
	err := poll(ctx, func() (bool, error) {
		requests, err := b.plane.audit.since(p.account)
		if err != nil {
			return false, err
		}
		found.writes += found.requests.add(requests)
		if found.cpu, err = p.cpu(); err != nil {
			return false, err
		}
		enough := last.observe(time.Now(), found.cpu, len(requests))
		found.since = last.since
		return enough, p.alive()
	})
	if err != nil {
		return quiet{}, fmt.Errorf("wait until the operator is quiet: %w", err)
	}
	return found, nil
}
