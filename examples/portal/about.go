package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

//go:embed about.html
var aboutText string

var aboutPage = template.Must(template.New("about").Parse(aboutText))

// about answers with a page on one Collector: its status, and what happened to it, newest first.
func (p *portal) about(w http.ResponseWriter, r *http.Request) error {
	var collector v1alpha1.Collector
	key := client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if err := p.collectors.Get(r.Context(), key, &collector); err != nil {
		return fmt.Errorf("read the Collector: %w", err)
	}
	var events corev1.EventList
	err := p.collectors.List(r.Context(), &events, client.InNamespace(key.Namespace),
		client.MatchingFields{"involvedObject.uid": string(collector.UID)})
	if err != nil {
		return fmt.Errorf("list events: %w", err)
	}
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return b.LastTimestamp.Compare(a.LastTimestamp.Time) })
	var text bytes.Buffer
	if err := aboutPage.Execute(&text, map[string]any{"Collector": collector, "Events": events.Items}); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	w.Header().Set("Content-Security-Policy", contentPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = text.WriteTo(w) // a browser that has gone does not need it
	return nil
}
