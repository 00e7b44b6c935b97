package integration

import (
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// follow runs commands of a page, in the folder of the plugin and in a namespace that the page calls tenant-acme.
func (p *plugin) follow(namespace, script string, err error) string {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), "bash", "-euxo", "pipefail", "-c", strings.ReplaceAll(script, "tenant-acme", namespace))
	cmd.Env, cmd.Dir = p.env, p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestAReleaseOfTheChartBecomesACollector(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	collector := newCollector(namespace, "gateway")
	secrets := kubernetes.NewForConfigOrDie(plane.env.Config).CoreV1().Secrets(namespace)
	err := storage.Init(driver.NewSecrets(secrets)).Create(&release.Release{
		Name: "otel", Namespace: namespace, Version: 1, Info: &release.Info{Status: release.StatusDeployed},
		Chart: &chart.Chart{
			Metadata: &chart.Metadata{Name: "opentelemetry-collector", Version: "0.130.0", AppVersion: "0.150.0"},
			Values:   map[string]any{"mode": "deployment", "image": map[string]any{"repository": "otel/opentelemetry-collector", "tag": ""}},
		},
		Config:   map[string]any{"replicaCount": 2, "extraManifests": []any{"a: b"}},
		Manifest: "apiVersion: v1\nkind: ConfigMap\ndata:\n  relay: |\n    receivers: {}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	p, g := pluginIn(t, namespace), NewWithT(t)
	script, err := docs.Script("docs/how-to/from-a-helm-chart.md", "Write the Collector")
	g.Expect(p.follow(namespace, script, err)).To(ContainSubstring("not carried over: extraManifests"))
	script, err = docs.Script("docs/how-to/from-a-helm-chart.md", "Check it and apply it")
	p.follow(namespace, script, err)
	awaitRevision(t, collector, 1)
	found := specOf(t, collector)
	g.Expect(string(found.Collector.ConfigurationText)).To(Equal("receivers: {}\n"))
	g.Expect(found.Replicas).To(HaveValue(BeEquivalentTo(2)))
}

func TestARepositoryOfCollectors(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	p := pluginIn(t, namespace)
	script, err := docs.Script("docs/how-to/gitops.md", "The repository")
	p.follow(namespace, script, err)
	collector := newCollector(namespace, "gateway")
	awaitRevision(t, collector, 1)
	awaitReady(t, collector, corev1.ConditionFalse, v1alpha1.ReasonProgressing, "")
	g := NewWithT(t)
	g.Expect(string(specOf(t, collector).Collector.ConfigurationText)).To(HavePrefix("extensions: {health_check: "))
	for _, object := range list(t, namespace, "v1", "ConfigMap") {
		g.Expect(object.GetName()).NotTo(HavePrefix("gateway"), "kustomize's ConfigMap is in the cluster")
	}
	script, err = docs.Script("docs/how-to/gitops.md", "Clean up")
	p.follow(namespace, script, err)
	g.Eventually(func() int { return len(list(t, namespace, "apps/v1", "Deployment")) }).Should(BeZero())
}

func TestTheHealthCheckIsAddedToTheSettingsOfArgoCD(t *testing.T) {
	t.Parallel()
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "argocd-cm"}, Data: map[string]string{"url": "https://argocd.example.com"},
	}
	g := NewWithT(t)
	g.Expect(plane.client.Create(t.Context(), settings)).To(Succeed())
	script, err := docs.Script("docs/how-to/gitops.md", "Argo CD")
	runScript(t, ".", strings.ReplaceAll(script, "-n argocd", "-n "+settings.Namespace), err)
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(settings), settings)).To(Succeed())
	g.Expect(settings.Data).To(And(HaveKey("url"), HaveKeyWithValue("resource.customizations.health.kube8.dev_Collector", ContainSubstring("Stalled"))))
}
