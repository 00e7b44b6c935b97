package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// exposed returns what the shared operator exposes, by metric.
func exposed(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(scrapeShared(t)))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns the value of a series, given as name{label="value",…} with sorted labels, or 0. That of a histogram is its
// count.
func value(t *testing.T, series string) float64 {
	t.Helper()
	name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	for _, metric := range exposed(t)[name].GetMetric() {
		var got []string
		for _, label := range metric.GetLabel() {
			got = append(got, label.GetName()+`="`+label.GetValue()+`"`)
		}
		if strings.Join(got, ",") == labels {
			return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return 0
}

// Not parallel: it counts what the shared operator does.
func TestMetricsSayWhatHappens(t *testing.T) {
	collector := newCollector(newNamespace(t), "gateway")
	steps := []struct {
		name string
		do   func()
		more []string // series that are larger by at least 1 afterwards
	}{
		{"a Collector is created", func() { create(t, collector) }, []string{
			`kube8_release_actions_total{action="install",result="success"}`,
			`kube8_pass_duration_seconds{result="full"}`,
			`kube8_collectors{reason="Progressing",status="False"}`,
			`kube8_collectors_unready_since_timestamp_seconds{reason="Progressing"}`,
			`kube8_cache_objects{kind="Collector"}`, `kube8_cache_objects{kind="Deployment"}`,
		}},
		{"nothing is to do", func() { touch(t, collector) }, []string{`kube8_pass_duration_seconds{result="fast"}`}},
		{"it is changed", func() {
			upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version += ".1" })
		}, []string{`kube8_release_actions_total{action="upgrade",result="success"}`}},
		{"an object is deleted", func() {
			want := shape(t, collector)
			if err := plane.client.Delete(t.Context(), get(t, collector, "", &corev1.Service{})); err != nil {
				t.Fatal(err)
			}
			awaitContents(t, collector, want)
		}, []string{`kube8_drift_repairs_total`}},
		{"its configuration is wrong", func() {
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("- a list") })
		}, []string{
			`kube8_release_actions_total{action="upgrade",result="rejected"}`,
			`kube8_pass_duration_seconds{result="error"}`,
			`kube8_collectors{reason="ConfigInvalid",status="False"}`,
		}},
		{"it is deleted", func() { remove(t, collector) }, []string{
			`kube8_release_actions_total{action="uninstall",result="success"}`,
		}},
	}
	for _, series := range []string{
		`kube8_collectors{reason="Progressing",status="False"}`, `kube8_cache_objects{kind="Deployment"}`, `kube8_cache_objects{kind="Collector"}`,
	} {
		NewWithT(t).Eventually(func() float64 { return value(t, series) }).Should(BeZero(), "what tests before have left of %s", series)
	}
	for _, step := range steps {
		before := map[string]float64{}
		for _, series := range step.more {
			before[series] = value(t, series)
		}
		step.do()
		for _, series := range step.more {
			NewWithT(t).Eventually(func() float64 { return value(t, series) }).
				Should(BeNumerically(">=", before[series]+1), "%s, when %s", series, step.name)
		}
	}
}

func TestNoMetricNamesACollector(t *testing.T) {
	t.Parallel()
	collector := installSample(t)
	for name, family := range exposed(t) {
		for _, metric := range family.GetMetric() {
			NewWithT(t).Expect(metric.GetLabel()).NotTo(ContainElement(HaveField("GetValue()", collector.Namespace)), name)
		}
	}
}
