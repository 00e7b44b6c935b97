package kustomize

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// chartNamespace is that of config/default, so that objects are equal.
const chartNamespace = "kube8-operator-system"

// rendered returns the objects of the operator's chart, by kind, namespace and name. values are YAML.
func rendered(t *testing.T, values string) map[string]map[string]any {
	t.Helper()
	objects, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// helmTest is the pod of `helm test`, which config/ does not have.
const helmTest = "Pod " + chartNamespace + "/kube8-operator-test"

// installed returns the objects that an install of the operator's chart creates.
func installed(t *testing.T, values string) map[string]map[string]any {
	t.Helper()
	objects := rendered(t, values)
	delete(objects, helmTest)
	return objects
}

func render(values string) (map[string]map[string]any, error) {
	return renderFor(chartutil.DefaultCapabilities, chartNamespace, values)
}

// filesOf renders the chart for a namespace of a cluster that serves some versions of APIs, and returns texts by the names of templates.
func filesOf(served *chartutil.Capabilities, namespace, values string) (map[string]string, error) {
	operator, err := loader.LoadDir("../../helm-charts/kube8-operator")
	if err != nil {
		return nil, err
	}
	set := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &set); err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "kube8-operator", Namespace: namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(operator, set, options, served)
	if err != nil {
		return nil, err
	}
	return engine.Render(operator, all)
}

// renderFor returns the objects of filesOf.
func renderFor(served *chartutil.Capabilities, namespace, values string) (map[string]map[string]any, error) {
	files, err := filesOf(served, namespace, values)
	if err != nil {
		return nil, err
	}
	objects := map[string]map[string]any{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return nil, err
			}
			if object.Object != nil {
				objects[keyOf(object)] = plain(object)
			}
		}
	}
	return objects, nil
}

func keyOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

// plain returns an object without what says which of Helm and kustomize has made it.
func plain(object *unstructured.Unstructured) map[string]any {
	labels := object.GetLabels()
	delete(labels, "app.kubernetes.io/managed-by")
	delete(labels, "helm.sh/chart")
	if len(labels) == 0 {
		labels = nil // the policies have no others
	}
	object.SetLabels(labels)
	annotations := object.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	object.SetAnnotations(annotations)
	text, _ := json.Marshal(object.Object)
	var same map[string]any // numbers have one type
	_ = json.Unmarshal(text, &same)
	return same
}

// built returns the objects of a folder of config/, but for namespaces: Helm creates that of the release.
func built(t *testing.T, folder string) map[string]map[string]any {
	t.Helper()
	all, err := Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]map[string]any{}
	for _, object := range all {
		if object.GetKind() != "Namespace" {
			objects[keyOf(object)] = plain(object)
		}
	}
	return objects
}

func TestTheChartInstallsWhatKustomizeDoes(t *testing.T) {
	if diff := cmp.Diff(built(t, "../../config/default"), installed(t, "")); diff != "" {
		t.Errorf("run `make chart` (-config/default +chart):\n%s", diff)
	}
}

func TestTheChartForOneNamespaceInstallsWhatKustomizeDoes(t *testing.T) {
	want := built(t, "../../config/namespaced")
	got := installed(t, "{watchNamespaces: ["+chartNamespace+"], crds: {install: false}}")
	for _, objects := range []map[string]map[string]any{want, got} {
		deployment := objects["Deployment "+chartNamespace+"/kube8-operator-controller-manager"]
		spec, _, _ := unstructured.NestedMap(deployment, "spec", "template", "spec")
		manager, _ := spec["containers"].([]any)[0].(map[string]any)
		args, _, _ := unstructured.NestedStringSlice(manager, "args")
		slices.Sort(args)
		_ = unstructured.SetNestedStringSlice(manager, args, "args")
		delete(manager, "env") // the namespace is written, and not that of the pod
		_ = unstructured.SetNestedSlice(deployment, []any{manager}, "spec", "template", "spec", "containers")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-config/namespaced +chart):\n%s", diff)
	}
}

func TestTheChartsValuesReachTheirObjects(t *testing.T) {
	const deployment = "Deployment " + chartNamespace + "/kube8-operator-controller-manager"
	for name, row := range map[string]struct{ values, object, path, want string }{
		"an image by its digest": {
			"image: {repository: registry.example.com/operator, digest: 'sha256:" + strings.Repeat("ab", 32) + "'}", deployment,
			"spec.template.spec.containers.0.image", "registry.example.com/operator@sha256:" + strings.Repeat("ab", 32),
		},
		"a tag": {"image: {tag: dev}", deployment, "spec.template.spec.containers.0.image", "ghcr.io/kube8/kube8-operator:dev"},
		"values beside that for the condition of a parent chart": {"{enabled: true, replicaCount: 2}", deployment, "spec.replicas", "2"},
		"more operators": {"replicaCount: 2", deployment, "spec.replicas", "2"},
		"another memory limit": {
			"resources: {limits: {memory: 1Gi}}", deployment, "spec.template.spec.containers.0.resources", `{"limits":{"memory":"1Gi"}}`,
		},
		"a node selector beside the chart's": {
			"nodeSelector: {pool: system}", deployment, "spec.template.spec.nodeSelector", `{"kubernetes.io/os":"linux","pool":"system"}`,
		},
		"a priority class": {
			"priorityClassName: system-cluster-critical", deployment, "spec.template.spec.priorityClassName", "system-cluster-critical",
		},
		"no label of a pod that its selector needs": {
			"podLabels: {control-plane: other, team: a}", deployment, "spec.template.metadata.labels",
			`{"app.kubernetes.io/name":"kube8-operator","control-plane":"controller-manager","team":"a"}`,
		},
		"flags": {
			"{collectorRegistry: mirror.example.com, rollout: {budget: 2, deadline: 5m, soak: 1h, canary: true, flow: true}, extraArgs: [--zap-log-level=debug]}", deployment,
			"spec.template.spec.containers.0.args",
			`["--leader-elect","--leader-election-id=kube8-operator","--health-probe-bind-address=:8081","--metrics-bind-address=:8443",` +
				`"--metrics-secure","--collector-registry=mirror.example.com","--rollout-budget=2","--rollout-deadline=5m","--rollout-soak=1h","--rollout-canary",` +
				`"--rollout-flow","--zap-log-level=debug"]`,
		},
		"namespaces to watch": {
			"watchNamespaces: [team-a, team-b]", deployment, "spec.template.spec.containers.0.env.0",
			`{"name":"WATCH_NAMESPACE","value":"team-a,team-b"}`,
		},
		"a Role in each of them": {
			"watchNamespaces: [team-a, team-b]", "RoleBinding team-b/kube8-operator-manager-rolebinding", "roleRef.kind", "Role",
		},
		"an account's annotations": {
			"serviceAccount: {annotations: {a: b}}", "ServiceAccount " + chartNamespace + "/kube8-operator-controller-manager",
			"metadata.annotations", `{"a":"b"}`,
		},
		"limits of Collectors": {
			"tenancy: {policies: cluster, limits: {replicas: '5'}}", "ConfigMap " + chartNamespace + "/collector-limits", "data", `{"replicas":"5"}`,
		},
		"labels by which Prometheus finds a ServiceMonitor": {
			"metrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}}}", "ServiceMonitor " + chartNamespace + "/kube8-operator",
			"metadata.labels.release", "prometheus",
		},
		"further traffic that the operator's policy allows": {
			"networkPolicy: {egress: [{ports: [{port: 16443}]}]}", "NetworkPolicy " + chartNamespace + "/kube8-operator-controller-manager",
			"spec.egress.3", `{"ports":[{"port":16443}]}`,
		},
		"no such traffic in a policy about requests": {
			"networkPolicy: {egress: [{ports: [{port: 16443}]}]}", "NetworkPolicy " + chartNamespace + "/kube8-operator-allow-metrics",
			"spec.egress", "null",
		},
		"alerts": {"prometheusRule: {enabled: true}", "PrometheusRule " + chartNamespace + "/kube8-operator", "spec.groups.0.name", "kube8-operator"},
		"dashboards": {
			"grafanaDashboards: {enabled: true}", "ConfigMap " + chartNamespace + "/kube8-operator-dashboard", "metadata.labels.grafana_dashboard", "1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := rendered(t, row.values)[row.object]
			if got := at(object, row.path); got != row.want {
				t.Errorf("%s of %s is %s, want %s", row.path, row.object, got, row.want)
			}
		})
	}
}

// at returns a field of an object: a text as it is, and anything else as JSON.
func at(object map[string]any, path string) string {
	var value any = object
	for part := range strings.SplitSeq(path, ".") {
		switch of := value.(type) {
		case map[string]any:
			value = of[part]
		case []any:
			index := min(int(part[0]-'0'), len(of))
			value = append(slices.Clone(of), nil)[index] // null after the last one
		}
	}
	if text, is := value.(string); is {
		return text
	}
	text, _ := json.Marshal(value)
	return string(text)
}

func TestTheChartLeavesOutWhatItsValuesSay(t *testing.T) {
	all := slices.Sorted(maps.Keys(rendered(t, "")))
	for values, isLeftOut := range map[string]func(key string) bool{
		"networkPolicy: {enabled: false}": func(key string) bool { return strings.HasPrefix(key, "NetworkPolicy ") },
		"crds: {install: false}":          func(key string) bool { return strings.HasPrefix(key, "CustomResourceDefinition ") },
	} {
		want := slices.DeleteFunc(slices.Clone(all), isLeftOut)
		got := slices.Sorted(maps.Keys(rendered(t, values)))
		if diff := cmp.Diff(want, got); diff != "" || len(want) == len(all) {
			t.Errorf("%s (-want +got):\n%s", values, diff)
		}
	}
}

func TestTheChartRefusesWrongValues(t *testing.T) {
	for values, want := range map[string]string{
		"image: {tga: dev}":                "tga",
		"watchNamespaces: team-a":          "watchNamespaces",
		"replicaCount: two":                "replicaCount",
		"rollout: {budget: half}":          "budget",
		"rollout: {deadline: 0s}":          "deadline",
		"image: {digest: sha256:abc}":      "digest",
		"tenancy: {policies: all}":         "policies",
		"tenancy: {limits: {replicas: 5}}": "limits",
		"serviceAccount: {create: false}":  "set serviceAccount.name",
		"{watchNamespaces: [a], metrics: {serviceMonitor: {enabled: true}}}": "needs a ClusterRole",
		"{watchNamespaces: [a], prometheusRule: {enabled: true}}":            "with watchNamespaces only the pod itself can",
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that says %q", values, err, want)
		}
	}
}
