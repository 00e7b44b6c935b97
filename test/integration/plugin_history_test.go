package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestThePluginRollsBack(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	p.refuses("nothing to roll back to", "rollback", "gateway", "--yes")
	first := specOf(t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Configuration, c.Spec.Collector.Version = []byte(another), "0.151.0"
	})
	second := specOf(t, collector)
	g.Expect(p.run("history", "gateway")).To(And(MatchRegexp(`(?m)^2 +\w+ +deployed +0\.151\.0 +`+sha256Of(another)[:10]+
		` +unknown +configuration changed \(\d lines\); collector.version: 0\.150\.0 → 0\.151\.0$`),
		MatchRegexp(`(?m)^1 +\w+ +superseded +0\.150\.0 +`+sha256Of(config)[:10]+` +integration\.test \(field manager\) +created$`), Not(ContainSubstring(secret))))

	p.refuses("add --yes", "rollback", "gateway")
	p.refuses("revision 7 is not recorded", "rollback", "gateway", "--revision", "7", "--yes")
	screen := p.open("true", "rollback", "gateway")
	screen.expect("-  version: 0.151.0\n+  version: 0.150.0")
	screen.expect("[y/N]")
	screen.answer("")
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(screen.text()).To(And(ContainSubstring("nothing was changed"), Not(ContainSubstring(secret)), ContainSubstring("SHA-256 "+sha256Of(config)[:10])))
	g.Expect(specOf(t, collector)).To(Equal(second))

	g.Expect(p.run("rollback", "gateway", "--yes")).To(HaveSuffix("collector.kube8.dev/gateway rolled back to the spec of revision 1\n"))
	g.Expect(specOf(t, collector)).To(Equal(first), "the spec itself, so that GitOps sees it")
	awaitRevision(t, collector, 3)
	awaitTold(t, collector)
	g.Expect(p.run("rollback", "gateway", "--revision", "1", "--yes")).To(Equal("collector.kube8.dev/gateway unchanged: its spec is that of revision 1\n"))
	g.Expect(p.run("rollback", "gateway", "--revision", "2", "--yes")).To(ContainSubstring("rolled back"))
	g.Expect(specOf(t, collector)).To(Equal(second))
}

func TestARollbackFromAConfigurationThatWasRefusedReturnsToWhatRuns(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	reconfigure(t, collector, "a: *nobody\n")
	awaitReady(t, collector, "False", "ConfigInvalid", "alias")
	p.run("rollback", "gateway", "--yes")
	g.Expect(string(specOf(t, collector).Collector.Configuration)).To(Equal(config))
	awaitReady(t, collector, "False", "Progressing", "")
}

func TestARollbackOverwritesNobodysChange(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	screen := p.open("true", "rollback", "gateway")
	screen.expect("[y/N]")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.152.0" })
	screen.answer("y")
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(screen.text()).To(ContainSubstring("another client has changed"))
	g.Expect(specOf(t, collector).Collector.Version).To(Equal("0.152.0"))
}

func TestThePluginHasNoUseForRecordsThatAreNotTheCollectors(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	foreign := record(t, collector).DeepCopy()
	foreign.ObjectMeta = metav1.ObjectMeta{Namespace: foreign.Namespace, Name: "sh.helm.release.v1.gateway.v9", Labels: foreign.Labels}
	if err := plane.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	damaged := record(t, collector)
	damaged.Data["release"] = []byte("%")
	if err := plane.client.Update(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	g.Expect(p.run("history", "gateway")).To(HavePrefix("nothing is deployed yet"))
	if err := plane.client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(collector.Namespace), client.MatchingLabels{"owner": "helm"}); err != nil {
		t.Fatal(err)
	}
}

func TestThePluginRefusesToChangeWhatAGitOpsToolManages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		mark func(*v1alpha1.Collector)
		as   string // field manager
		tool string
	}{
		"Flux's Kustomization": {mark: func(c *v1alpha1.Collector) {
			c.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "fleet", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
		}, tool: "Kustomization flux-system/fleet of Flux"},
		"Flux's HelmRelease": {mark: func(c *v1alpha1.Collector) {
			c.Labels = map[string]string{"helm.toolkit.fluxcd.io/name": "fleet", "helm.toolkit.fluxcd.io/namespace": "flux-system"}
		}, tool: "HelmRelease flux-system/fleet of Flux"},
		"Argo CD by annotation": {mark: func(c *v1alpha1.Collector) {
			c.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "fleet:kube8.dev/Collector:tenant-acme/gateway"}
		}, tool: "application fleet of Argo CD"},
		"Argo CD by its field manager": {as: "argocd-controller", tool: "an application of Argo CD"},
		"Flux by its field manager":    {as: "kustomize-controller", tool: "a Kustomization of Flux"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			if row.mark != nil {
				row.mark(collector)
			}
			create(t, collector)
			upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			if row.as != "" {
				c := client.WithFieldOwner(plane.client, row.as)
				if err := c.Patch(t.Context(), collector.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`))); err != nil {
					t.Fatal(err)
				}
				awaitRevision(t, collector, 2)
			}
			p, g := pluginIn(t, collector.Namespace), NewWithT(t)
			p.write("new.yaml", another)
			for _, command := range [][]string{{"rollback", "gateway", "--yes"}, {"config", "set", "gateway", "--from-file", "new.yaml", "--yes"}, {"config", "edit", "gateway", "--yes"}, {"restart", "gateway"}} {
				p.refuses(row.tool+" manages Collector "+collector.Namespace+"/gateway", command...)
			}
			g.Expect(p.run("status", "gateway")).To(MatchRegexp(`Managed by +` + row.tool))
			g.Expect(p.run("rollback", "gateway", "--yes", "--force", "--revision", "1")).To(ContainSubstring("rolled back"))
			g.Expect(specOf(t, collector).Collector.Version).To(Equal("0.150.0"))
		})
	}
}
