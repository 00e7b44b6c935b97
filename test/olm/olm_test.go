//go:build e2e

package olm

import (
	"context"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// suites are the tests that go on from one subtest to the next, by what the table calls them.
var suites = map[string]string{"TestOLM": "OLM end to end", "TestOLMV1": "OLM v1 end to end"}

// begin has a test or a subtest in the table.
func begin(t *testing.T) {
	t.Helper()
	test, _, within := strings.Cut(t.Name(), "/")
	if !within {
		report(t, suites[test], "as a whole")
		return
	}
	report(t, suites[test], strings.ReplaceAll(path.Base(t.Name()), "_", " "))
}

// Each subtest goes on where the one before it ended.
func TestOLM(t *testing.T) {
	const tenant = "kube8-olm-tenant"
	begin(t)
	olm, first, second := images(t)
	awaitTurn(t)
	installOLM(t, olm)
	namespace(t, systemNamespace)
	namespace(t, tenant)
	dumpOnFailure(t, olmNamespace, systemNamespace, tenant)
	var before string

	_ = t.Run("OLM installs the operator from the catalog, for all namespaces", func(t *testing.T) {
		begin(t)
		serve(t, first)
		subscribe(t, systemNamespace)
		awaitInstalled(t, systemNamespace, previous)
	}) && t.Run("a Collector becomes ready", func(t *testing.T) {
		begin(t)
		createExample(t, tenant)
		awaitReady(t, tenant)
		NewWithT(t).Eventually(jsonPath(t, "{.status.readyReplicas}", "collector", exampleName, "-n", tenant)).
			Should(Equal("2"), "ready pods, when the example's autoscaler has looked at it")
		before = running(t, tenant)
	}) && t.Run("the catalog offers the next version, and OLM upgrades the operator", func(t *testing.T) {
		begin(t)
		serve(t, second)
		awaitInstalled(t, systemNamespace, version(t))
		image := must(t, "get", "deployment", operatorName, "-n", systemNamespace, "--output=jsonpath={.spec.template.spec.containers[0].image}")
		NewWithT(t).Expect(image).To(Equal(os.Getenv("IMG")))
	}) && t.Run("the collector keeps running through the upgrade, and stays ready", func(t *testing.T) {
		begin(t)
		awaitLeader(t, systemNamespace)
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before))
	}) && t.Run("the status follows a change that is made after the upgrade", func(t *testing.T) {
		begin(t)
		must(t, "patch", "collector", exampleName, "-n", tenant, "--type=merge", `--patch={"spec": {"autoscaling": {"minReplicas": 3}}}`)
		NewWithT(t).Eventually(jsonPath(t, "{.status.replicas} {.status.readyReplicas} {.status.observedGeneration}",
			"collector", exampleName, "-n", tenant)).Should(Equal("3 3 2"), "pods, ready pods and generation in the status")
		before = running(t, tenant)
	}) && t.Run("uninstalling removes the operator, and says which Collectors remain", func(t *testing.T) {
		begin(t)
		out := uninstall(t, systemNamespace)
		NewWithT(t).Expect(out).To(ContainSubstring(tenant + "/" + exampleName))
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before), "the collector that remains")
	}) && t.Run("an operator that is installed again takes the remaining Collectors over", func(t *testing.T) {
		begin(t)
		subscribe(t, systemNamespace)
		awaitInstalled(t, systemNamespace, version(t))
		awaitLeader(t, systemNamespace)
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before))
		remove(t, "collector", exampleName, "-n", tenant)
		uninstall(t, systemNamespace)
	}) && t.Run("install modes", testInstallModes)
}

// testInstallModes installs the operator three times beside each other, each for some namespaces only, and has a Collector in each of
// them and in another one.
func testInstallModes(t *testing.T) {
	for _, mode := range []struct {
		name, own string
		targets   []string
	}{
		{"OwnNamespace", "kube8-olm-own", []string{"kube8-olm-own"}},
		{"SingleNamespace", "kube8-olm-single", []string{"kube8-olm-one"}},
		{"MultiNamespace", "kube8-olm-multi", []string{"kube8-olm-two", "kube8-olm-three"}},
	} {
		t.Run("install mode "+mode.name+": Collectors become ready there and nowhere else", func(t *testing.T) {
			begin(t)
			t.Parallel()
			other := mode.own + "-other"
			all := append([]string{mode.own, other}, mode.targets...)
			for _, name := range all {
				namespace(t, name)
			}
			dumpOnFailure(t, all...)
			t.Cleanup(func() { uninstall(t, mode.own) })
			subscribe(t, mode.own, mode.targets...)
			awaitInstalled(t, mode.own, version(t))
			createExample(t, other)
			for _, target := range mode.targets {
				createExample(t, target)
			}
			for _, target := range mode.targets {
				awaitReady(t, target)
			}
			expectUntouched(t, other)
			for _, target := range append(mode.targets, other) {
				remove(t, "collector", exampleName, "-n", target)
			}
		})
	}
}

// expectUntouched fails unless the status of the namespace's Collector is the CRD's default, and the Collector has no finalizer.
func expectUntouched(t *testing.T, namespace string) {
	t.Helper()
	NewWithT(t).Expect(must(t, "get", "collector", exampleName, "-n", namespace, "--output=jsonpath={.status}{.metadata.finalizers}")).
		To(Equal(`{"observedGeneration":-1}`), "status and finalizers of a Collector in a namespace that the operator does not watch")
}

func awaitReady(t *testing.T, namespace string) {
	t.Helper()
	NewWithT(t).Eventually(jsonPath(t, `{.status.conditions[?(@.type=="Ready")].status}`, "collector", exampleName, "-n", namespace)).
		Should(Equal("True"), "the Collector's condition Ready")
}

// awaitLeader waits until the operator's newest pod is the one that works.
func awaitLeader(t *testing.T, namespace string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		pod, err := kubectl(t.Context(), "get", "pods", "-n", namespace, "-l", "control-plane=controller-manager", "--output=jsonpath={.items[*].metadata.name}")
		g.Expect(err).NotTo(HaveOccurred())
		holder, err := kubectl(t.Context(), "get", "lease", "kube8-operator", "-n", namespace, "--output=jsonpath={.spec.holderIdentity}")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod).NotTo(BeEmpty())
		g.Expect(holder).To(HavePrefix(pod + "_"))
	}).Should(Succeed())
}

// running says which pods a Collector has, how often each was restarted, and since when it is ready.
func running(t *testing.T, namespace string) string {
	t.Helper()
	return must(t, "get", "pods", "-n", namespace, "-l", "kube8.dev/collector="+exampleName, "--sort-by=.metadata.name",
		"--output=jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount};{end}") +
		must(t, "get", "collector", exampleName, "-n", namespace,
			`--output=jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} since {.lastTransitionTime}{end}`)
}

// uninstall removes the operator as users do, and returns what they are told.
func uninstall(t *testing.T, namespace string) string {
	t.Helper()
	out, err := exec.Command("make", "--no-print-directory", "undeploy-olm", "OLM_NAMESPACE="+namespace, "KEEP_COLLECTORS=1").CombinedOutput()
	if err != nil {
		t.Errorf("make undeploy-olm: %v\n%s", err, out)
	}
	NewWithT(t).Eventually(func() (string, error) {
		return kubectl(context.Background(), "get", "subscriptions,csv,deployments,pods", "-n", namespace,
			"-l", "kube8.dev/collector!="+exampleName, "--output=name")
	}).Should(BeEmpty(), "what is left of the operator")
	return string(out)
}
