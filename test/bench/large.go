package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// smallFleet is what a large fleet is compared with.
	smallFleet = 100

	// changedAtOnce is how many configurations are changed at once: 1 % of 10,000, and as many in each fleet, so that they compare.
	changedAtOnce = 100

	// largeObjects is how many objects each Collector of a large fleet has.
	largeObjects = 4
)

// largePoint is what a fleet cost. Figures of configChange are for each Collector that was changed.
type largePoint struct {
	Collectors int     `json:"collectors"`
	Figures    figures `json:"phases"`

	// EtcdMiB is what etcd's database has in use after the phases, and APIServerMiB the API server's resident memory.
	EtcdMiB      float64 `json:"etcdMiB"`
	APIServerMiB float64 `json:"apiServerMiB"`
}

// large is the mode that compares a large fleet with small ones. The small ones run before it and after it, as often: a machine that
// becomes slower meanwhile must not look like an operator that does.
func (b *bench) large(ctx context.Context) error {
	var large largePoint
	var small []largePoint
	for run := range 2*b.runs + 1 {
		n := smallFleet
		if run == b.runs {
			n = b.options.large
		}
		point := largePoint{Collectors: n}
		err := b.onPlane(ctx, fmt.Sprintf("%d-Collectors-%d", n, run), func(ctx context.Context) (err error) {
			if point.Figures, err = b.largeLife(ctx, n); err != nil {
				return err
			}
			return b.sizes(ctx, &point)
		})
		if err != nil {
			return err
		}
		if n == smallFleet {
			small = append(small, point)
		} else {
			large = point
		}
	}
	b.result.Large = []largePoint{medianPoint(small), large}
	return nil
}

// medianPoint returns the medians of runs of one fleet, figure by figure.
func medianPoint(runs []largePoint) largePoint {
	var each []figures
	for _, run := range runs {
		each = append(each, run.Figures)
	}
	return largePoint{
		Collectors: runs[0].Collectors, Figures: *medianFigures(each),
		EtcdMiB:      medianOf(runs, func(p largePoint) float64 { return p.EtcdMiB }),
		APIServerMiB: medianOf(runs, func(p largePoint) float64 { return p.APIServerMiB }),
	}
}

// largeLife measures the phases of an operator with a fleet.
func (b *bench) largeLife(ctx context.Context, n int) (_ figures, err error) {
	if err := b.createNamespaces(ctx, "tenant", (n-1)/perNamespace+1); err != nil {
		return figures{}, err
	}
	l := &life{bench: b, system: ours, n: n, figures: figures{Phases: map[string]phase{}}}
	defer func() { err = errors.Join(err, l.process.stop()) }()
	if err := l.start(ctx, 0, ""); err != nil {
		return l.figures, err
	}
	if _, err := l.awaitQuiet(ctx, l.process); err != nil { // not a part of any phase
		return l.figures, err
	}
	fleet := largeFleet(n, "1s")
	err = l.measure(ctx, "install", l.profiled(ctx, "install", func() error { return l.create(ctx, fleet) }),
		l.deployedAbove(ctx, 0), l.countFleet(n, 0))
	if err != nil {
		return l.figures, err
	}
	restart := func() error { return l.start(ctx, 0, "restart") }
	if err := l.measure(ctx, "restart", restart, nil, l.countFleet(n, 0)); err != nil {
		return l.figures, err
	}
	all, changed := largeFleet(n, "2s"), make([]*v1alpha1.Collector, changedAtOnce)
	for i := range changed {
		changed[i] = all[i*n/changedAtOnce] // spread over the fleet
	}
	l.n = changedAtOnce
	return l.figures, l.measure(ctx, "configChange", l.profiled(ctx, "configChange", func() error { return l.configure(ctx, changed) }),
		l.deployedAbove(ctx, 1), l.countFleet(n, changedAtOnce))
}

// largeFleet returns n Collectors of largeObjects objects each.
func largeFleet(n int, timeout string) []*v1alpha1.Collector {
	fleet := newFleet(n, timeout)
	for _, collector := range fleet {
		collector.Spec.PodDisruptionBudget, collector.Spec.NetworkPolicy = nil, nil
	}
	return fleet
}

// countFleet returns what checks that the cluster has as many objects of each kind as n Collectors have, of which some have a
// configuration of before, too. To render them all would take as long as to install them.
func (l *life) countFleet(n, changed int) func(context.Context) error {
	notOfHelm := &client.ListOptions{Raw: &metav1.ListOptions{LabelSelector: v1alpha1.CollectorLabel + ",owner!=helm"}}
	return func(ctx context.Context) error {
		return l.plane.count(ctx, map[string]int{
			"apps/v1 Deployment": n, "v1 Service": n, "v1 ServiceAccount": n, "v1 Secret": n + changed,
		}, notOfHelm)
	}
}

// sizes reads how large etcd and the API server are.
func (b *bench) sizes(ctx context.Context, point *largePoint) error {
	const mebibyte = 1 << 20
	used, err := gauge(ctx, http.DefaultClient, b.plane.env.ControlPlane.Etcd.URL.String(), "etcd_mvcc_db_total_size_in_use_in_bytes")
	if err != nil {
		return err
	}
	administrator, err := rest.HTTPClientFor(b.plane.env.Config)
	if err != nil {
		return err
	}
	resident, err := gauge(ctx, administrator, strings.TrimSuffix(b.plane.env.Config.Host, "/"), "process_resident_memory_bytes")
	point.EtcdMiB, point.APIServerMiB = used/mebibyte, resident/mebibyte
	return err
}

// gauge reads a metric that has no labels.
func gauge(ctx context.Context, from *http.Client, address, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := from.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("read metrics: %s", response.Status)
	}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// largePhases are the phases of mode fleet10k.
var largePhases = []string{"install", "restart", "configChange"}

// largeTable writes what fleets cost, and how the figures of each Collector grow with the fleet.
func largeTable(out io.Writer, points []largePoint) {
	fmt.Fprintf(out, "\n%d configurations changed at once; CPU and requests are for each that is installed, restarted or changed.\n\n"+
		"| Collectors of %d objects | install, ms, requests | a second | restart, ms, requests | quiet after, s | "+
		"config change, ms, requests | done after, s | peak after install, MiB | after restart, MiB | etcd, MiB | API server, MiB |\n"+
		"|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n", changedAtOnce, largeObjects)
	for _, point := range points {
		install, restart, change := point.Figures.Phases["install"], point.Figures.Phases["restart"], point.Figures.Phases["configChange"]
		fmt.Fprintf(out, "| %d | %.1f, %.2f | %.0f | %.1f, %.2f | %.1f | %.1f, %.2f | %.1f | %.0f | %.0f | %.0f | %.0f |\n",
			point.Collectors, install.CPUMillis, install.Requests, float64(point.Collectors)/install.DoneSeconds,
			restart.CPUMillis, restart.Requests, restart.QuietSeconds, change.CPUMillis, change.Requests, change.DoneSeconds,
			install.PeakMiB, restart.PeakMiB, point.EtcdMiB, point.APIServerMiB)
	}
	if len(points) == 2 {
		small, large := points[0], points[1]
		fmt.Fprintf(out, "\n%d Collectors beside %d.", large.Collectors, small.Collectors)
		cpu := ratios(&large.Figures, &small.Figures, func(p phase) float64 { return p.CPUMillis })
		requests := ratios(&large.Figures, &small.Figures, func(p phase) float64 { return p.Requests })
		for _, name := range largePhases {
			fmt.Fprintf(out, " %s: CPU × %.2f, requests × %.3f.", name, cpu[name], requests[name])
		}
		perAdded := func(mebibytes func(largePoint) float64) float64 {
			return (mebibytes(large) - mebibytes(small)) * 1024 / float64(large.Collectors-small.Collectors)
		}
		fmt.Fprintf(out, " KiB for each added Collector: operator after restart %.0f, after install %.0f; etcd %.0f, API server %.0f.\n",
			perAdded(func(p largePoint) float64 { return p.Figures.Phases["restart"].PeakMiB }),
			perAdded(func(p largePoint) float64 { return p.Figures.Phases["install"].PeakMiB }),
			perAdded(func(p largePoint) float64 { return p.EtcdMiB }), perAdded(func(p largePoint) float64 { return p.APIServerMiB }))
	}
}
