package integration

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// queries returns the queries of the dashboard and of the alerts about the operator.
func queries(t *testing.T) []string {
	t.Helper()
	var dashboard struct {
		Templating struct {
			List []struct {
				Query json.RawMessage `json:"query"`
			} `json:"list"`
		} `json:"templating"`
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Expr string `json:"expr"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	for file, into := range map[string]any{"config/grafana/dashboard.json": &dashboard, "config/prometheus/rules.yaml": &rules} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(content, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var found []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found = append(found, target.Expr)
		}
	}
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			found = append(found, rule.Expr)
		}
	}
	return found
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	window   = regexp.MustCompile(`\[[^]]*\]`)
	selector = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	called   = regexp.MustCompile(`[a-zA-Z_]\w*\s*\(`)
	name     = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	keywords = []string{"and", "or", "unless", "by", "without", "offset", "bool"}
)

// uses returns the metrics that a query names, and for each the labels: those of its selectors, and those that the query
// groups by. It reads what our queries are made of; promtool parses those of the alerts in full.
func uses(query string) map[string][]string {
	found := map[string][]string{}
	query = window.ReplaceAllString(quoted.ReplaceAllString(query, ""), "")
	for _, match := range selector.FindAllStringSubmatch(query, -1) {
		found[match[1]] = append(found[match[1]], "")
		for _, label := range matcher.FindAllStringSubmatch(match[2], -1) {
			found[match[1]] = append(found[match[1]], label[1])
		}
	}
	query = selector.ReplaceAllString(query, "$1")
	var grouped []string
	for _, match := range grouping.FindAllStringSubmatch(query, -1) {
		grouped = append(grouped, name.FindAllString(match[1], -1)...)
	}
	query = called.ReplaceAllString(grouping.ReplaceAllString(query, ""), "(")
	for _, metric := range name.FindAllString(query, -1) {
		if !slices.Contains(keywords, metric) {
			found[metric] = append(found[metric], grouped...)
		}
	}
	for metric, labels := range found {
		slices.Sort(labels)
		found[metric] = slices.DeleteFunc(slices.Compact(labels), func(label string) bool { return label == "" })
	}
	return found
}

func TestUses(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`absent(a)`: `{"a":null}`,
		`time() - min by (reason) (a{reason!~"b|c", job="d"}) > 15 * 60`:                 `{"a":["job","reason"]}`,
		`histogram_quantile(0.9, sum by (le) (rate(a_bucket{x="}"}[$__rate_interval])))`: `{"a_bucket":["le","x"]}`,
		`a / on (pod) b unless c`: `{"a":["pod"],"b":["pod"],"c":["pod"]}`,
	} {
		got, err := json.Marshal(uses(query))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", query, got, err, want)
		}
	}
}

// labelsOf returns the labels of each series name that is exposed, with those that Prometheus adds.
func labelsOf(families map[string]*dto.MetricFamily) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	for family, metrics := range families {
		labels := map[string]bool{"job": true, "instance": true, "namespace": true, "pod": true, "service": true}
		for _, metric := range metrics.GetMetric() {
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = true
			}
		}
		if metrics.GetType() != dto.MetricType_HISTOGRAM {
			found[family] = labels
			continue
		}
		bucket := maps.Clone(labels)
		bucket["le"] = true
		found[family+"_bucket"], found[family+"_sum"], found[family+"_count"] = bucket, labels, labels
	}
	return found
}

func TestDashboardAndAlertsAskForWhatTheOperatorExposes(t *testing.T) {
	t.Parallel()
	install(t) // not ready, because there is no kubelet, and so with all metrics
	found, asked := labelsOf(exposed(t)), queries(t)
	for _, query := range asked {
		metrics := uses(query)
		if len(metrics) == 0 {
			t.Errorf("no metric in %s", query)
		}
		for metric, labels := range metrics {
			for _, label := range labels {
				if found[metric] != nil && !found[metric][label] {
					t.Errorf("%s has no label %s, of which speaks %s", metric, label, query)
				}
			}
			if found[metric] == nil {
				t.Errorf("the operator exposes no %s, of which speaks %s", metric, query)
			}
		}
	}
	if len(asked) < 20 {
		t.Errorf("found only %d queries: the test no longer sees them", len(asked))
	}
}

func TestEveryMetricIsInTheDocumentation(t *testing.T) {
	t.Parallel()
	install(t, func(c *v1alpha1.Collector) { c.Spec.Flow = &v1alpha1.Flow{} })
	NewWithT(t).Eventually(func() any { return exposed(t) }).Should(HaveKey("kube8_flow_queued_items"))
	content, err := os.ReadFile("docs/how-to/monitor.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(kube8_\\w+)` \\|").FindAllStringSubmatch(string(content), -1) {
		documented[match[1]] = true
	}
	for metric := range exposed(t) {
		if strings.HasPrefix(metric, "kube8_") && !documented[metric] {
			t.Errorf("docs/how-to/monitor.md says nothing of %s", metric)
		}
		delete(documented, metric)
	}
	for metric := range documented {
		t.Errorf("docs/how-to/monitor.md speaks of %s, which is not exposed", metric)
	}
}
