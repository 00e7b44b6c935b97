package kustomize

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheChartInstallsThePoliciesThatKustomizeDoes(t *testing.T) {
	operator := installed(t, "")
	for values, folder := range map[string]string{
		"policies: cluster":       "cluster",
		"policies: cluster-audit": "cluster-audit",
		"policies: namespaces":    "namespaces",
		"changedBy: true":         "changed-by",
	} {
		want, got := built(t, "../../config/tenancy/"+folder), installed(t, "tenancy: {"+values+"}")
		maps.DeleteFunc(got, func(key string, _ map[string]any) bool { return operator[key] != nil })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tenancy: {%s}: run `make chart` (-config/tenancy/%s +chart):\n%s", values, folder, diff)
		}
	}
}

func TestTheChartHasThePolicyAboutChangesInTheVersionThatTheClusterServes(t *testing.T) {
	const group, policy = "admissionregistration.k8s.io", "MutatingAdmissionPolicy"
	for name, row := range map[string]struct {
		served []string
		folder string
	}{
		"a cluster that has v1beta1 only": {[]string{"v1beta1"}, "changed-by-beta"},
		"a cluster that has both":         {[]string{"v1", "v1beta1"}, "changed-by"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := *chartutil.DefaultCapabilities
			for _, version := range row.served {
				resource := group + "/" + version + "/" + policy
				cluster.APIVersions = append(slices.Clone(cluster.APIVersions), resource, resource+"Binding")
			}
			got, err := renderFor(&cluster, chartNamespace, "tenancy: {changedBy: true}")
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range built(t, "../../config/tenancy/"+row.folder) {
				if diff := cmp.Diff(want, got[key]); diff != "" {
					t.Errorf("%s (-config/tenancy/%s +chart):\n%s", key, row.folder, diff)
				}
			}
		})
	}
}

func TestTheChartNamesNoOtherNamespaceThanItsOwn(t *testing.T) {
	const values = "{tenancy: {policies: namespaces, changedBy: true}, metrics: {serviceMonitor: {enabled: true}}, prometheusRule: {enabled: true}, " +
		"grafanaDashboards: {enabled: true}}"
	objects, err := renderFor(chartutil.DefaultCapabilities, "platform", values)
	if err != nil {
		t.Fatal(err)
	}
	for key, object := range objects {
		text, err := json.Marshal(object)
		if err != nil || strings.Contains(string(text), chartNamespace) {
			t.Errorf("%s names %s, %v", key, chartNamespace, err)
		}
	}
}

// Helm prints the commands, and they are the first that somebody types.
func TestTheChartsNotesCreateACollectorThatTheOperatorRuns(t *testing.T) {
	const sample = "config/samples/kube8_v1alpha1_collector.yaml"
	text, err := os.ReadFile("../../" + sample)
	if err != nil || strings.Count(string(text), "namespace: tenant-acme\n") != 1 {
		t.Fatalf("the sample is not in the namespace tenant-acme: %v", err)
	}
	for name, row := range map[string]struct{ values, commands string }{
		"for all namespaces: in the sample's, which a cluster lacks": {"", `
  kubectl create namespace tenant-acme
  kubectl apply -f URL
  kubectl get collectors -n tenant-acme
`},
		"for some namespaces, which exist: in the first": {"watchNamespaces: [team-a, team-b]", `
  curl -fsSL URL | sed 's/namespace: tenant-acme/namespace: team-a/' | kubectl apply -f -
  kubectl get collectors -n team-a
`},
	} {
		files, err := filesOf(chartutil.DefaultCapabilities, chartNamespace, row.values)
		if err != nil {
			t.Fatal(err)
		}
		notes := files["kube8-operator/templates/NOTES.txt"]
		version := strings.Fields(notes)[1] // kube8-operator v0.1.0 runs
		commands := strings.Replace(row.commands, "URL", "https://raw.githubusercontent.com/kube8/kube8-operator/"+version+"/"+sample, 1)
		if want := "\n\nCreate a Collector:\n" + commands + "\n`helm uninstall`"; !strings.Contains(notes, want) {
			t.Errorf("%s: got\n%s\nwant%s", name, notes, want)
		}
	}
}

// An account of another name has every binding that the default one has, and no other account has one.
func TestTheChartsBindingsFollowTheServiceAccount(t *testing.T) {
	const defaultName = "kube8-operator-controller-manager"
	rename := func(t *testing.T, objects map[string]map[string]any) map[string]map[string]any {
		t.Helper()
		text, err := json.Marshal(objects)
		if err != nil {
			t.Fatal(err)
		}
		subject, account := `"kind":"ServiceAccount","name":"`, `"serviceAccountName":"`
		text = []byte(strings.NewReplacer(subject+defaultName+`"`, subject+`named"`, account+defaultName+`"`, account+`named"`).Replace(string(text)))
		var renamed map[string]map[string]any
		if err := json.Unmarshal(text, &renamed); err != nil {
			t.Fatal(err)
		}
		return renamed
	}
	want := rename(t, rendered(t, ""))
	own := want["ServiceAccount "+chartNamespace+"/"+defaultName]
	delete(want, "ServiceAccount "+chartNamespace+"/"+defaultName)
	if diff := cmp.Diff(want, rendered(t, "serviceAccount: {create: false, name: named}")); diff != "" {
		t.Errorf("an account that exists (-default, renamed +chart):\n%s", diff)
	}
	_ = unstructured.SetNestedField(own, "named", "metadata", "name")
	want["ServiceAccount "+chartNamespace+"/named"] = own
	if diff := cmp.Diff(want, rendered(t, "serviceAccount: {name: named}")); diff != "" {
		t.Errorf("an account that the chart creates (-default, renamed +chart):\n%s", diff)
	}
}

func TestThePodOfHelmTestIsTheOperatorsWithoutItsLabels(t *testing.T) {
	const values = "{image: {tag: v9-fips, pullPolicy: Always}, imagePullSecrets: [{name: registry}], tolerations: [{operator: Exists}], " +
		"priorityClassName: high, nodeSelector: {pool: system}, serviceAccount: {name: named}, affinity: " +
		"{nodeAffinity: {of: nodes}, podAntiAffinity: {of: operators}}}"
	objects := rendered(t, values)
	operator, test := objects["Deployment "+chartNamespace+"/kube8-operator-controller-manager"], objects[helmTest]
	for _, field := range []string{"serviceAccountName", "securityContext", "nodeSelector", "tolerations", "imagePullSecrets", "priorityClassName"} {
		if got, want := at(test, "spec."+field), at(operator, "spec.template.spec."+field); got != want || got == "null" {
			t.Errorf("%s of the test's pod is %s, and of the operator's %s", field, got, want)
		}
	}
	for _, field := range []string{"image", "imagePullPolicy", "resources", "securityContext"} {
		got, want := at(test, "spec.containers.0."+field), at(operator, "spec.template.spec.containers.0."+field)
		if got != want || got == "null" {
			t.Errorf("%s of the test's container is %s, and of the operator's %s", field, got, want)
		}
	}
	for path, want := range map[string]string{
		"spec.affinity": `{"nodeAffinity":{"of":"nodes"}}`, "spec.containers.0.args": `["ready"]`, "spec.restartPolicy": "Never",
		"metadata.annotations": `{"helm.sh/hook":"test","helm.sh/hook-delete-policy":"before-hook-creation,hook-succeeded",` +
			`"helm.sh/hook-output-log-policy":"hook-succeeded,hook-failed"}`,
	} {
		if got := at(test, path); got != want {
			t.Errorf("%s of the test's pod is %s, want %s", path, got, want)
		}
	}
	selected, _, _ := unstructured.NestedStringMap(operator, "spec", "selector", "matchLabels")
	labels, _, _ := unstructured.NestedStringMap(test, "metadata", "labels")
	for key, value := range selected {
		if labels[key] == value {
			t.Errorf("the test's pod has the label %s=%s, by which the operator's pods are selected", key, value)
		}
	}
}
