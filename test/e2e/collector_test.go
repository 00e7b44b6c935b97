//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	collectorLabel = "kube8.dev/collector"
	hashAnnotation = "kube8.dev/config-sha256"
)

// printing is a configuration that takes OTLP/HTTP and prints it; with verbosity detailed, names and attributes too.
func printing(verbosity string) string {
	return `
extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
receivers: {otlp: {protocols: {http: {endpoint: "0.0.0.0:4318"}}}}
exporters: {debug: {verbosity: ` + verbosity + `}}
service:
  extensions: [health_check]
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
`
}

// newCollector returns a Collector that leaves room on a small node for others.
func newCollector(namespace, name, config string) *v1alpha1.Collector {
	collector := &v1alpha1.Collector{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.CollectorSpec{
			Collector: v1alpha1.CollectorConfig{
				Name: "opentelemetry-collector", Version: "0.160.0", Configuration: []byte(config),
			},
			Tenant:  v1alpha1.Tenant{ID: "1042", Reference: "acme"},
			Cluster: "prod-eu-1",
		},
	}
	collector.Spec.Resources = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
	}
	return collector
}

// change changes a Collector.
func change(t *testing.T, collector *v1alpha1.Collector, edit func(*v1alpha1.Collector)) {
	t.Helper()
	before := collector.DeepCopy()
	edit(collector)
	if err := cluster.Patch(t.Context(), collector, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// awaitReady waits until the pods of a Collector's latest configuration, and no others, are ready.
func awaitReady(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() (string, error) { return waitsFor(t.Context(), collector) }).
		Should(BeEmpty(), "what Collector %s waits for", client.ObjectKeyFromObject(collector))
}

// waitsFor says what a Collector still waits for, or nothing.
func waitsFor(ctx context.Context, collector *v1alpha1.Collector) (string, error) {
	key := client.ObjectKeyFromObject(collector)
	current := &v1alpha1.Collector{}
	if err := cluster.Get(ctx, key, current); err != nil {
		return "", err
	}
	deployed := false
	for _, condition := range current.Status.Conditions {
		switch {
		case condition.Type == "Deployed":
			deployed = condition.Status == corev1.ConditionTrue
		case condition.Status == corev1.ConditionTrue && (condition.Type == "Irreconcilable" || condition.Type == "ReleaseFailed"):
			return condition.Type + ": " + condition.Message, nil
		}
	}
	if !deployed {
		return "its release", nil
	}
	config, err := configurationOf(ctx, current)
	if err != nil {
		return "", err
	}
	pods, err := workload(ctx, current)
	switch {
	case apierrors.IsNotFound(err):
		return "a workload of its mode", nil
	case err != nil:
		return "", err
	case pods.hash != sha256Of(config):
		return "a workload with its configuration", nil
	case !pods.observed, pods.want == 0, pods.total != pods.want, pods.updated != pods.want, pods.available != pods.want:
		return fmt.Sprintf("its pods: %+v", pods), nil
	}
	if ready := readyOf(current); ready != "True Available" {
		return "its status, which says that it is ready: " + ready, nil
	}
	return "", nil
}

// configurationOf returns a Collector's configuration, wherever it is.
func configurationOf(ctx context.Context, collector *v1alpha1.Collector) ([]byte, error) {
	reference := collector.Spec.Collector.ConfigurationSecret
	switch {
	case collector.Spec.Collector.ConfigurationText != "":
		return []byte(collector.Spec.Collector.ConfigurationText), nil
	case reference == nil:
		return collector.Spec.Collector.Configuration, nil
	}
	secret := &corev1.Secret{}
	err := cluster.Get(ctx, client.ObjectKey{Namespace: collector.Namespace, Name: reference.Name}, secret)
	return secret.Data[reference.Key], err
}

// readyOf returns status and reason of a Collector's condition Ready.
func readyOf(collector *v1alpha1.Collector) string { return conditionOf(collector, "Ready") }

// conditionOf returns status and reason of one of a Collector's conditions.
func conditionOf(collector *v1alpha1.Collector, conditionType string) string {
	for _, condition := range collector.Status.Conditions {
		if condition.Type == conditionType {
			return string(condition.Status) + " " + condition.Reason
		}
	}
	return ""
}

// rollout is how far a workload is.
type rollout struct {
	hash                            string // of the configuration that its latest pods have
	observed                        bool   // the numbers are about the latest pods
	want, total, updated, available int32
}

// workload reads the workload of a Collector's mode.
func workload(ctx context.Context, collector *v1alpha1.Collector) (rollout, error) {
	key := client.ObjectKeyFromObject(collector)
	switch collector.Spec.Mode {
	case v1alpha1.ModeDaemonSet:
		o := &appsv1.DaemonSet{}
		err := cluster.Get(ctx, key, o)
		return rollout{
			o.Spec.Template.Annotations[hashAnnotation], o.Status.ObservedGeneration == o.Generation,
			o.Status.DesiredNumberScheduled, o.Status.CurrentNumberScheduled, o.Status.UpdatedNumberScheduled, o.Status.NumberAvailable,
		}, err
	case v1alpha1.ModeStatefulSet:
		o := &appsv1.StatefulSet{}
		if err := cluster.Get(ctx, key, o); err != nil {
			return rollout{}, err
		}
		return rollout{
			o.Spec.Template.Annotations[hashAnnotation], o.Status.ObservedGeneration == o.Generation,
			*o.Spec.Replicas, o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.AvailableReplicas,
		}, nil
	default:
		o := &appsv1.Deployment{}
		if err := cluster.Get(ctx, key, o); err != nil {
			return rollout{}, err
		}
		return rollout{
			o.Spec.Template.Annotations[hashAnnotation], o.Status.ObservedGeneration == o.Generation,
			*o.Spec.Replicas, o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.AvailableReplicas,
		}, nil
	}
}

// podsOf returns a Collector's pods, those that end included.
func podsOf(t *testing.T, collector *v1alpha1.Collector) []corev1.Pod {
	t.Helper()
	return podsWith(t, collector.Namespace, collectorLabel, collector.Name)
}

// send sends spans in one request as OTLP/HTTP to a Collector's Service, through the API server.
func send(ctx context.Context, collector *v1alpha1.Collector, spans ...string) error {
	var list []string
	for _, span := range spans {
		list = append(list, `{"name": "`+span+`", "kind": 1, "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174",
			"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000002000000000"}`)
	}
	return cluster.CoreV1().RESTClient().Post().
		Namespace(collector.Namespace).Resource("services").Name(collector.Name+":otlp-http").SubResource("proxy").
		Suffix("v1/traces").SetHeader("Content-Type", "application/json").
		Body([]byte(`{"resourceSpans": [{"scopeSpans": [{"spans": [` + strings.Join(list, ", ") + `]}]}]}`)).
		Do(ctx).Error()
}

// serviceURL returns where a Collector's Service takes OTLP/HTTP, by number: the cluster may be without DNS.
func serviceURL(t *testing.T, collector *v1alpha1.Collector) string {
	t.Helper()
	service := &corev1.Service{}
	NewWithT(t).Eventually(func() error {
		return cluster.Get(t.Context(), client.ObjectKeyFromObject(collector), service)
	}).Should(Succeed())
	return "http://" + net.JoinHostPort(service.Spec.ClusterIP, "4318")
}

// awaitPrinted waits until one of a Collector's pods has printed a text, and returns all that this pod has printed.
func awaitPrinted(t *testing.T, collector *v1alpha1.Collector, text string) (printed string) {
	t.Helper()
	NewWithT(t).Eventually(func() (string, error) {
		for _, pod := range podsOf(t, collector) {
			var err error
			if printed, err = logs(t.Context(), pod); err != nil || strings.Contains(printed, text) {
				return printed, err
			}
		}
		return printed, nil
	}).Should(ContainSubstring(text), "what Collector %s prints", client.ObjectKeyFromObject(collector))
	return printed
}

func sha256Of(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}
