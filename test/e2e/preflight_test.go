//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestAPreflightSaysWhatTheCollectorRefusesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	if out, err := makeTarget(t.Context(), "plugin"); err != nil {
		t.Fatalf("make plugin: %v\n%s", err, out)
	}
	namespace := newNamespace(t, "restricted")
	gateway := newCollector(namespace, "gateway", printing("basic"))
	create(t, gateway)
	create(t, newCollector(namespace, "bad", refusedByTheCollector()))
	awaitReady(t, gateway)
	before := podsOf(t, gateway)
	for version, test := range map[string]struct {
		timeout string
		want    []string
	}{
		gateway.Spec.Collector.Version: {"2m", []string{`bad fails exit code 1: .*unknown type: "no_such_exporter"`, `gateway passes $`}},
		"0.0.1":                        {"30s", []string{`bad unknown DeadlineExceeded; .*[Ii]mage`, `gateway unknown DeadlineExceeded; .*[Ii]mage`}},
	} {
		// It ends with another exit code than 0, as the documents say, and tells on standard output.
		out, err := exec.CommandContext(t.Context(), "bin/kubectl-collector", "preflight", "-n", namespace, "--version", version,
			"--timeout", test.timeout, "-o", "json").Output()
		g := NewWithT(t)
		g.Expect(err).To(HaveOccurred())
		var told struct {
			Collectors []struct{ Name, Verdict, Reason string }
		}
		g.Expect(json.Unmarshal(out, &told)).To(Succeed(), string(out))
		g.Expect(told.Collectors).To(HaveLen(len(test.want)))
		for i, one := range told.Collectors {
			g.Expect(strings.Join([]string{one.Name, one.Verdict, one.Reason}, " ")).To(MatchRegexp("^" + test.want[i]))
		}
	}
	g := NewWithT(t)
	g.Expect(uids(podsOf(t, gateway))).To(Equal(uids(before)), "no pod is touched")
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{}} {
		g.Eventually(func() (int, error) {
			err := cluster.List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{"kube8.dev/preflight"})
			found, _ := json.Marshal(list)
			return strings.Count(string(found), "kube8.dev/preflight"), err
		}).Should(BeZero())
	}
}
