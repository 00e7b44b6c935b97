package tests

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
)

// The rules that hold for any values.
func TestRules(t *testing.T) {
	for name, values := range cases(t) {
		t.Run(name, func(t *testing.T) { checkRules(t, name, values) })
	}
}

func checkRules(t *testing.T, name string, values map[string]any) {
	t.Helper()
	manifest, err := render(t, name, values, all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects(t, manifest) {
		id := o.Kind + " " + o.Name
		if o.Namespace != "tenant-acme" {
			t.Errorf("%s: namespace %q, want the release's", id, o.Namespace)
		}
		checkLabels(t, id, name, o.Labels)
		if chart := o.Labels["helm.sh/chart"]; chart == "" {
			t.Errorf("%s: no label helm.sh/chart", id)
		}
		_, marked := o.Annotations["kube8.dev/configuration"]
		if configuration := o.Kind == "Secret"; marked != configuration {
			t.Errorf("%s: annotation kube8.dev/configuration: %v, want %v", id, marked, configuration)
		}
		if o.Kind == "Job" {
			checkContainer(t, id, o)
			if label, found := o.Spec.Template.Labels["kube8.dev/collector"]; found {
				t.Errorf("%s: its pod has the label kube8.dev/collector=%s, so it would serve", id, label)
			}
			continue
		}
		if len(o.Spec.Template.Spec.Containers) > 0 {
			checkPod(t, id, name, o)
		}
		if want := "kube8.dev/collector: \"" + name + "\"\n"; strings.Contains(strings.ToLower(o.raw), "selector:\n") &&
			strings.Count(o.raw, want) == 0 {
			t.Errorf("%s: its selector does not name the release", id)
		}
	}
}

func checkPod(t *testing.T, id, release string, o object) {
	t.Helper()
	pod := o.Spec.Template
	checkLabels(t, id+" pod", release, pod.Labels)
	if _, ok := pod.Labels["helm.sh/chart"]; ok {
		t.Errorf("%s: the pods carry helm.sh/chart, so that a new chart rolls them", id)
	}
	if !strings.Contains(o.raw, "  selector:\n    matchLabels:\n      kube8.dev/collector: \""+release+"\"\n  template:\n") {
		t.Errorf("%s: the selector is not exactly kube8.dev/collector", id)
	}
	checkContainer(t, id, o)
}

func checkContainer(t *testing.T, id string, o object) {
	t.Helper()
	pod := o.Spec.Template
	var names []string
	for _, env := range pod.Spec.Containers[0].Env {
		names = append(names, env.Name)
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("%s: environment variables appear twice: %v", id, names)
	}
	for _, want := range []string{"TENANT_ID", "TENANT_REFERENCE", "CLUSTER_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s: no environment variable %s", id, want)
		}
	}
	if token := pod.Spec.AutomountServiceAccountToken; token == nil {
		t.Errorf("%s: automountServiceAccountToken is left to the ServiceAccount", id)
	}
}

func checkLabels(t *testing.T, id, release string, labels map[string]string) {
	t.Helper()
	want := map[string]string{
		"kube8.dev/collector":          release,
		"kube8.dev/tenant-id":          "1042",
		"kube8.dev/tenant-reference":   "acme",
		"kube8.dev/cluster":            "prod-eu-1",
		"app.kubernetes.io/name":       "collector",
		"app.kubernetes.io/instance":   release,
		"app.kubernetes.io/managed-by": "Helm",
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if labels[key] != want[key] {
			t.Errorf("%s: label %s is %q, want %q", id, key, labels[key], want[key])
		}
	}
	if labels["app.kubernetes.io/version"] == "" {
		t.Errorf("%s: no label app.kubernetes.io/version", id)
	}
}

func TestObjectsOfOtherProjectsNeedTheirAPI(t *testing.T) {
	values := smallest(t, `{verticalPodAutoscaler: {enabled: true}, autoscaling: {enabled: true, maxReplicas: 2, keda: {triggers: [{type: cron, metadata: {}}]}},
		httpRoute: {enabled: true, parentRefs: [{name: a}]}, grpcRoute: {enabled: true, parentRefs: [{name: a}]}}`)
	for _, api := range []string{"", all[4], all[5], all[6], all[7]} {
		manifest, err := render(t, "edge", values, api)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, o := range objects(t, manifest) {
			if name := o.APIVersion + "/" + o.Kind; slices.Contains(all, name) {
				found = append(found, name)
			}
			if o.Kind == "HorizontalPodAutoscaler" || o.Kind == "Deployment" && strings.Contains(o.raw, "replicas:") {
				t.Errorf("with %q there is another autoscaler beside KEDA:\n%s", api, o.raw)
			}
		}
		if got := strings.Join(found, " "); got != api {
			t.Errorf("with %q there is %q", api, got)
		}
	}
}

func TestMonitorsNeedTheirAPI(t *testing.T) {
	values := smallest(t, `{serviceMonitor: {enabled: true}, podMonitor: {enabled: true}, prometheusRule: {enabled: true}}`)
	for name, row := range map[string]struct {
		apis []string
		want string
	}{
		"none without the monitoring API":           {want: ""},
		"all with it":                               {apis: monitoring, want: "PodMonitor PrometheusRule ServiceMonitor"},
		"only the one whose resource is there":      {apis: monitoring[:2], want: "ServiceMonitor"},
		"none for another version of the same API":  {apis: []string{"monitoring.coreos.com/v1alpha1"}, want: ""},
		"none for another resource of the same API": {apis: []string{"monitoring.coreos.com/v1/Probe"}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, err := render(t, "edge", values, row.apis...)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, o := range objects(t, manifest) {
				if o.APIVersion == "monitoring.coreos.com/v1" {
					kinds = append(kinds, o.Kind)
				}
			}
			slices.Sort(kinds)
			if got := strings.Join(kinds, " "); got != row.want {
				t.Errorf("monitors %q, want %q", got, row.want)
			}
		})
	}
}

// A node has two pods of a daemonset for a while, if nothing speaks against it.
func TestADaemonSetSurges(t *testing.T) {
	for name, row := range map[string]struct{ over, surge, unavailable string }{
		"by default":                  {`{}`, "1", "0"},
		"with the node's logs":        {`presets: {logs: {enabled: true}}`, "1", "0"},
		"with the node's files":       {`presets: {hostMetrics: {enabled: true}}`, "1", "0"},
		"with another surge":          {`updateStrategy: {rollingUpdate: {maxSurge: 10%}}`, `"10%"`, "0"},
		"not with the host network":   {`hostNetwork: true`, "0", "1"},
		"not if pods may go first":    {`updateStrategy: {rollingUpdate: {maxUnavailable: 2}}`, "0", "2"},
		"if no pod may be missing":    {`updateStrategy: {rollingUpdate: {maxUnavailable: 0}}`, "1", "0"},
		"if 0% of pods may":           {`updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}`, "1", `"0%"`},
		"not with a port of the node": {`ports: {otlp: {hostPort: 4317}}`, "0", "1"},
		"not with a device":           {`resources: {limits: {example.com/device: 1}}`, "0", "1"},
		"not with a device of another container": {
			`extraContainers: [{name: a, image: a, resources: {limits: {example.com/device: 1}}}]`, "0", "1",
		},
		"not with a device of an init container": {
			`initContainers: [{name: a, image: a, restartPolicy: Always, resources: {limits: {example.com/device: 1}}}]`, "0", "1",
		},
		"with other limits of another container": {`extraContainers: [{name: a, image: a, resources: {limits: {memory: 1Gi}}}]`, "1", "0"},
		"with a directory of the node that it reads": {
			`{extraVolumes: [{name: sys, hostPath: {path: /sys}}], extraVolumeMounts: [{name: sys, mountPath: /sys, readOnly: true}]}`, "1", "0",
		},
		"not with a claim of one pod": {
			`volumeClaims: [{metadata: {name: q}, spec: {accessModes: [ReadWriteOncePod], resources: {requests: {storage: 1Gi}}}}]`, "0", "1",
		},
		"not with one that it writes": {
			`{extraVolumes: [{name: queue, hostPath: {path: /q}}], extraVolumeMounts: [{name: queue, mountPath: /q}]}`, "0", "1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, err := render(t, "edge", chartutil.CoalesceTables(map[string]any{"mode": "daemonset"}, smallest(t, row.over)))
			if err != nil {
				t.Fatal(err)
			}
			if want := "maxSurge: " + row.surge + "\n      maxUnavailable: " + row.unavailable + "\n"; !strings.Contains(manifest, want) {
				t.Errorf("no %q in\n%s", want, manifest)
			}
		})
	}
}

// A surge of pods that cannot be two waits for ever, or has two pods write one folder: VictoriaMetrics/VictoriaMetrics#1146,
// grafana/grafana-operator#660, mattermost/mattermost-helm#283.
func TestThePodsOfADeploymentThatCannotBeTwo(t *testing.T) {
	claim := func(mode string) string {
		return `volumeClaims: [{metadata: {name: q}, spec: {accessModes: [` + mode + `], resources: {requests: {storage: 1Gi}}}}]`
	}
	const folder = `extraVolumes: [{name: q, hostPath: {path: /q}}], `
	const pinned = `nodeSelector: {kubernetes.io/hostname: a}`
	const recreate, surge, replace = "Recreate", "maxSurge: 1\n      maxUnavailable: 0", "maxSurge: 0\n      maxUnavailable: 1"
	for name, row := range map[string]struct{ over, want string }{
		"nothing says so":                     {`{}`, surge},
		"a claim of one pod":                  {claim("ReadWriteOncePod"), recreate},
		"a claim of one pod, on one node":     {claim("ReadWriteOncePod") + "\n" + pinned, recreate},
		"a claim of one node":                 {claim("ReadWriteOnce"), recreate},
		"a claim of one node, on that node":   {claim("ReadWriteOnce") + "\n" + pinned, surge},
		"a claim of one node, not beside it":  {claim("ReadWriteOnce") + "\n" + pinned + "\naffinity: {podAntiAffinity: {}}", recreate},
		"a claim of many nodes":               {claim("ReadWriteMany"), surge},
		"a claim of one node, or of many":     {claim("ReadWriteOnce, ReadWriteMany"), surge},
		"a volume of each pod":                {`extraVolumes: [{name: q, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOncePod]}}}}]`, surge},
		"a folder of the node":                {`{` + folder + `extraVolumeMounts: [{name: q, mountPath: /q}]}`, recreate},
		"a folder of the node that it reads":  {`{` + folder + `extraVolumeMounts: [{name: q, mountPath: /q, readOnly: true}]}`, surge},
		"a folder that a sidecar writes":      {`{` + folder + `extraContainers: [{name: a, image: a, volumeMounts: [{name: q, mountPath: /q}]}]}`, recreate},
		"a folder that an init container has": {`{` + folder + `initContainers: [{name: a, image: a, volumeMounts: [{name: q, mountPath: /q}]}]}`, recreate},
		"a port of the node":                  {`ports: {otlp: {hostPort: 4317}}`, replace},
		"a port of the node of a sidecar": {
			`extraContainers: [{name: a, image: a, ports: [{containerPort: 1, hostPort: 1}]}]`, replace,
		},
		"the node's network":               {`hostNetwork: true`, replace},
		"the owner wants another strategy": {claim("ReadWriteOncePod") + "\nupdateStrategy: {type: RollingUpdate}", surge},
		"the owner wants a surge":          {claim("ReadWriteOncePod") + "\nupdateStrategy: {rollingUpdate: {maxSurge: 1}}", surge},
		"the owner wants no surge":         {`updateStrategy: {rollingUpdate: {maxSurge: 0}}`, replace},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, err := render(t, "edge", smallest(t, row.over))
			if err != nil {
				t.Fatal(err)
			}
			_, strategy, _ := strings.Cut(manifest, "strategy:\n")
			strategy, _, _ = strings.Cut(strategy, "revisionHistoryLimit")
			if !strings.Contains(strategy, row.want) {
				t.Errorf("no %q in\n%s", row.want, strategy)
			}
		})
	}
}
