//go:build e2e

package olm

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const suiteName = "OLM end to end"

// step is a subtest that the later ones build on.
func step(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	if !t.Run(name, func(t *testing.T) {
		report(t, suiteName, name)
		test(t)
	}) {
		t.FailNow()
	}
}

func TestOLM(t *testing.T) {
	const tenant = "kube8-olm-tenant"
	olm, first, second := images(t)
	installOLM(t, olm)
	namespace(t, systemNamespace)
	namespace(t, tenant)
	dumpOnFailure(t, olmNamespace, systemNamespace, tenant)

	step(t, "OLM installs the operator from the catalog, for all namespaces", func(t *testing.T) {
		serve(t, first)
		subscribe(t, systemNamespace)
		awaitInstalled(t, systemNamespace, previous)
	})
	step(t, "a Collector becomes ready", func(t *testing.T) {
		createExample(t, tenant)
		awaitReady(t, tenant)
	})
	var before string
	step(t, "the catalog offers the next version, and OLM upgrades the operator", func(t *testing.T) {
		before = running(t, tenant)
		serve(t, second)
		awaitInstalled(t, systemNamespace, version(t))
		image := must(t, "get", "deployment", operatorName, "-n", systemNamespace, "--output=jsonpath={.spec.template.spec.containers[0].image}")
		NewWithT(t).Expect(image).To(Equal(os.Getenv("IMG")))
	})
	step(t, "the collector keeps running through the upgrade, and stays ready", func(t *testing.T) {
		awaitLeader(t, systemNamespace)
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before))
	})
	step(t, "the status follows a change that is made after the upgrade", func(t *testing.T) {
		must(t, "patch", "collector", exampleName, "-n", tenant, "--type=merge", `--patch={"spec": {"replicas": 2}}`)
		NewWithT(t).Eventually(jsonPath(t, "{.status.replicas} {.status.readyReplicas} {.status.observedGeneration}",
			"collector", exampleName, "-n", tenant)).Should(Equal("2 2 2"), "pods, ready pods and generation in the status")
	})
	step(t, "uninstalling removes the operator, and says which Collectors remain", func(t *testing.T) {
		before := running(t, tenant)
		out := uninstall(t, systemNamespace)
		NewWithT(t).Expect(out).To(ContainSubstring("Collectors that still exist: 1."))
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before), "the collector that remains")
	})
	step(t, "an operator that is installed again takes the remaining Collectors over", func(t *testing.T) {
		before := running(t, tenant)
		subscribe(t, systemNamespace)
		awaitInstalled(t, systemNamespace, version(t))
		awaitLeader(t, systemNamespace)
		NewWithT(t).Expect(running(t, tenant)).To(Equal(before))
		remove(t, "collector", exampleName, "-n", tenant)
		uninstall(t, systemNamespace)
	})
	installModes(t)
}

// installModes installs the operator for some namespaces only, and has a Collector in each of them and in another one.
func installModes(t *testing.T) {
	const own, one, two, other = "kube8-olm-own", "kube8-olm-one", "kube8-olm-two", "kube8-olm-other"
	for _, mode := range []struct {
		name    string
		targets []string
	}{
		{"OwnNamespace", []string{own}},
		{"SingleNamespace", []string{one}},
		{"MultiNamespace", []string{one, two}},
	} {
		step(t, "install mode "+mode.name+": Collectors become ready there and nowhere else", func(t *testing.T) {
			for _, name := range []string{own, one, two, other} {
				namespace(t, name)
			}
			dumpOnFailure(t, own, one, two, other)
			t.Cleanup(func() { uninstall(t, own) })
			subscribe(t, own, mode.targets...)
			awaitInstalled(t, own, version(t))
			createExample(t, other)
			for _, target := range mode.targets {
				createExample(t, target)
			}
			for _, target := range mode.targets {
				awaitReady(t, target)
			}
			NewWithT(t).Expect(must(t, "get", "collector", exampleName, "-n", other, "--output=jsonpath={.status}{.metadata.finalizers}")).
				To(BeEmpty(), "what the operator says of a Collector that is not its business")
			for _, target := range append(mode.targets, other) {
				remove(t, "collector", exampleName, "-n", target)
			}
		})
	}
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
	left, err := exec.Command(os.Getenv("KUBECTL"), "get", "deployments,subscriptions,csv", "-n", namespace, "--output=name").CombinedOutput()
	if err != nil || strings.TrimSpace(string(left)) != "" {
		t.Errorf("left of the operator: %s %v", left, err)
	}
	return string(out)
}
