package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A page has the last lines of the newest pods.
const (
	maxLogged   = 5
	maxLogLines = 100
	maxLogBytes = 64 << 10
)

// checkLabel is on the pods of a check, with the Collector's name as its value.
const checkLabel = "kube8.dev/check"

// logs answers with the last lines of the logs of a Collector's pods, and of the pod of its check.
func (p *portal) logs(w http.ResponseWriter, r *http.Request) error {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	pods, err := p.podsOf(r.Context(), namespace, name, v1alpha1.CollectorLabel, checkLabel)
	if err != nil {
		return err
	}
	var all bytes.Buffer
	for _, pod := range pods[:min(len(pods), maxLogged)] {
		text, err := p.pods.Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
			Container: "collector", TailLines: new(int64(maxLogLines)), LimitBytes: new(int64(maxLogBytes)),
		}).DoRaw(r.Context())
		if refusal, is := errors.AsType[*apierrors.StatusError](err); is && !apierrors.IsForbidden(err) {
			text = []byte(refusal.ErrStatus.Message) // of a pod that has not started, for one
		} else if err != nil {
			return fmt.Errorf("read the log of a pod: %w", err)
		}
		fmt.Fprintf(&all, "%s\n%s\n\n", pod.Name, cmp.Or(string(bytes.TrimSpace(text)), "(nothing yet)"))
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(bytes.TrimSpace(all.Bytes())) // a browser that has gone does not need it
	return nil
}

// podsOf returns the pods that have one of the labels with a Collector's name, newest first.
func (p *portal) podsOf(ctx context.Context, namespace, name string, labels ...string) (pods []corev1.Pod, err error) {
	for _, label := range labels {
		var list corev1.PodList
		if err := p.collectors.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{label: name}); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		pods = append(pods, list.Items...)
	}
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return pods, nil
}
