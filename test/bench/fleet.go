package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// perNamespace is how many Collectors a tenant has.
	perNamespace = 10

	// writers is how many requests the bench makes at a time to change the fleet.
	writers = 8
)

// configuration is what a Collector runs; its timeout is what the phase configChange changes.
const configuration = `# Of %s: OTLP in, batched, and on to the tenant's gateway.
extensions:
  health_check:
    endpoint: 0.0.0.0:13133
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4317
      http:
        endpoint: 0.0.0.0:4318
processors:
  memory_limiter:
    check_interval: 1s
    limit_percentage: 80
  batch:
    timeout: %s
exporters:
  otlp:
    endpoint: gateway.example.com:4317
    headers:
      authorization: ${env:TOKEN}
service:
  extensions: [health_check]
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter, batch]
      exporters: [otlp]
    metrics:
      receivers: [otlp]
      processors: [memory_limiter, batch]
      exporters: [otlp]
    logs:
      receivers: [otlp]
      processors: [memory_limiter, batch]
      exporters: [otlp]
`

// newFleet returns n Collectors of six objects each: Deployment, Service, ServiceAccount, Secret, PodDisruptionBudget
// and NetworkPolicy.
func newFleet(n int, timeout string) []*v1alpha1.Collector {
	fleet := make([]*v1alpha1.Collector, n)
	for i := range fleet {
		name, tenant := fmt.Sprintf("gateway-%04d", i), fmt.Sprintf("tenant-%03d", i/perNamespace)
		fleet[i] = &v1alpha1.Collector{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Collector"},
			ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name},
			Spec: v1alpha1.CollectorSpec{
				Collector: v1alpha1.CollectorConfig{
					Name: "opentelemetry-collector", Version: "0.150.0", Configuration: fmt.Appendf(nil, configuration, name, timeout),
				},
				Tenant:              v1alpha1.Tenant{ID: strconv.Itoa(1000 + i/perNamespace), Reference: tenant},
				Cluster:             "bench",
				PodDisruptionBudget: &v1alpha1.PodDisruptionBudget{Enabled: true},
				NetworkPolicy:       &v1alpha1.NetworkPolicy{Enabled: true},
			},
		}
	}
	return fleet
}

// each calls do for every item, limit at a time, until one fails, and returns that error.
func each[T any](ctx context.Context, limit int, items []T, do func(context.Context, T) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for _, item := range items {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return do(running, item) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

func (b *bench) createNamespaces(ctx context.Context, prefix string, n int) error {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return each(ctx, writers, names, func(ctx context.Context, name string) error {
		err := b.plane.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		return client.IgnoreAlreadyExists(err)
	})
}

func (l *life) create(ctx context.Context, fleet []*v1alpha1.Collector) error {
	return l.each(ctx, fleet, func(ctx context.Context, _ *v1alpha1.Collector, object client.Object) error {
		return l.plane.client.Create(ctx, object)
	})
}

func (l *life) configure(ctx context.Context, fleet []*v1alpha1.Collector) error {
	return l.each(ctx, fleet, func(ctx context.Context, c *v1alpha1.Collector, object client.Object) error {
		without := c.DeepCopy()
		without.Spec.Collector.Configuration = nil
		before, err := l.form(without)
		if err != nil {
			return err
		}
		return l.plane.client.Patch(ctx, object, client.MergeFrom(before))
	})
}

func (l *life) remove(ctx context.Context, fleet []*v1alpha1.Collector) error {
	return l.each(ctx, fleet, func(ctx context.Context, _ *v1alpha1.Collector, object client.Object) error {
		return l.plane.client.Delete(ctx, object)
	})
}

// each does something for each Collector of a fleet, with the object that form returns.
func (l *life) each(
	ctx context.Context, fleet []*v1alpha1.Collector, do func(context.Context, *v1alpha1.Collector, client.Object) error,
) error {
	return each(ctx, writers, fleet, func(ctx context.Context, c *v1alpha1.Collector) error {
		object, err := l.form(c)
		if err != nil {
			return err
		}
		return do(ctx, c, object)
	})
}

// form returns the object by which the system gets to know of a Collector. Clients write into it.
func (l *life) form(c *v1alpha1.Collector) (client.Object, error) {
	if l.system == peer {
		return asPeer(c)
	}
	return c.DeepCopy(), nil
}

// writeRoots writes the folders that operators run in, each with watches.yaml and the chart of the repository: the
// first as they are, the second with a chart of another version, whose objects have another label.
func writeRoots(dir string) (roots [2]string, err error) {
	watches, err := os.ReadFile("watches.yaml")
	if err != nil {
		return roots, err
	}
	for i, name := range []string{"chart", "chart-upgraded"} {
		roots[i] = filepath.Join(dir, name)
		if err := os.CopyFS(filepath.Join(roots[i], "helm-charts"), os.DirFS("helm-charts")); err != nil {
			return roots, err
		}
		if err := os.WriteFile(filepath.Join(roots[i], "watches.yaml"), watches, 0o600); err != nil {
			return roots, err
		}
	}
	chart := filepath.Join(roots[1], "helm-charts", "collector")
	if err := edit(filepath.Join(chart, "Chart.yaml"), "\nversion: ", "\nversion: 1"); err != nil {
		return roots, err
	}
	const labels = "{{- define \"collector.labels\" -}}\n"
	return roots, edit(filepath.Join(chart, "templates", "_helpers.tpl"), labels, labels+"example.com/upgraded: \"true\"\n")
}

// edit replaces what must be in a file exactly once.
func edit(path, before, after string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.Count(string(text), before) != 1 {
		return fmt.Errorf("%s: want %q once in it", path, before)
	}
	return os.WriteFile(path, bytes.Replace(text, []byte(before), []byte(after), 1), 0o600)
}
