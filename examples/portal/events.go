package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// heartbeat is how often an idle stream says that it is alive, before a proxy thinks otherwise.
	heartbeat = 15 * time.Second

	// takeWithin is how long a reader may take for an event before it counts as gone.
	takeWithin = 10 * time.Second
)

// events streams the Collectors of a namespace as server-sent events: "list" has all of them, then "changed" and
// "deleted" have one each. The id of an event is a resource version. A reader whose connection broke, or whose watch the
// API server has ended, comes back with the last id it saw, as browsers do by themselves, and misses nothing. When that is
// too long ago for the API server to know, it gets a "list" again.
func (p *portal) events(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.streams, cancel)()

	out := &eventStream{w: w, control: http.NewResponseController(w)}
	namespace := client.InNamespace(r.PathValue("namespace"))
	version := r.Header.Get("Last-Event-ID")
	for {
		if version == "" {
			var list v1alpha1.CollectorList
			if err := p.collectors.List(ctx, &list, namespace); err != nil {
				return out.end(fmt.Errorf("list Collectors: %w", err))
			}
			version = list.ResourceVersion
			if err := out.send("list", version, showAll(list.Items, false)); err != nil {
				return out.end(err)
			}
		}
		err := p.follow(ctx, namespace, version, out)
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return out.end(err)
		}
		version = ""
	}
}

// follow sends what changes after a resource version, until the reader goes, the API server ends the watch, or the portal
// stops.
func (p *portal) follow(ctx context.Context, namespace client.InNamespace, version string, out *eventStream) error {
	changes, err := p.collectors.Watch(ctx, &v1alpha1.CollectorList{}, namespace, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true},
	})
	if err != nil {
		return fmt.Errorf("watch Collectors: %w", err)
	}
	defer changes.Stop()
	if err := out.comment("following"); err != nil {
		return err
	}
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-alive.C:
			err = out.comment("alive")
		case change, open := <-changes.ResultChan():
			if !open {
				return nil
			}
			if change.Type == watch.Error {
				return fmt.Errorf("watch Collectors: %w", apierrors.FromObject(change.Object))
			}
			err = out.sendChange(change)
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

func (s *eventStream) sendChange(change watch.Event) error {
	collector, ok := change.Object.(*v1alpha1.Collector)
	switch {
	case !ok:
		return fmt.Errorf("watch Collectors: an event has a %T", change.Object)
	case change.Type == watch.Bookmark: // only a newer version
		return s.write("id: %s\n\n", collector.ResourceVersion)
	case change.Type == watch.Deleted:
		return s.send("deleted", collector.ResourceVersion, show(collector))
	default:
		return s.send("changed", collector.ResourceVersion, show(collector))
	}
}

func (s *eventStream) send(event, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode the event %s: %w", event, err)
	}
	return s.write("event: %s\nid: %s\ndata: %s\n\n", event, id, text)
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
		s.w.Header().Set("Cache-Control", "no-store")
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
