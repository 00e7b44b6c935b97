// Package rules checks the alerts: those about the operator, and those that the chart has for a collector. What needs
// Prometheus's promtool has the build tag promtool; `make lint` runs it where that is installed, and CI always.
package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const runbooks = "../../docs/runbooks/"

// sources are the files with the rules, by the name of their unit tests in testdata.
var sources = map[string]string{
	"operator":  "../../config/prometheus/rules.yaml",
	"collector": "../../helm-charts/collector/ci/golden/gateway.yaml",
}

// group is a group of rules, as Prometheus and its operator have it.
type group struct {
	Name  string `json:"name"`
	Rules []struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		For         string            `json:"for,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	} `json:"rules"`
}

// read returns the groups of the PrometheusRule in a file.
func read(t *testing.T, file string) []group {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var rule struct {
			Kind string `json:"kind"`
			Spec struct {
				Groups []group `json:"groups"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(document), &rule); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if rule.Kind == "PrometheusRule" {
			return rule.Spec.Groups
		}
	}
	t.Fatalf("%s: no PrometheusRule", file)
	return nil
}

// A release also fails where a check has no verdict, or the operator's change is refused. Ready then says no ReleaseFailed.
func TestTheRunbookOfFailingReleasesFindsThemAll(t *testing.T) {
	content, err := os.ReadFile(runbooks + "Kube8ReleasesFailing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{v1alpha1.ReasonReleaseFailed, v1alpha1.ReasonConflict, v1alpha1.ReasonCheckFailed, v1alpha1.ReasonRefused} {
		if !strings.Contains(string(content), "|"+reason) && !strings.Contains(string(content), "'"+reason) {
			t.Errorf("no command finds a Collector with the reason %s", reason)
		}
	}
}

// Any program may have a metric of Go or of controller-runtime, so "All" are the jobs that Grafana finds with a metric of an operator.
func TestTheOperatorsDashboardShowsTheJobsOfOperatorsOnly(t *testing.T) {
	content, err := os.ReadFile("../../config/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Templating struct {
			List []struct {
				Name     string `json:"name"`
				AllValue string `json:"allValue"`
				Query    any    `json:"query"`
			} `json:"list"`
		} `json:"templating"`
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, variable := range dashboard.Templating.List {
		if variable.Name != "job" {
			continue
		}
		query, _ := variable.Query.(map[string]any)
		if text, _ := query["query"].(string); !strings.HasPrefix(text, "label_values(kube8_") || variable.AllValue != "" {
			t.Errorf("the variable job has the values of %q, and all of them are %q", text, variable.AllValue)
		}
		return
	}
	t.Error("the dashboard has no variable job")
}

func TestEveryAlertHasARunbookAndEveryRunbookAnAlert(t *testing.T) {
	alerts := map[string]bool{}
	for _, file := range sources {
		for _, group := range read(t, file) {
			for _, rule := range group.Rules {
				alerts[rule.Alert+".md"] = true
				want := "https://github.com/kube8/kube8-operator/blob/main/docs/runbooks/" + rule.Alert + ".md"
				if got := rule.Annotations["runbook_url"]; got != want {
					t.Errorf("%s: runbook_url %q, want %q", rule.Alert, got, want)
				}
				for _, text := range []string{rule.Annotations["summary"], rule.Annotations["description"], rule.Labels["severity"]} {
					if text == "" {
						t.Errorf("%s: needs summary, description and severity", rule.Alert)
					}
				}
			}
		}
	}
	for alert := range alerts {
		content, err := os.ReadFile(runbooks + alert)
		if err != nil {
			t.Errorf("an alert without a runbook: %v", err)
			continue
		}
		for _, heading := range []string{"# " + strings.TrimSuffix(alert, ".md"), "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"} {
			if !strings.Contains("\n"+string(content), "\n"+heading+"\n") {
				t.Errorf("docs/runbooks/%s: no heading %q", alert, heading)
			}
		}
	}
	files, err := filepath.Glob(runbooks + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !alerts[filepath.Base(file)] {
			t.Errorf("%s: there is no such alert", file)
		}
	}
}
