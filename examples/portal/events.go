package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// heartbeat is how often an idle stream says that it is alive, before a proxy thinks otherwise.
	heartbeat = 15 * time.Second

	// takeWithin is how long a reader may take for an event before it counts as gone.
	takeWithin = 10 * time.Second
)

// events streams the Collectors of some namespaces as server-sent events: "list" has all of them, then "changed" and
// "deleted" have one each. A reader whose connection broke comes back, as browsers do by themselves, and gets a list again.
func (p *portal) events(w http.ResponseWriter, r *http.Request) error {
	namespaces, err := namespacesOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.streams, cancel)()
	changes := make(chan change)
	var waited []func() bool
	var ends []func()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for _, namespace := range namespaces {
		hasList, leave, err := p.feeds.follow(ctx, cancel, namespace, changes)
		if err != nil {
			return err
		}
		waited, ends = append(waited, hasList), append(ends, leave)
	}
	hasLists := func() bool {
		return !slices.ContainsFunc(waited, func(hasList func() bool) bool { return !hasList() })
	}
	out := &eventStream{w: w, control: http.NewResponseController(w)}
	return out.end(out.follow(ctx, changes, hasLists))
}

// follow sends the list, and then what changes, until ctx ends.
func (s *eventStream) follow(ctx context.Context, changes <-chan change, hasList func() bool) error {
	settled, alive := time.NewTicker(settleEvery), time.NewTicker(heartbeat)
	defer settled.Stop()
	defer alive.Stop()
	first := map[client.ObjectKey]v1alpha1.Collector{}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-alive.C:
			err = s.comment("alive")
		case <-settled.C:
			if hasList() {
				settled.Stop()
				list := slices.Collect(maps.Values(first))
				slices.SortFunc(list, func(a, b v1alpha1.Collector) int {
					return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
				})
				err, first = s.send("list", showAll(list, false)), nil
			}
		case changed := <-changes:
			switch {
			case first != nil && changed.isDeleted:
				delete(first, client.ObjectKeyFromObject(changed.collector))
			case first != nil:
				first[client.ObjectKeyFromObject(changed.collector)] = *changed.collector
			case changed.isDeleted:
				err = s.send("deleted", show(changed.collector))
			default:
				err = s.send("changed", show(changed.collector))
			}
		}
		if err != nil {
			return err
		}
	}
}

// eventStream writes server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func (s *eventStream) send(event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode the event %s: %w", event, err)
	}
	return s.write("event: %s\ndata: %s\n\n", event, text)
}

// comment sends what readers ignore.
func (s *eventStream) comment(text string) error {
	return s.write(": %s\n\n", text)
}

// write replaces the server's deadlines, which are for answers that end.
func (s *eventStream) write(format string, args ...any) error {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		if err := s.control.SetReadDeadline(time.Time{}); err != nil {
			return fmt.Errorf("begin the stream: %w", err)
		}
		format = "retry: 1000\n" + format // milliseconds until a reader comes back
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(takeWithin)); err != nil {
		return fmt.Errorf("go on with the stream: %w", err)
	}
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	return nil
}

// end returns an error that can still become the answer, and logs one that cannot: the reader comes back and sees.
func (s *eventStream) end(err error) error {
	if err != nil && s.begun {
		slog.Info("stream ended", "reason", err)
		return nil
	}
	return err
}
