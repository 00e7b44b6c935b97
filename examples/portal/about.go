package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
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
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// maxTroubled is how many pods are asked why they do not serve: those of one Collector mostly have the same cause.
const maxTroubled = 2

//go:embed about.html
var aboutText string

var aboutPage = template.Must(template.New("about").Funcs(template.FuncMap{"fields": fields, "split": strings.Split}).Parse(aboutText))

// screen is what the page of a Collector says.
type screen struct {
	shown
	Collector   *v1alpha1.Collector
	Verdict     string
	Explanation explain.Explanation // of the reason; it counts if there is no cause
	Causes      []explain.Cause
	Addresses   []address
	Changes     []difference
	HasBefore   bool
	Managers    []metav1.ManagedFieldsEntry // newest first
	Events      []corev1.Event              // newest first
	Unseen      []string                    // what the account may not read
}

// address is where a port of a Collector can be reached.
type address struct{ Port, At, From string }

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
	s := &screen{shown: show(&collector), Collector: &collector, Managers: live.GetManagedFields()}
	if was := before(live); was != nil {
		spec, _, _ := unstructured.NestedMap(live.Object, "spec")
		s.HasBefore, s.Changes = true, differences(was, spec)
	}
	s.Managers = slices.DeleteFunc(s.Managers, func(m metav1.ManagedFieldsEntry) bool { // the operator writes a finalizer, and no spec
		return m.Subresource != "" || m.Time == nil || m.FieldsV1 == nil || !managedfields.Has(m, "f:spec")
	})
	slices.SortFunc(s.Managers, func(a, b metav1.ManagedFieldsEntry) int { return b.Time.Compare(a.Time.Time) })
	if err := p.observe(r.Context(), s); err != nil {
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

// observe adds what the account may read about the Collector's pods, Services and events, and what all that means.
func (p *portal) observe(ctx context.Context, s *screen) (err error) {
	note := func(what string, failed error) {
		if apierrors.IsForbidden(failed) {
			s.Unseen = append(s.Unseen, what)
		} else if failed != nil {
			err = errors.Join(err, fmt.Errorf("read the %s: %w", what, failed))
		}
	}
	of, messages := s.Collector, s.judge()
	events, failed := p.eventsOf(ctx, of.Namespace, of.UID)
	note("events", failed)
	troubles, failed := p.troubles(ctx, of)
	note("pods", failed)
	var services corev1.ServiceList
	isOf := client.MatchingLabels{v1alpha1.CollectorLabel: of.Name}
	note("services", p.collectors.List(ctx, &services, client.InNamespace(of.Namespace), isOf))
	if err != nil {
		return err
	}
	s.Events, s.Addresses = events, addresses(services.Items)
	isOutside := slices.ContainsFunc(s.Addresses, func(a address) bool { return a.From == anywhere })
	if service := of.Spec.Service; len(s.Addresses) > 0 && !isOutside && service != nil && service.Type == corev1.ServiceTypeLoadBalancer {
		messages = append(messages, "the Service has no address of a load balancer")
	}
	s.Causes, err = explain.Causes(of.Namespace, of.Name, append(messages, troubles...)...)
	return err
}

// judge says whether the Collector is ready, and returns the messages that say why not.
func (s *screen) judge() (messages []string) {
	switch {
	case s.Ready == "True":
		s.Verdict = "Ready"
	case s.Reason == "": // nothing is observed of what the spec says now
		s.Verdict = "Waiting for the operator"
		s.Explanation.Meaning = "The operator has not reconciled the last change yet."
		s.Explanation.Action = "Wait. If it lasts, the operator does not run or does not watch this namespace."
		return nil
	case s.Ready == string(corev1.ConditionUnknown): // it is paused, or being deleted
		s.Verdict = s.Reason
	default:
		s.Verdict = "Not ready"
	}
	// A reason of a later version has no explanation here.
	s.Explanation, _ = explain.Reason(s.Reason, s.Collector.Namespace, s.Collector.Name)
	messages = []string{s.Message}
	for _, condition := range s.Collector.Status.Conditions {
		isPending := condition.Type == v1alpha1.UpdatePending && condition.Status == corev1.ConditionTrue
		isInDoubt := condition.Type == v1alpha1.DataFlowing && condition.Reason != v1alpha1.ReasonFlowing
		if isPending || isInDoubt || condition.Type == v1alpha1.PresetsReady && condition.Status != corev1.ConditionTrue {
			messages = append(messages, condition.Message)
		}
	}
	return messages
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
	isOf := client.MatchingLabels{v1alpha1.CollectorLabel: of.Name}
	for isMore := true; isMore && len(pods) < maxTroubled; isMore = list.Continue != "" {
		next := client.Continue(list.Continue)
		list = corev1.PodList{}
		if err := p.collectors.List(ctx, &list, client.InNamespace(of.Namespace), isOf, client.Limit(podPage), next); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		pods = append(pods, slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
			return pod.DeletionTimestamp != nil ||
				slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Ready })
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

// anywhere is where the address of a load balancer can be reached from.
const anywhere = "from outside"

// addresses returns where each port of the Services can be reached. Those without an address of their own count if there are no others.
func addresses(services []corev1.Service) (found []address) {
	isHeadless := func(s corev1.Service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }
	if withIP := slices.DeleteFunc(slices.Clone(services), isHeadless); len(withIP) > 0 {
		services = withIP
	}
	for _, service := range services {
		for _, port := range service.Spec.Ports {
			scheme := ""
			if protocol := port.AppProtocol; protocol != nil && strings.HasPrefix(*protocol, "http") {
				scheme = *protocol + "://"
			}
			add := func(host, from string) {
				at := scheme + net.JoinHostPort(host, strconv.Itoa(int(port.Port)))
				if port.Protocol != corev1.ProtocolTCP {
					at += " (" + string(port.Protocol) + ")"
				}
				found = append(found, address{port.Name, at, from})
			}
			add(service.Name+"."+service.Namespace, "in the cluster")
			for _, ingress := range service.Status.LoadBalancer.Ingress {
				add(cmp.Or(ingress.Hostname, ingress.IP), anywhere)
			}
		}
	}
	return found
}

// fields returns the names of the spec's fields, as a hint for the editor.
func fields() (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.CollectorSpec]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
