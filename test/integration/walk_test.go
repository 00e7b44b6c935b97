package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/internal/offline"
)

// walkers is how many Collectors walk at a time.
const walkers = 12

// mostFindings is how many findings end the walk of one of them: without an operator each value would take its time.
const mostFindings = 5

// ours finds what a user of a Collector does not know of: how the operator is made.
var ours = regexp.MustCompile(
	`(?i:\btemplate:|templates/|helm|json:|yaml:|struct |typed patch|unmarshal|execution error|nil pointer|\bchart\b|<nil>)|\.Values|\bv1\.`)

// walkedKinds are kinds that take part in a walk, and in no schedule.
var walkedKinds = []schema.GroupVersionKind{
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
	{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GRPCRoute"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
}

// walkedAPIs are those kinds and KEDA's, as render wants to be told of them.
func walkedAPIs() []string {
	told := []string{"keda.sh/v1alpha1/ScaledObject"}
	for _, kind := range walkedKinds {
		told = append(told, kind.GroupVersion().String()+"/"+kind.Kind)
	}
	return told
}

// walker has one Collector take value after value.
type walker struct {
	*space
	offline    *offline.Renderer
	isOlder    bool           // the API server is older than the validation that render has
	first      map[string]any // the spec to which the Collector comes back
	shape      map[string]string
	generation int64
	count      walkCount
}

// walkCount counts what became of values.
type walkCount struct {
	values, accepted, refused int
	findings                  []string
	fields                    map[string]bool // whether a value of the field was accepted
}

func (c *walkCount) add(other walkCount) {
	c.values, c.accepted, c.refused = c.values+other.values, c.accepted+other.accepted, c.refused+other.refused
	c.findings = append(c.findings, other.findings...)
	for field, accepted := range other.fields {
		c.fields[field] = c.fields[field] || accepted
	}
}

// Not parallel: nothing else is to change the API server's webhooks meanwhile. It takes the first value of each field, and one of
// WALK_EVERY of the others. WALK is how the fields' paths begin.
func TestWalkOfEachField(t *testing.T) {
	every, prefix := simulationNumber("WALK_EVERY", 20), os.Getenv("WALK")
	first, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&newCollector("", "c").Spec)
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	all := slices.DeleteFunc(walkedValues(t, first), func(v walked) bool {
		number++
		return !strings.HasPrefix(v.path, prefix) || !v.isFirst && number%every != 0
	})
	for _, name := range []string{"a", strings.Repeat("a", 63)} { // the names that the walk gives
		newBase(t, name, "first", "extensions: {}\n")
	}
	began := time.Now()
	sum := walk(t, first, all)
	slices.Sort(sum.findings)
	for _, finding := range sum.findings {
		t.Error(finding)
	}
	for _, field := range slices.Sorted(maps.Keys(sum.fields)) {
		if !sum.fields[field] {
			t.Log("no value accepted: ", field)
		}
	}
	t.Logf("walk: %d values of %d fields, %d accepted, %d refused, %d findings, %.0f s",
		sum.values, len(sum.fields), sum.accepted, sum.refused, len(sum.findings), time.Since(began).Seconds())
	recordFigure(t, "Values walked, of fields of the CRD", fmt.Sprintf("%d, %d", sum.values, len(sum.fields)))
	recordFigure(t, "Findings: render and cluster differ, or nothing explains a refusal", len(sum.findings))
}

// walk has Collectors take all values, each one some of them.
func walk(t *testing.T, first map[string]any, all []walked) walkCount {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := watchAll(t, walkedKinds...)
	values, counts := make(chan walked, len(all)), make(chan walkCount, walkers)
	for _, value := range all {
		values <- value
	}
	close(values)
	var running sync.WaitGroup
	for range walkers {
		walks, err := newWalker(ctx, w, first)
		if err != nil {
			t.Fatal(err)
		}
		walks.isOlder = isOlder(t)
		running.Go(func() {
			for value := range values {
				if len(walks.count.findings) < mostFindings {
					walks.take(ctx, value)
				}
			}
			counts <- walks.count
		})
	}
	running.Wait()
	close(counts)
	sum := walkCount{fields: map[string]bool{}}
	for count := range counts {
		sum.add(count)
	}
	return sum
}
