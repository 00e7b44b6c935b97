//go:build e2e

package olm

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/test/docs"
)

const (
	pageCatalog = "ghcr.io/kube8/kube8-operator-catalog:v0.1.0"
	installer   = "system:serviceaccount:" + systemNamespace + ":kube8-operator-installer"
)

// Each subtest goes on where the one before it ended.
func TestOLMV1(t *testing.T) {
	const tenant = "kube8-olm-v1-tenant"
	begin(t)
	programs, registryImage, first, second := imagesV1(t)
	awaitTurn(t)
	tls := newServing(t)
	serveRegistry(t, registryImage, tls)
	t.Cleanup(func() { removeOLMv1(t) })
	installOLMv1(t, programs, tls, false)
	namespace(t, systemNamespace)
	namespace(t, tenant)
	dumpOnFailure(t, olmV1Namespace, systemNamespace, tenant)
	extension := strings.ReplaceAll(manifests(t, "OLM v1"), pageCatalog, first)
	var before string

	_ = t.Run("a ClusterExtension installs the operator, for all namespaces", func(t *testing.T) {
		begin(t)
		apply(t, extension)
		awaitExtension(t, previous)
	}) && t.Run("a Collector becomes ready", func(t *testing.T) {
		begin(t)
		createExample(t, tenant)
		awaitReady(t, tenant)
		NewWithT(t).Eventually(jsonPath(t, "{.status.readyReplicas}", "collector", exampleName, "-n", tenant)).Should(Equal("2"))
		before = running(t, tenant)
	}) && t.Run("the catalog offers the next version, and OLM v1 upgrades the operator", func(t *testing.T) {
		begin(t)
		extension = strings.ReplaceAll(extension, first, second)
		apply(t, extension)
		awaitExtension(t, version(t))
		awaitLeader(t, systemNamespace)
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before), "the collector that runs")
	}) && t.Run("an extension that is deleted without its objects leaves the operator, and a new one takes it over", func(t *testing.T) {
		begin(t)
		operator := podsOf(t, systemNamespace)
		script, err := docs.Script("docs/how-to/olm.md", "Keep the Collectors")
		runPage(t, script, err)
		apply(t, extension)
		awaitExtension(t, version(t))
		NewWithT(t).Expect(podsOf(t, systemNamespace)).To(Equal(operator), "the operator that runs")
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before), "the collector that runs")
	}) && t.Run("deleting an extension deletes its Collectors, as soon as an operator is installed again", func(t *testing.T) {
		begin(t)
		remove(t, "clusterextension", "kube8-operator")
		NewWithT(t).Eventually(podsOf).WithArguments(t, systemNamespace).Should(BeEmpty(), "pods of the operator")
		NewWithT(t).Eventually(jsonPath(t, "{.metadata.deletionTimestamp}", "collector", exampleName, "-n", tenant)).ShouldNot(BeEmpty())
		NewWithT(t).Expect(podsOf(t, tenant)).NotTo(BeEmpty(), "pods of the collector")
		apply(t, extension)
		NewWithT(t).Eventually(podsOf).WithArguments(t, tenant).Should(BeEmpty(), "pods of the collector")
		awaitExtension(t, version(t))
	}) && t.Run("the ServiceAccount for OLM v1 up to 1.10 may install and remove each object", func(t *testing.T) {
		begin(t)
		apply(t, manifests(t, "OLM v1 up to 1.10"))
		installed := installedObjects(t)
		asInstaller(t, installed, "delete")
		script, err := docs.Script("docs/how-to/olm.md", "Uninstall on OLM v1")
		runPage(t, script, err)
		NewWithT(t).Eventually(jsonPath(t, "{.items[*].metadata.name}", "crd,clusterrole,clusterrolebinding,deployment", "-n", systemNamespace,
			"-l", ownedByExtension)).Should(BeEmpty(), "what is left of the operator")
		asInstaller(t, installed, "apply", "--server-side")
	}) && t.Run("install mode OwnNamespace: Collectors become ready there and nowhere else", func(t *testing.T) {
		begin(t)
		installOLMv1(t, programs, tls, true)
		apply(t, extension)
		must(t, "patch", "clusterextension", "kube8-operator", "--type=merge", "--patch="+manifests(t, "Own namespace"))
		awaitExtension(t, version(t))
		createExample(t, tenant)
		createExample(t, systemNamespace)
		awaitReady(t, systemNamespace)
		expectUntouched(t, tenant)
		for _, namespace := range []string{systemNamespace, tenant} {
			remove(t, "collector", exampleName, "-n", namespace)
		}
	})
}

// ownedByExtension selects what OLM v1 has installed.
const ownedByExtension = "olm.operatorframework.io/owner-kind=ClusterExtension,olm.operatorframework.io/owner-name=kube8-operator"

// installedObjects returns what OLM v1 has installed, as it can be applied again.
func installedObjects(t *testing.T) string {
	t.Helper()
	var list unstructured.UnstructuredList
	text := must(t, "get", "crd,clusterrole,clusterrolebinding,role,rolebinding,serviceaccount,service,deployment", "-n", systemNamespace,
		"-l", ownedByExtension, "--output=json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) < 8 {
		t.Fatalf("OLM v1 has installed %d objects only", len(list.Items))
	}
	for i := range list.Items {
		object := &list.Items[i]
		object.SetOwnerReferences(nil)
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		object.SetUID("")
		delete(object.Object, "status")
	}
	content, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// asInstaller has the API server say whether the ServiceAccount of the page may do something with objects.
func asInstaller(t *testing.T, objects string, args ...string) {
	t.Helper()
	args = append(args, "--as="+installer, "--dry-run=server", "-f", "-")
	cmd := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("KUBECTL"), "kubectl"), args...)
	cmd.Stdin = strings.NewReader(objects)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// runPage runs the commands of a section of docs/how-to/olm.md.
func runPage(t *testing.T, script string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := exec.LookPath(cmp.Or(os.Getenv("KUBECTL"), "kubectl"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := docs.Shell(t.Context(), script, kubectl).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// podsOf returns the pods of a namespace.
func podsOf(t *testing.T, namespace string) string {
	t.Helper()
	return must(t, "get", "pods", "-n", namespace, "--output=jsonpath={.items[*].metadata.uid}")
}

// manifests returns the YAML blocks that a heading of docs/how-to/olm.md has below it, up to the next one.
func manifests(t *testing.T, section string) string {
	t.Helper()
	content, err := os.ReadFile("docs/how-to/olm.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(content), "# "+section+"\n")
	after, _, _ = strings.Cut(after, "\n##")
	var blocks []string
	for _, match := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(after, -1) {
		blocks = append(blocks, match[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("docs/how-to/olm.md has no YAML in a section %q", section)
	}
	return strings.Join(blocks, "---\n")
}

// awaitExtension waits until OLM v1 has installed a version of the operator.
func awaitExtension(t *testing.T, version string) {
	t.Helper()
	NewWithT(t).Eventually(jsonPath(t, `{.status.conditions[?(@.type=="Installed")].status} {.status.install.bundle.version}`,
		"clusterextension", "kube8-operator")).Should(Equal("True "+version), "the extension's condition Installed, and its version")
	must(t, "rollout", "status", "deployment", operatorName, "-n", systemNamespace, "--timeout=2m")
}
