package kubectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
	"github.com/kube8/kube8-operator/internal/flow"
)

const (
	// topPods is how many pods of a Collector are read, and topAtOnce how many at the same time.
	topPods, topAtOnce = 3, 10

	// topTimeout is how long a page may take.
	topTimeout = 5 * time.Second
)

// top is what `top` shows.
type top struct {
	all        bool
	labels, by string
	interval   time.Duration
}

// load is what goes through a Collector, or through several, per second.
type load struct {
	namespace, name string
	flow.Amounts
	read, pods int
}

// reading is a pod of a Collector, which is read twice.
type reading struct {
	of      *load
	source  flow.Endpoint
	pod     client.ObjectKey
	samples [2]*flow.Sample
	at      [2]time.Time
	refused bool // the last time, perhaps by the pod
}

// pages reads what pods answer, by the API server's proxy.
type pages struct {
	web    http.Client
	server *url.URL
}

// pagesOf returns a client that follows no pod's redirect, which would get the user's token sent elsewhere.
func pagesOf(config *rest.Config) (*pages, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &pages{http.Client{Transport: web.Transport, CheckRedirect: noRedirect}, server}, nil
}

func (p *plugin) topCommand() *cobra.Command {
	var t top
	cmd := &cobra.Command{
		Use: "top", Short: "Show what goes through Collectors with spec.flow", Args: cobra.NoArgs,
		Long: `Show what goes through the Collectors with spec.flow, per second, and what waits.

It reads the metrics of up to 3 ready pods of each Collector twice, by the API server's
proxy and with your own rights. That takes "get" of pods/proxy, which Kubernetes' roles
edit and admin have. READ says of how many of the ready pods the numbers are.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.connect()
			if err != nil {
				return err
			}
			return p.top(cmd.Context(), s, t)
		},
	}
	cmd.Flags().BoolVarP(&t.all, "all-namespaces", "A", false, "those of all namespaces")
	cmd.Flags().StringVarP(&t.labels, "selector", "l", "", "those with such labels, such as team=payments")
	cmd.Flags().StringVar(&t.by, "by", "collector", "what to sum up by: collector, tenant or cluster")
	cmd.Flags().DurationVar(&t.interval, "interval", 10*time.Second, "the time between the two reads")
	return cmd
}

func (p *plugin) top(ctx context.Context, s *session, t top) error {
	selector, err := labels.Parse(t.labels)
	if err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	if !slices.Contains([]string{"collector", "tenant", "cluster"}, t.by) {
		return fmt.Errorf("--by: %q is none of collector, tenant and cluster", t.by)
	}
	if t.all {
		s.namespace = ""
	}
	loads, readings, err := s.loads(ctx, t.by, selector)
	if err != nil {
		return err
	}
	if len(loads) == 0 {
		_, err := fmt.Fprintln(p.ErrOut, "No Collectors with spec.flow found.")
		return err
	}
	for pass := range 2 {
		next := time.After(t.interval)
		var reads errgroup.Group
		reads.SetLimit(topAtOnce)
		for _, r := range readings {
			reads.Go(func() error {
				s.readPage(ctx, r, pass)
				return nil
			})
		}
		_ = reads.Wait() // none returns an error
		if len(readings) > 0 && !slices.ContainsFunc(readings, func(r *reading) bool { return !r.refused }) {
			return errors.New(`your account may not read metrics of pods; ask for "get" of pods/proxy`)
		}
		if pass == 0 {
			select {
			case <-next:
			case <-ctx.Done():
				return ctx.Err() //nolint:wrapcheck // Ctrl-C
			}
		}
	}
	for _, r := range readings {
		r.sumUp()
	}
	out := printers.GetNewTabWriter(p.Out)
	fmt.Fprintln(out, "NAMESPACE\t"+strings.ToUpper(t.by)+"\tREAD\tIN/S\tOUT/S\tFAILED/S\tDROPPED/S\tQUEUE")
	for _, l := range loads {
		cells := strings.Repeat("\t-", 5)
		if l.read > 0 {
			cells = fmt.Sprintf("\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g", l.Received, l.Sent, l.Failed, l.Dropped, l.Queued)
		}
		fmt.Fprintf(out, "%s\t%s\t%d/%d%s\n", cmp.Or(l.namespace, "-"), l.name, l.read, l.pods, cells)
	}
	return out.Flush() //nolint:wrapcheck // of standard output
}

// loads returns what Collectors are summed up by, and the pods to read.
func (s *session) loads(ctx context.Context, by string, selector labels.Selector) (loads []*load, readings []*reading, err error) {
	var pods corev1.PodList
	if err := s.client.List(ctx, &pods, client.InNamespace(s.namespace), client.HasLabels{v1alpha1.CollectorLabel}); err != nil {
		return nil, nil, fmt.Errorf("list pods: %w", err)
	}
	ready := map[client.ObjectKey][]client.ObjectKey{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if explain.IsServing(pod) {
			of := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.CollectorLabel]}
			ready[of] = append(ready[of], client.ObjectKeyFromObject(pod))
		}
	}
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("CollectorList"))
	if err := s.client.List(ctx, found, client.InNamespace(s.namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, nil, s.failed("list", "", err)
	}
	sums := map[client.ObjectKey]*load{}
	for i := range found.Items {
		source, has := flow.EndpointOf(&found.Items[i])
		if !has {
			continue
		}
		of := client.ObjectKeyFromObject(&found.Items[i])
		key := map[string]client.ObjectKey{"collector": of, "tenant": {Name: source.Tenant}, "cluster": {Name: source.Cluster}}[by]
		if sums[key] == nil {
			sums[key] = &load{namespace: key.Namespace, name: key.Name}
			loads = append(loads, sums[key])
		}
		sums[key].pods += len(ready[of])
		for _, pod := range ready[of][:min(topPods, len(ready[of]))] {
			readings = append(readings, &reading{of: sums[key], source: source, pod: pod})
		}
	}
	return loads, readings, nil
}

// readPage reads the page of a pod. READ says of pods that do not answer.
func (s *session) readPage(ctx context.Context, r *reading, pass int) {
	ctx, cancel := context.WithTimeout(ctx, topTimeout)
	defer cancel()
	path, query, _ := strings.Cut(r.source.Path, "?")
	pod := fmt.Sprintf("%s:%d", r.pod.Name, r.source.Port)
	page := s.pages.server.JoinPath("api/v1/namespaces", r.pod.Namespace, "pods", pod, "proxy", path)
	page.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), http.NoBody)
	if err != nil {
		return
	}
	response, err := s.pages.web.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	r.refused = response.StatusCode == http.StatusForbidden
	if response.StatusCode != http.StatusOK {
		return
	}
	r.samples[pass], _ = r.source.Read(response.Body)
	r.at[pass] = time.Now()
}

// sumUp adds what has gone through a pod between the two reads.
func (r *reading) sumUp() {
	if r.samples[0] == nil || r.samples[1] == nil {
		return
	}
	amounts, isWindow := r.samples[1].Since(r.samples[0])
	if !isWindow {
		return
	}
	per := r.at[1].Sub(r.at[0]).Seconds()
	r.of.read++
	r.of.Received += amounts.Received / per
	r.of.Sent += amounts.Sent / per
	r.of.Failed += amounts.Failed / per
	r.of.Dropped += amounts.Dropped / per
	r.of.Queued += amounts.Queued
}
