package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// runScript runs commands of a page as an administrator, in a folder, and returns what they print.
func runScript(t *testing.T, dir, script string, err error) string {
	t.Helper()
	return runScriptOn(t, plane.env.KubeConfig, dir, script, err)
}

func runScriptOn(t *testing.T, admin []byte, dir, script string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, admin, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := docs.Shell(t.Context(), script, filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"))
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// installSample creates the sample of which docs/how-to speaks, for a test that is not parallel: its commands work
// on all Collectors that there are.
func installSample(t *testing.T) *v1alpha1.Collector {
	t.Helper()
	text, err := os.ReadFile("config/samples/kube8_v1alpha1_collector.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sample := &v1alpha1.Collector{}
	if err := yaml.UnmarshalStrict(text, sample); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sample.Namespace}}
	if err := client.IgnoreAlreadyExists(plane.client.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			dump(t, sample.Namespace)
		}
		removeAll(t, sample)
	})
	create(t, sample)
	return sample
}

// removeAll deletes the Collectors in a Collector's namespace, and waits until they are gone and the operator is done with
// them: it could not tell one of the same name, created meanwhile, from the one that has to go.
func removeAll(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	collectors := func() ([]v1alpha1.Collector, error) {
		var left v1alpha1.CollectorList
		err := plane.client.List(ctx, &left, client.InNamespace(collector.Namespace))
		return left.Items, err
	}
	if left, err := collectors(); err != nil || len(left) == 0 {
		return
	}
	since := shared.log.mark()
	if err := plane.client.DeleteAllOf(ctx, &v1alpha1.Collector{}, client.InNamespace(collector.Namespace)); err != nil {
		t.Error(err)
	}
	NewWithT(t).Eventually(collectors).Should(BeEmpty())
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
}

func TestTheCommandsOfOperationsLookAtAndPauseACollector(t *testing.T) {
	collector := installSample(t)
	scaleTo(t, collector, 2) // as its HorizontalPodAutoscaler does
	serve(t, collector, 2)
	script, err := docs.Script("docs/how-to/monitor.md", "What to look at")
	out := runScript(t, "", script, err)
	g := NewWithT(t)
	g.Expect(out).To(And(ContainSubstring("collector.kube8.dev/gateway condition met"), ContainSubstring("deployment.apps/gateway")))

	script, err = docs.Script("docs/how-to/roll-out.md", "Pausing a Collector")
	commands := strings.SplitAfter(script, "\n")
	runScript(t, "", commands[0], err)
	awaitPaused(t, collector, corev1.ConditionTrue)
	runScript(t, "", commands[1], err)
	awaitPaused(t, collector, corev1.ConditionFalse)
}

// The cluster is a new one: that of the other tests has the namespace and the CRD.
func TestTheCommandsOfOperationsInstallTheOperatorFromOneFile(t *testing.T) {
	env := newEnvironment()
	env.CRDInstallOptions = envtest.CRDInstallOptions{}
	start(t, env)
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	checkout := t.TempDir() // where the file may be written
	if err := os.Symlink(filepath.Join(root, "config"), filepath.Join(checkout, "config")); err != nil {
		t.Fatal(err)
	}
	script, err := docs.Script("docs/how-to/install.md", "One file")
	out := runScriptOn(t, env.KubeConfig, checkout, script, err)
	NewWithT(t).Expect(out).To(ContainSubstring("deployment.apps/kube8-operator-controller-manager serverside-applied\n"))
}

func TestTheCommandsOfOperationsUpgradeTheCRD(t *testing.T) {
	collector := installSample(t)
	script, err := docs.Script("docs/how-to/install.md", "The CRD alone")
	NewWithT(t).Expect(runScript(t, "", script, err)).To(HaveSuffix(`["v1alpha1"]`))
	awaitTold(t, collector)
}

func TestTheCommandsOfOperationsBringCollectorsBack(t *testing.T) {
	dir := t.TempDir()
	collector := installSample(t)
	change(t, collector, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "example.com/owner", "team: acme\nuid: 1")
	})
	want := became(t, collector)
	script, err := docs.Script("docs/how-to/back-up.md", "Backup")
	runScript(t, dir, script, err)

	removeAll(t, collector)
	script, err = docs.Script("docs/how-to/back-up.md", "Restore")
	runScript(t, dir, script, err)
	awaitRevision(t, collector, 1)
	NewWithT(t).Eventually(func() string { return gocmp.Diff(want, became(t, collector)) }).Should(BeEmpty())
	restored := &v1alpha1.Collector{}
	if err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), restored); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Expect(restored.UID).NotTo(Equal(collector.UID))
	g.Expect(restored.Spec).To(Equal(collector.Spec))
	g.Expect(restored.Annotations).To(HaveKeyWithValue("example.com/owner", "team: acme\nuid: 1"))
}

// became returns what a Collector became, but for whose it is.
func became(t *testing.T, collector *v1alpha1.Collector) map[string]unstructured.Unstructured {
	t.Helper()
	objects := shape(t, collector)
	for _, object := range objects {
		object.SetOwnerReferences(nil)
	}
	return objects
}

func TestTheCommandsOfOperationsRemoveWhatWasRestoredTooMuch(t *testing.T) {
	dir := t.TempDir()
	collector := installSample(t)
	script, err := docs.Script("docs/how-to/back-up.md", "Backup")
	runScript(t, dir, script, err)
	var objects []unstructured.Unstructured
	for _, kind := range [][2]string{{"v1", "Secret"}, {"v1", "Service"}, {"v1", "ServiceAccount"}, {"apps/v1", "Deployment"}} {
		objects = append(objects, list(t, collector.Namespace, kind[0], kind[1])...)
	}

	removeAll(t, collector)
	for _, object := range objects {
		object.SetOwnerReferences(nil)
		object.SetResourceVersion("")
		unstructured.RemoveNestedField(object.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(object.Object, "spec", "clusterIPs")
		if err := client.IgnoreAlreadyExists(plane.client.Create(t.Context(), &object)); err != nil {
			t.Fatal(err)
		}
	}
	script, err = docs.Script("docs/how-to/back-up.md", "Restore")
	runScript(t, dir, script, err)
	awaitReady(t, collector, "False", "Conflict", "")

	script, err = docs.Script("docs/how-to/back-up.md", "Restored too much")
	runScript(t, dir, script, err)
	NewWithT(t).Eventually(func() int { return deployedRevision(t, collector) }, 2*time.Minute).Should(Equal(1))
}

func TestTheCommandsOfSecurityPutThePoliciesInForce(t *testing.T) {
	t.Parallel()
	p := startTenancyPlane(t)
	script, err := docs.Script("docs/explanation/security.md", "Policies for tenants")
	runScriptOn(t, p.kubeconfig, "", script, err)
	const ofAnother = `{spec: {tenant: {reference: other}}}`
	NewWithT(t).Eventually(func() error { return p.try(t, "acme", "{}") }).Should(Succeed())
	NewWithT(t).Eventually(func() error { return p.try(t, "tenant-acme", ofAnother) }).Should(MatchError(ContainSubstring(tenantPolicy)))
	NewWithT(t).Eventually(func() error { return p.try(t, "acme", ofAnother) }).Should(Succeed(), "it has no label")

	script, err = docs.Script("docs/how-to/install.md", "What other pages install")
	runScriptOn(t, p.kubeconfig, "", script, err)
	NewWithT(t).Eventually(func() error { return p.try(t, "tenant-acme", ofAnother) }).Should(Succeed())
	for _, kind := range []string{"ValidatingAdmissionPolicyList", "ValidatingAdmissionPolicyBindingList"} {
		left := &metav1.PartialObjectMetadataList{}
		left.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
		if err := p.client.List(t.Context(), left); err != nil || len(left.Items) > 0 {
			t.Errorf("left: %v %v", left.Items, err)
		}
	}
}
