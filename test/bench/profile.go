package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
)

// profilePath is where the CPU profile of a phase goes.
func (b *bench) profilePath(phase string) string {
	return filepath.Join(b.cpuProfile, phase+".cpu.pprof")
}

// profiled begins a profile first, if the operator can make one.
func (l *life) profiled(ctx context.Context, phase string, begin func() error) func() error {
	return func() error {
		if err := l.askProfiler(ctx, "/start?file="+url.QueryEscape(l.profilePath(phase))); err != nil {
			return err
		}
		return begin()
	}
}

// askProfiler asks the operator, if it can make profiles, for something.
func (l *life) askProfiler(ctx context.Context, what string) error {
	if l.process.profiler == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.process.profiler+what, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask for a profile: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for a profile: %s", response.Status)
	}
	return nil
}
