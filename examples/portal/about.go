package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
)

// maxTroubled is how many pods are asked why they do not serve: those of one Collector mostly have the same cause.
const maxTroubled = 2

// tab is a part of the page of a Collector. Each reads only what it shows.
type tab struct{ Path, Title string }

const (
	overviewTab      = "overview"
	historyTab       = "history"
	configurationTab = "configuration"
	logsTab          = "logs"
)

var tabs = []tab{
	{overviewTab, "Overview"}, {historyTab, "History"}, {configurationTab, "Configuration"}, {logsTab, "Logs"},
}

//go:embed about.html
var aboutText string

var aboutPage = template.Must(template.New("about").Funcs(template.FuncMap{
	"split": strings.Split, "tabs": func() []tab { return tabs },
}).Parse(aboutText))

// screen is what the page of a Collector says.
type screen struct {
	shown
	Collector    *v1alpha1.Collector
	Tab          string
	IsBack       bool                // the editor opens with what was before
	Explanation  explain.Explanation // of the reason; it counts if there is no cause
	Causes       []explain.Cause
	Flow         *flow         // nil if the spec does not ask for it
	Destinations *destinations // nil if the account cannot read Services
	Changes      []difference
	HasBefore    bool
	ChangedBy    string                      // who wrote the spec, if that is known
	Managers     []metav1.ManagedFieldsEntry // that own fields of the spec, newest first
	Revisions    []revision                  // newest first
	Events       []corev1.Event              // newest first
	Logs         string
	Unseen       []string // what the account cannot read
}

// about answers with a page on one Collector.
func (p *portal) about(w http.ResponseWriter, r *http.Request) error {
	live, err := p.read(r)
	if err != nil {
		return err
	}
	var collector v1alpha1.Collector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &collector); err != nil {
		return fmt.Errorf("read the Collector: %w", err)
	}
	query := r.URL.Query()
	s := &screen{
		shown: show(&collector), Collector: &collector,
		Tab: cmp.Or(query.Get("tab"), overviewTab), IsBack: query.Get("before") == "true",
	}
	if err := p.observe(r.Context(), s, live); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := aboutPage.Execute(&text, s); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = text.WriteTo(w) // a browser that has gone does not need it
	return nil
}

// observe adds what the tab of a page shows, as far as the account may read it.
func (p *portal) observe(ctx context.Context, s *screen, live *unstructured.Unstructured) (err error) {
	note := func(what string, failed error) {
		if apierrors.IsForbidden(failed) {
			s.Unseen = append(s.Unseen, what)
		} else if failed != nil {
			err = errors.Join(err, fmt.Errorf("read the %s: %w", what, failed))
		}
	}
	of := s.Collector
	switch s.Tab {
	case overviewTab:
		troubles, failed := p.troubles(ctx, of)
		note("pods", failed)
		var services corev1.ServiceList
		failed = p.collectors.List(ctx, &services, client.InNamespace(of.Namespace), isOf(of))
		note("services", failed)
		if failed == nil {
			s.Destinations = destinationsOf(of, services.Items)
		}
		if err == nil {
			err = s.judge(services.Items, troubles)
		}
	case historyTab:
		s.recall(live)
		events, failed := p.eventsOf(ctx, of.Namespace, of.UID)
		note("events", failed)
		s.Events = events
	case logsTab:
		logs, failed := p.logs(ctx, of.Namespace, of.Name)
		note("logs", failed)
		s.Logs = logs
	case configurationTab: // the editor reads it
	default:
		return badRequest("tab: there is no " + s.Tab)
	}
	return err
}

// isOf selects what has the label of a Collector.
func isOf(c *v1alpha1.Collector) client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.CollectorLabel: c.Name}
}

// judge says why a Collector is not ready, and whether its data flows.
func (s *screen) judge(services []corev1.Service, troubles []string) (err error) {
	of := s.Collector
	s.Flow = flowOf(of)
	if s.Reason == "" { // nothing is observed of what the spec says now
		s.Explanation.Meaning = unobserved
		s.Explanation.Action = "Wait. If it lasts, the operator does not run or does not watch this namespace."
		return nil
	}
	// A reason of a later version has no explanation here.
	s.Explanation, _ = explain.Reason(s.Reason, of.Namespace, of.Name)
	messages := append(obstacles(of, &s.shown), troubles...)
	isOutside := slices.ContainsFunc(services, func(s corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) > 0 })
	if service := of.Spec.Service; len(services) > 0 && !isOutside && service != nil && service.Type == corev1.ServiceTypeLoadBalancer {
		messages = append(messages, "the Service has no address of a load balancer")
	}
	s.Causes, err = explain.Causes(of.Namespace, of.Name, messages...)
	return err
}

// read returns the Collector that a request names, with all its fields.
func (p *portal) read(r *http.Request) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if err := p.collectors.Get(r.Context(), key, live); err != nil {
		return nil, fmt.Errorf("read the Collector: %w", err)
	}
	return live, nil
}

// troubles returns what the newest warning about each of some pods says that do not serve.
func (p *portal) troubles(ctx context.Context, of *v1alpha1.Collector) (messages []string, err error) {
	pods, err := p.troubled(ctx, of)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		events, err := p.eventsOf(ctx, pod.Namespace, pod.UID)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(events, func(e corev1.Event) bool { return e.Type == corev1.EventTypeWarning }); at >= 0 {
			messages = append(messages, events[at].Reason+": "+strings.ReplaceAll(events[at].Message, "; ", ", "))
		}
	}
	return messages, nil
}

// troubled returns some pods that do not serve. It reads no more than it needs.
func (p *portal) troubled(ctx context.Context, of *v1alpha1.Collector) (pods []corev1.Pod, err error) {
	var list corev1.PodList
	for isMore := true; isMore && len(pods) < maxTroubled; isMore = list.Continue != "" {
		next := client.Continue(list.Continue)
		list = corev1.PodList{}
		if err := p.collectors.List(ctx, &list, client.InNamespace(of.Namespace), isOf(of), client.Limit(podPage), next); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		pods = append(pods, slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
			return pod.DeletionTimestamp != nil || explain.IsServing(&pod)
		})...)
	}
	return pods[:min(len(pods), maxTroubled)], nil
}

// eventsOf returns the events of an object, newest first.
func (p *portal) eventsOf(ctx context.Context, namespace string, of types.UID) ([]corev1.Event, error) {
	var list corev1.EventList
	err := p.collectors.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{"involvedObject.uid": string(of)})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	for i := range list.Items {
		event := &list.Items[i]
		if event.LastTimestamp.IsZero() { // the newer kind of event
			event.LastTimestamp = metav1.Time{Time: event.EventTime.Time}
		}
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return b.LastTimestamp.Compare(a.LastTimestamp.Time) })
	return list.Items, nil
}
