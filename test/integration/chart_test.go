package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// helmed is a control plane without the CRD, and Helm.
type helmed struct {
	client.Client
	*action.Configuration
	env *envtest.Environment
}

const chartRelease = "kube8-operator"

// startHelm starts one whose API server has further flags, each a name and a value.
func startHelm(t *testing.T, flags ...[2]string) helmed {
	t.Helper()
	env := newEnvironment()
	env.CRDInstallOptions = envtest.CRDInstallOptions{}
	for _, flag := range flags {
		env.ControlPlane.GetAPIServer().Configure().Append(flag[0], flag[1])
	}
	config := start(t, env)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	settings := cli.New()
	settings.KubeConfig = file
	settings.SetNamespace(systemNamespace)
	h := helmed{Configuration: &action.Configuration{}, env: env}
	if err := h.Init(settings.RESTClientGetter(), systemNamespace, "secret", t.Logf); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if h.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return h
}

// operatorChart returns the operator's chart.
func operatorChart(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.LoadDir("helm-charts/kube8-operator")
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func (h helmed) install(t *testing.T, operator *chart.Chart, values map[string]any) {
	t.Helper()
	install := action.NewInstall(h.Configuration)
	install.ReleaseName, install.Namespace, install.CreateNamespace = chartRelease, systemNamespace, true
	if _, err := install.Run(operator, values); err != nil {
		t.Fatal(err)
	}
}

func (h helmed) upgrade(t *testing.T, values map[string]any) {
	t.Helper()
	upgrade := action.NewUpgrade(h.Configuration)
	upgrade.Namespace = systemNamespace
	if _, err := upgrade.Run(chartRelease, operatorChart(t), values); err != nil {
		t.Fatal(err)
	}
}

// deployment returns the operator's.
func (h helmed) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	found := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: systemNamespace, Name: "kube8-operator-controller-manager"}
	if err := h.Get(t.Context(), key, found); err != nil {
		t.Fatal(err)
	}
	return found
}

// crd returns the Collectors' CRD.
func (h helmed) crd(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	found := &apiextensionsv1.CustomResourceDefinition{}
	if err := h.Get(t.Context(), client.ObjectKey{Name: "collectors.kube8.dev"}, found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHelmInstallsUpgradesAndRemovesTheOperator(t *testing.T) {
	t.Parallel()
	g, h := NewWithT(t), startHelm(t)

	before := operatorChart(t)
	for _, file := range before.Files {
		if file.Name == "files/operator.yaml" { // as an earlier version has the CRD
			file.Data = []byte(strings.Replace(string(file.Data), "shortNames:\n    - col\n", "shortNames:\n    - old\n", 1))
		}
	}
	h.install(t, before, nil)
	g.Expect(h.deployment(t).Spec.Template.Spec.Containers[0].Image).To(Equal("ghcr.io/kube8/kube8-operator:" + before.Metadata.AppVersion))
	g.Expect(h.crd(t).Spec.Names.ShortNames).To(Equal([]string{"old"}))

	h.upgrade(t, map[string]any{"image": map[string]any{"tag": "dev"}})
	g.Expect(h.crd(t).Spec.Names.ShortNames).To(Equal([]string{"col"}), "Helm upgrades the CRD")
	upgraded := h.deployment(t)
	g.Expect(upgraded.Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":dev"))
	g.Eventually(func() []string { return h.crd(t).Status.AcceptedNames.ShortNames }).Should(Equal([]string{"col"}), "the API server has accepted them")
	crd := h.crd(t).ResourceVersion
	h.upgrade(t, map[string]any{"image": map[string]any{"tag": "dev"}})
	g.Expect(h.deployment(t).ResourceVersion).To(Equal(upgraded.ResourceVersion), "a second upgrade changes nothing")
	g.Expect(h.crd(t).ResourceVersion).To(Equal(crd))

	rollback := action.NewRollback(h.Configuration)
	rollback.Version = 1
	g.Expect(rollback.Run(chartRelease)).To(Succeed())
	g.Expect(h.deployment(t).Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":" + before.Metadata.AppVersion))

	g.Expect(h.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}})).To(Succeed())
	collector := newCollector("team-a", "gateway")
	g.Eventually(func() error { return client.IgnoreAlreadyExists(h.Create(t.Context(), collector)) }).Should(Succeed())
	said, err := action.NewUninstall(h.Configuration).Run(chartRelease)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(said.Info).To(ContainSubstring("[CustomResourceDefinition] collectors.kube8.dev"), "what stays")
	g.Expect(h.Get(t.Context(), client.ObjectKeyFromObject(collector), &v1alpha1.Collector{})).To(Succeed())
	err = h.Get(t.Context(), client.ObjectKeyFromObject(upgraded), &appsv1.Deployment{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the operator has gone: %v", err)

	h.install(t, operatorChart(t), nil) // over the CRD that has stayed
}

func TestHelmInstallsTheOperatorForSomeNamespaces(t *testing.T) {
	t.Parallel()
	g, h := NewWithT(t), startHelm(t)
	h.install(t, operatorChart(t), nil)
	for _, name := range []string{"team-a", "team-b"} {
		g.Expect(h.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	h.upgrade(t, map[string]any{"watchNamespaces": []any{"team-a", "team-b"}})
	kinds := []string{}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: kind + "List"}}
		g.Expect(h.List(t.Context(), list, client.MatchingLabels{"app.kubernetes.io/managed-by": "Helm"})).To(Succeed())
		for _, object := range list.Items {
			if object.Namespace != systemNamespace {
				kinds = append(kinds, kind+" "+object.Namespace)
			}
		}
	}
	slices.Sort(kinds)
	g.Expect(kinds).To(Equal([]string{"Role team-a", "Role team-b", "RoleBinding team-a", "RoleBinding team-b"}), "no right in the cluster")
}
