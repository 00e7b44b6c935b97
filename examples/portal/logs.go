package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A page has the last lines of the newest pods.
const (
	maxLogged   = 5
	maxLogLines = 100
	maxLogBytes = 64 << 10
	maxLogRead  = maxLogLines * 16 << 10         // a line of a container's log is 16 KiB at most, and the kubelet cuts the newest ones
	podPage     = 20                             // is how many pods a request lists
	logWithin   = answerWithin / (maxLogged + 1) // is how long the node of a pod may take
)

// checkLabel is on the pods of a check, with the Collector's name as its value.
const checkLabel = "kube8.dev/check"

// logs returns the last lines of the logs of a Collector's pods, and of the pod of its check, each below the name of its pod.
func (p *portal) logs(ctx context.Context, namespace, name string) (string, error) {
	pods, err := p.newest(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, pod := range pods {
		text, err := p.log(ctx, &pod)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "%s\n%s\n\n", pod.Name, cmp.Or(strings.TrimSpace(text), "(nothing yet)"))
	}
	return strings.TrimSpace(all.String()), nil
}

// log returns the last lines of a pod's log, or why there are none.
func (p *portal) log(ctx context.Context, pod *metav1.PartialObjectMetadata) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, logWithin)
	defer cancel()
	answer := p.pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: "collector", TailLines: new(int64(maxLogLines)), LimitBytes: new(int64(maxLogRead)),
	}).Do(ctx)
	text, err := answer.Raw()
	if refused := answer.Error(); refused != nil { // in the API server's words; the error of Raw says only "unknown"
		err = refused
	}
	refusal, is := errors.AsType[*apierrors.StatusError](err)
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("read the log of a pod: %w", err)
	case is: // of a pod that has not started, for one
		return refusal.ErrStatus.Message, nil
	case err != nil:
		return "(its node does not answer)", nil // the other pods have logs, too
	}
	return endOf(string(text)), nil
}

// endOf returns the last lines of a log that a page has room for.
func endOf(text string) string {
	if len(text) <= maxLogBytes {
		return text
	}
	end := text[len(text)-maxLogBytes:]
	if _, whole, isCut := strings.Cut(end, "\n"); isCut && whole != "" {
		return whole
	}
	return strings.ToValidUTF8(end, "")
}

// newest returns the newest pods of a Collector and of its check, without what is in them.
func (p *portal) newest(ctx context.Context, namespace, name string) (pods []metav1.PartialObjectMetadata, err error) {
	for _, label := range []string{v1alpha1.CollectorLabel, checkLabel} {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		for isMore := true; isMore; isMore = list.Continue != "" {
			next := client.Continue(list.Continue)
			err := p.collectors.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{label: name}, client.Limit(podPage), next)
			if err != nil {
				return nil, fmt.Errorf("list pods: %w", err)
			}
			pods = append(pods, list.Items...)
			slices.SortStableFunc(pods, func(a, b metav1.PartialObjectMetadata) int {
				return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
			})
			pods = pods[:min(len(pods), maxLogged)]
		}
	}
	return pods, nil
}
