//go:build e2e

package olm

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// olmNamespace is where OLM runs, and where its catalogs are for all namespaces.
const olmNamespace = "operator-lifecycle-manager"

// left out of OLM's own chart: what lists the packages of all catalogs for a console, and OLM's public catalog.
var leftOut = []string{"packageserver", "upstream-operators", "monitor", "prometheus-rule", "cert-manager"}

// installOLM installs OLM from the chart of its module, with one image that has all of its programs, and removes it when
// the test ends.
func installOLM(t *testing.T, image string) {
	t.Helper()
	module := strings.TrimSpace(command(t, "go", "list", "-C", "test/cluster/olm", "-m", "-f={{.Dir}}",
		"github.com/operator-framework/operator-lifecycle-manager"))
	chart, err := loader.Load(filepath.Join(module, "deploy", "chart"))
	if err != nil {
		t.Fatal(err)
	}
	program := map[string]any{"image": map[string]any{"ref": image, "pullPolicy": "IfNotPresent"}}
	values, err := chartutil.ToRenderValues(chart, map[string]any{
		"olm": program,
		"catalog": map[string]any{
			"image": program["image"], "opmImageArgs": "--opmImage=" + image, "commandArgs": "--configmapServerImage=" + image,
		},
	}, chartutil.ReleaseOptions{Name: "olm", Namespace: olmNamespace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	var files, manifests, crds []string
	for file := range rendered {
		if !slices.ContainsFunc(leftOut, func(part string) bool { return strings.Contains(file, part) }) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	for _, file := range files {
		manifests = append(manifests, rendered[file])
	}
	for _, crd := range chart.CRDObjects() {
		crds = append(crds, string(crd.File.Data))
	}
	t.Cleanup(func() { removeOLM(t, strings.Join(manifests, "\n---\n"), crds) })
	apply(t, strings.Join(crds, "\n---\n"))
	must(t, "wait", "crd", "--all", "--for=condition=Established", "--timeout=1m")
	apply(t, strings.Join(manifests, "\n---\n"))
	for _, name := range []string{"olm-operator", "catalog-operator"} {
		must(t, "rollout", "status", "deployment", name, "-n", olmNamespace, "--timeout=3m")
	}
}

// removeOLM leaves the cluster as it was. The resource definitions go first, while OLM still runs, because of its
// finalizers.
func removeOLM(t *testing.T, manifests string, crds []string) {
	t.Helper()
	release(t)
	remove(t, "crd", "collectors.kube8.dev")
	for _, crd := range crds {
		remove(t, "crd", nameOf(t, crd))
	}
	for manifest := range strings.SplitSeq(manifests, "\n---") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
			t.Error(err)
		}
		if slices.Contains([]string{"Namespace", "ClusterRole", "ClusterRoleBinding"}, object.Kind) {
			remove(t, object.Kind, object.Metadata.Name)
		}
	}
	remove(t, "clusterroles,clusterrolebindings", "-l", "olm.managed=true")
}

// release lets go of the Collectors that a failed test has left without an operator.
func release(t *testing.T) {
	t.Helper()
	left, err := kubectl(context.Background(), "get", "collectors", "-A", "--ignore-not-found",
		"--output=jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}\n{end}")
	if err != nil {
		return // there are none, because there is no such resource
	}
	for line := range strings.Lines(left) {
		namespace, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := kubectl(context.Background(), "patch", "collector", name, "-n", namespace, "--type=merge",
			`--patch={"metadata": {"finalizers": null}}`); err != nil {
			t.Error(err)
		}
	}
}

func nameOf(t *testing.T, manifest string) string {
	t.Helper()
	var object struct{ Metadata struct{ Name string } }
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		t.Error(err)
	}
	return object.Metadata.Name
}

// serve has OLM serve a catalog, as its users have it: from an image that holds nothing else.
func serve(t *testing.T, image string) {
	t.Helper()
	apply(t, `
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: kube8, namespace: `+olmNamespace+`}
spec:
  sourceType: grpc
  image: `+image+`
  displayName: kube8
  publisher: kube8
  grpcPodConfig: {securityContextConfig: restricted, extractContent: {catalogDir: /configs}}`)
	NewWithT(t).Eventually(func() (string, error) {
		return kubectl(t.Context(), "get", "pods", "-n", olmNamespace, "-l", "olm.catalogSource=kube8",
			`--output=jsonpath={range .items[*]}{.spec.initContainers[1].image} {.status.containerStatuses[0].ready}{end}`)
	}).Should(Equal(image+" true"), "the pods that serve the catalog")
	NewWithT(t).Eventually(jsonPath(t, "{.status.connectionState.lastObservedState}", "catalogsource", "kube8", "-n", olmNamespace)).
		Should(Equal("READY"))
}

// subscribe has OLM install the operator into a namespace, for the namespaces that it shall watch; none means all.
func subscribe(t *testing.T, namespace string, targets ...string) {
	t.Helper()
	apply(t, `
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: kube8, namespace: `+namespace+`}
spec: `+cmp.Or(targetsOf(targets), "{}")+`
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: kube8-operator, namespace: `+namespace+`}
spec: {name: kube8-operator, channel: stable, source: kube8, sourceNamespace: `+olmNamespace+`}`)
}

func targetsOf(namespaces []string) string {
	if len(namespaces) == 0 {
		return ""
	}
	return "{targetNamespaces: [" + strings.Join(namespaces, ", ") + "]}"
}

// awaitInstalled waits until OLM has installed a version of the operator, and no other is left.
func awaitInstalled(t *testing.T, namespace, version string) {
	t.Helper()
	NewWithT(t).Eventually(func() (string, error) {
		return kubectl(t.Context(), "get", "csv", "-n", namespace, `--output=jsonpath={range .items[*]}{.metadata.name} {.status.phase};{end}`)
	}).Should(Equal("kube8-operator.v"+version+" Succeeded;"), "the operator's versions")
	must(t, "rollout", "status", "deployment", operatorName, "-n", namespace, "--timeout=2m")
}
