package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// helm is an action client whose every action ends with the same error, or none.
type helm struct {
	helmclient.ActionInterface
	err error
}

func (h helm) Get(string, ...helmclient.GetOption) (*release.Release, error) { return nil, h.err }

func (h helm) Install(string, string, *chart.Chart, map[string]any, ...helmclient.InstallOption) (*release.Release, error) {
	return nil, h.err
}

func (h helm) Upgrade(string, string, *chart.Chart, map[string]any, ...helmclient.UpgradeOption) (*release.Release, error) {
	return nil, h.err
}

func (h helm) Reconcile(*release.Release) error { return h.err }

func (h helm) Uninstall(string, ...helmclient.UninstallOption) (*release.UninstallReleaseResponse, error) {
	return nil, h.err
}

// The calls of the stock reconciler, by name.
var calls = map[string]func(helmclient.ActionInterface) error{
	"get": func(c helmclient.ActionInterface) error { _, err := c.Get("a"); return err },
	"install": func(c helmclient.ActionInterface) error {
		_, err := c.Install("a", "b", nil, nil)
		return err
	},
	"dry run": func(c helmclient.ActionInterface) error {
		_, err := c.Upgrade("a", "b", nil, nil, func(u *action.Upgrade) error { u.DryRun = true; return nil })
		return err
	},
	"upgrade": func(c helmclient.ActionInterface) error {
		_, err := c.Upgrade("a", "b", nil, nil)
		return err
	},
	"repair":    func(c helmclient.ActionInterface) error { return c.Reconcile(nil) },
	"uninstall": func(c helmclient.ActionInterface) error { _, err := c.Uninstall("a"); return err },
}

func TestPassesAndActionsAreCountedByHowTheyEnd(t *testing.T) {
	errBroken := errors.New("broken")
	refused := fmt.Errorf("render: %w", &postrender.ConfigurationError{})
	tests := map[string]struct {
		calls        []string
		err          error
		pass, action string // the labels of what is counted once; nothing else is
	}{
		"an install":                              {calls: []string{"get", "install"}, pass: full, action: "install success"},
		"an upgrade":                              {calls: []string{"get", "dry run", "upgrade"}, pass: full, action: "upgrade success"},
		"a pass that finds nothing to upgrade":    {calls: []string{"get", "dry run", "repair"}, pass: full},
		"an uninstall":                            {calls: []string{"get", "uninstall"}, pass: full, action: "uninstall success"},
		"an uninstall of a release that has gone": {calls: []string{"uninstall"}, err: driver.ErrReleaseNotFound, pass: full},
		"a release that cannot be read, which counts once": {calls: []string{"get", "get"}, err: errBroken, pass: failed},
		"an install that fails":                            {calls: []string{"install"}, err: errBroken, pass: failed, action: "install failure"},
		"an install whose configuration is rejected":       {calls: []string{"install"}, err: refused, pass: failed, action: "install rejected"},
		"an upgrade that its dry run rejects":              {calls: []string{"dry run"}, err: refused, pass: failed, action: "upgrade rejected"},
		"a repair that fails":                              {calls: []string{"repair"}, err: errBroken, pass: failed},
		"an uninstall that fails after a get that did":     {calls: []string{"get", "uninstall"}, err: errBroken, pass: failed, action: "uninstall failure"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := New()
			getter := m.ActionClients(helmclient.ActionClientGetterFunc(func(context.Context, client.Object) (helmclient.ActionInterface, error) {
				return helm{err: test.err}, nil
			}))
			actions, err := getter.ActionClientFor(t.Context(), &unstructured.Unstructured{})
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range test.calls {
				if err := calls[call](actions); !errors.Is(err, test.err) {
					t.Errorf("%s: error %v, want what Helm returned", call, err)
				}
			}
			checkCounts(t, m, test.pass, test.action)
		})
	}
}

func TestAPassWithoutAClientFails(t *testing.T) {
	m := New()
	getter := m.ActionClients(helmclient.ActionClientGetterFunc(func(context.Context, client.Object) (helmclient.ActionInterface, error) {
		return nil, errors.New("broken")
	}))
	if _, err := getter.ActionClientFor(t.Context(), &unstructured.Unstructured{}); err == nil {
		t.Error("no error")
	}
	checkCounts(t, m, failed, "")
}

// checkCounts checks that one pass has ended so, and one action, unless it is empty.
func checkCounts(t *testing.T, m *Metrics, pass, action string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			var values []string
			for _, label := range series.GetLabel() { // sorted by name: action, result
				values = append(values, label.GetValue())
			}
			got, labels := series.GetCounter().GetValue(), strings.Join(values, " ")
			if family.GetName() == "kube8_pass_duration_seconds" {
				got = float64(series.GetHistogram().GetSampleCount())
			}
			want := 0.0
			if labels != "" && (labels == pass || labels == action) {
				want = 1
			}
			if got != want {
				t.Errorf("%s{%s}: %v, want %v", family.GetName(), labels, got, want)
			}
		}
	}
}

func TestRepairsAndUnlocksAreCountedByTheirEvents(t *testing.T) {
	m := New()
	events := record.NewFakeRecorder(3)
	recorder := m.Events(events)
	for _, reason := range []string{"DriftRepaired", "Unlocked", "Upgraded"} {
		recorder.Eventf(&unstructured.Unstructured{}, "Normal", reason, "revision %d", 2)
		if got, want := <-events.Events, "Normal "+reason+" revision 2"; got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
	for reason, counter := range m.events {
		if got := testutil.ToFloat64(counter); got != 1 {
			t.Errorf("%s: %v, want 1", reason, got)
		}
	}
}
