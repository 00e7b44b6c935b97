//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 11: the release before this one is upgraded to this one.

const (
	// beforeTree is where the release before this one is, and beforeImage its image.
	beforeTree  = "bin/before"
	beforeImage = "ghcr.io/kube8/kube8-operator:v0.0.1-before"

	// thisVersion is what is upgraded as long as there is no release: this commit, with a chart that says that it is another.
	thisVersion = "HEAD"
)

// Telemetry is not lost where there is always a pod to take it: in a Deployment, and in a StatefulSet of two pods, as they
// are; in a DaemonSet if its maxSurge lets a node have two pods for a while.
func TestAnUpgradeOfTheOperatorKeepsCollectorsServing(t *testing.T) {
	before := installBefore(t)
	t.Cleanup(func() {
		if t.Failed() { // the tests after this one want this operator
			if err := deploy(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	var collectors []*v1alpha1.Collector
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeDeployment, v1alpha1.ModeDaemonSet, v1alpha1.ModeStatefulSet} {
		collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
		collector.Spec.Mode = mode
		collector.Spec.PodAnnotations = map[string]string{"example.com/team": "telemetry"}
		if mode == v1alpha1.ModeDaemonSet {
			collector.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{
				RollingUpdate: &v1alpha1.RollingUpdate{MaxSurge: new(intstr.FromInt32(1))},
			}
		} else {
			collector.Spec.Replicas = ptr.To[int32](2)
		}
		create(t, collector)
		collectors = append(collectors, collector)
	}
	var clients []*steadyClient
	for _, collector := range collectors {
		client := newClient(t, collector)
		awaitReady(t, collector)
		clients = append(clients, client)
	}
	// Those that send are Collectors too.
	was := map[*v1alpha1.Collector]deployed{}
	for i, c := range clients {
		was[c.collector], was[collectors[i]] = deployedAs(t, c.collector), deployedAs(t, collectors[i])
		c.start(t)
		c.awaitMore(t, 50)
	}

	if err := deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	chart := chartOf(t)
	g := NewWithT(t)
	for collector, old := range was {
		g.Eventually(func() string { return deployedAs(t, collector).chart }).Should(Equal(chart), "the chart of %s", nameOf(collector))
		awaitReady(t, collector)
		now := deployedAs(t, collector)
		if before == thisVersion {
			g.Expect(now.template).To(Equal(old.template), "the pods that %s is to have", nameOf(collector))
		}
		if now.template == old.template {
			g.Expect(now.pods).To(Equal(old.pods), "the pods of %s, which are as they were", nameOf(collector))
			continue
		}
		for pod := range old.pods {
			g.Eventually(func() map[string]int { return deployedAs(t, collector).pods }).ShouldNot(HaveKey(pod), "the pods of %s", nameOf(collector))
		}
	}
	for i, c := range clients {
		c.awaitMore(t, 100)
		sent, failures := c.stop()
		t.Logf("%s: %d requests, %d failures", collectors[i].Spec.Mode, sent, len(failures))
		g.Expect(failures).To(BeEmpty(), "failures among %d requests to %s", sent, nameOf(collectors[i]))
	}
}

func nameOf(collector *v1alpha1.Collector) string {
	return fmt.Sprintf("Collector %s in mode %s", client.ObjectKeyFromObject(collector), collector.Spec.Mode)
}

// deployed is what became of a Collector.
type deployed struct {
	chart    string
	template string         // of its pods
	pods     map[string]int // how often the containers of each were restarted, by the pod's UID
}

func deployedAs(t *testing.T, collector *v1alpha1.Collector) deployed {
	t.Helper()
	var object client.Object
	var template corev1.PodTemplateSpec
	switch collector.Spec.Mode {
	case v1alpha1.ModeDaemonSet:
		o := get(t, collector, &appsv1.DaemonSet{})
		object, template = o, o.Spec.Template
	case v1alpha1.ModeStatefulSet:
		o := get(t, collector, &appsv1.StatefulSet{})
		object, template = o, o.Spec.Template
	default:
		o := get(t, collector, &appsv1.Deployment{})
		object, template = o, o.Spec.Template
	}
	text, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	is := deployed{chart: object.GetLabels()["helm.sh/chart"], template: string(text), pods: map[string]int{}}
	for _, pod := range podsOf(t, collector) {
		for _, container := range pod.Status.ContainerStatuses {
			is.pods[string(pod.UID)] += int(container.RestartCount)
		}
	}
	return is
}

// installBefore installs the release before this one, or else this version with another chart, and says which.
func installBefore(t *testing.T) string {
	t.Helper()
	if err := errors.Join(os.RemoveAll(beforeTree), os.MkdirAll(beforeTree, 0o755)); err != nil {
		t.Fatal(err)
	}
	before := cmp.Or(tagBefore(t), thisVersion)
	shell(t, "git archive "+before+" | tar -xf - -C "+beforeTree)
	if before == thisVersion {
		shell(t, "sed -i 's/^version: .*/version: 0.0.1-before/' "+beforeTree+"/helm-charts/collector/Chart.yaml")
	}
	t.Logf("the version before this one: %s", before)
	target := "make --no-print-directory -C " + beforeTree + " IMG=" + beforeImage
	shell(t, target+" docker-build")
	if load := os.Getenv("E2E_LOAD"); load != "" {
		archive := filepath.Join(t.TempDir(), "image.tar")
		save := `"$CONTAINER_TOOL" save --output ` + archive + " " + beforeImage
		if strings.HasSuffix(os.Getenv("CONTAINER_TOOL"), "buildah") {
			save = `"$CONTAINER_TOOL" push --quiet ` + beforeImage + " docker-archive:" + archive + ":" + beforeImage
		}
		shell(t, save+" && "+load+" "+archive)
	}
	shell(t, target+" deploy")
	if out, err := kubectl(t.Context(), "rollout", "status", "deployment", operatorName, "-n", systemNamespace, "--timeout=2m"); err != nil {
		t.Fatalf("wait for the operator of the release before: %v\n%s\n%s", err, out, operatorState(t.Context()))
	}
	return before
}

// tagBefore returns the latest release that this tree comes from, if there is one. Git is asked, so tags must be fetched.
func tagBefore(t *testing.T) string {
	t.Helper()
	_, this, _ := strings.Cut(os.Getenv("IMG"), ":")
	for tag := range strings.FieldsSeq(shell(t, "git tag --list 'v*' --merged HEAD --sort=-version:refname")) {
		if tag != this {
			return tag
		}
	}
	return ""
}

// chartOf returns the name and version of this tree's chart, as objects are labelled with it.
func chartOf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("helm-charts/collector/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Name, Version string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	return chart.Name + "-" + chart.Version
}

// shell runs a command line and returns what it printed, or ends the test.
func shell(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
