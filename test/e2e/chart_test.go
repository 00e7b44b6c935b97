//go:build e2e

package e2e

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
)

// Not parallel: the chart's operator works alone, in a namespace of its own.
func TestTheChartInstallsAnOperatorThatHelmTestFindsAtWork(t *testing.T) {
	home, tenant := newNamespace(t, "restricted"), newNamespace(t, "restricted")
	scaleOperator(t, 0)
	t.Cleanup(func() { scaleOperator(t, 1) })
	g := NewWithT(t)
	operator, err := loader.LoadDir("helm-charts/kube8-operator")
	g.Expect(err).NotTo(HaveOccurred())
	settings := cli.New()
	settings.SetNamespace(home)
	helm := &action.Configuration{}
	g.Expect(helm.Init(settings.RESTClientGetter(), home, "secret", t.Logf)).To(Succeed())

	repository, tag, _ := strings.Cut(cmp.Or(os.Getenv("IMG"), "ghcr.io/kube8/kube8-operator:"+operator.Metadata.AppVersion), ":")
	install := action.NewInstall(helm)
	install.ReleaseName, install.Namespace, install.Wait, install.Timeout = "kube8-operator", home, true, 2*time.Minute
	_, err = install.Run(operator, map[string]any{
		"image":           map[string]any{"repository": repository, "tag": tag},
		"watchNamespaces": []any{tenant},
		"crds":            map[string]any{"install": false}, // make deploy has
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		defer losingRights()()
		if _, err := action.NewUninstall(helm).Run("kube8-operator"); err != nil {
			t.Error(err)
		}
		awaitOperators(t, home, 0)
	})
	awaitOperators(t, home, 1)

	test := action.NewReleaseTesting(helm)
	test.Namespace, test.Timeout = home, 2*time.Minute
	released, err := test.Run("kube8-operator")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(released.Hooks).To(ContainElement(HaveField("LastRun.Phase", BeEquivalentTo("Succeeded"))), "the kubelet ran the test's pod")

	collector := newCollector(tenant, "gateway", printing("basic"))
	create(t, collector)
	awaitReady(t, collector)
	removeCollectors(t, tenant)
}
