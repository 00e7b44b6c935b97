package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// The pod of a check must change nothing that pods of the last revision use (VictoriaMetrics/operator#1146), and must end with the collector
// (logging-operator#2303, #952, #462, #1497).
func TestThePodOfACheckWritesToNothingThatOthersUse(t *testing.T) {
	const empty = `{"emptyDir":{}}`
	for name, row := range map[string]struct{ over, volume string }{
		"a folder of the node that the collector writes to": {
			`{extraVolumes: [{name: v, hostPath: {path: /data, type: ""}}], extraVolumeMounts: [{name: v, mountPath: /v}]}`, empty},
		"a folder of the node that the collector reads": {
			`{extraVolumes: [{name: v, hostPath: {path: /data, type: ""}}], extraVolumeMounts: [{name: v, mountPath: /v, readOnly: true}]}`,
			`{"hostPath":{"path":"/data","type":""}}`},
		"a folder that an init container writes to": {
			`{extraVolumes: [{name: v, hostPath: {path: /data}}], extraVolumeMounts: [{name: v, mountPath: /v, readOnly: true}],
			  initContainers: [{name: i, image: i, volumeMounts: [{name: v, mountPath: /v}]}]}`, empty},
		"a folder that mounting it would create": {
			`{extraVolumes: [{name: v, hostPath: {path: /data, type: DirectoryOrCreate}}], extraVolumeMounts: [{name: v, mountPath: /v, readOnly: true}]}`,
			empty},
		"a claim that the collector writes to": {
			`{extraVolumes: [{name: v, persistentVolumeClaim: {claimName: c}}], extraVolumeMounts: [{name: v, mountPath: /v}]}`, empty},
		"a claim that the collector reads": {
			`{extraVolumes: [{name: v, persistentVolumeClaim: {claimName: c}}], extraVolumeMounts: [{name: v, mountPath: /v, readOnly: true}]}`,
			`{"persistentVolumeClaim":{"claimName":"c"}}`},
		"a claim that is read-only": {
			`{extraVolumes: [{name: v, persistentVolumeClaim: {claimName: c, readOnly: true}}], extraVolumeMounts: [{name: v, mountPath: /v}]}`,
			`{"persistentVolumeClaim":{"claimName":"c","readOnly":true}}`},
		"a claim of each pod": {
			`{extraVolumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}],
			  extraVolumeMounts: [{name: v, mountPath: /v}]}`, empty},
		"a Secret": {
			`{extraVolumes: [{name: v, secret: {secretName: s}}], extraVolumeMounts: [{name: v, mountPath: /v}]}`, `{"secret":{"secretName":"s"}}`},
		"an empty folder with a limit": {
			`{extraVolumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}], extraVolumeMounts: [{name: v, mountPath: /v}]}`, `{"emptyDir":{"sizeLimit":"1Gi"}}`},
	} {
		if got := volume(t, jobOf(t, row.over).Spec.Template.Spec.Volumes, "v"); got != row.volume {
			t.Errorf("%s: %s, want %s", name, got, row.volume)
		}
	}
}

func TestThePodOfACheckEndsWithTheCollector(t *testing.T) {
	spec := jobOf(t, `{terminationGracePeriodSeconds: 600, initContainers: [
	  {name: setup, image: i, volumeDevices: [{name: d, devicePath: /d}]},
	  {name: proxy, image: i, restartPolicy: Always, lifecycle: {postStart: {sleep: {seconds: 1}}, preStop: {sleep: {seconds: 30}}}}]}`).Spec
	pod := spec.Template.Spec
	if grace := pod.TerminationGracePeriodSeconds; grace == nil || *grace != 2 {
		t.Errorf("a sidecar that does not end has %v seconds", grace)
	}
	if got := marshal(t, pod.InitContainers[1].Lifecycle); got != `{"postStart":{"sleep":{"seconds":1}}}` {
		t.Errorf("lifecycle %s", got)
	}
	if devices := pod.InitContainers[0].VolumeDevices; len(devices) > 0 {
		t.Errorf("devices %v", devices)
	}
	var named []string
	for _, rule := range spec.PodFailurePolicy.Rules {
		if rule.OnExitCodes != nil {
			named = append(named, *rule.OnExitCodes.ContainerName)
		}
	}
	if got := strings.Join(named, " "); got != "collector setup" {
		t.Errorf("the exit codes of %s end the check", got)
	}
}

// Each node that a daemonset runs on has its ports already, so that such a pod would never be scheduled.
func TestThePodOfACheckHasNoPortsOfTheNode(t *testing.T) {
	job := jobOf(t, `{mode: daemonset, ports: {otlp: {hostPort: 4317}}, initContainers: [{name: proxy, image: i, restartPolicy: Always,
	  ports: [{name: proxy, containerPort: 80, hostPort: 80, hostIP: 127.0.0.1}, {containerPort: 81}]}]}`)
	pod := job.Spec.Template.Spec
	if got := marshal(t, pod.InitContainers[0].Ports); got != `[{"name":"proxy","containerPort":80},{"containerPort":81}]` {
		t.Errorf("ports of the sidecar: %s", got)
	}
	if got := pod.Containers[0].Ports; len(got) > 0 {
		t.Errorf("ports of the collector: %v", got)
	}
}

// The API server refuses a process of a Windows node without the node's network.
func TestThePodOfACheckHasTheNetworkOfAWindowsProcess(t *testing.T) {
	const process = `{os: {name: windows}, hostNetwork: true, workingDir: "$env:CONTAINER_SANDBOX_MOUNT_POINT/otel", %s: {windowsOptions: {hostProcess: true}}}`
	for _, field := range []string{"podSecurityContext", "securityContext"} {
		if spec := jobOf(t, fmt.Sprintf(process, field)).Spec.Template.Spec; !spec.HostNetwork {
			t.Errorf("%s: the pod has not the node's network", field)
		}
	}
	if spec := jobOf(t, `{hostNetwork: true}`).Spec.Template.Spec; spec.HostNetwork {
		t.Error("a pod that needs no network of the node has it")
	}
}

// Pods of the last revision are there until the check is over, on each node where the collector can run.
func TestThePodOfACheckFitsBesideTheOthers(t *testing.T) {
	const apart = `podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname,
	  labelSelector: {matchLabels: {app.kubernetes.io/name: collector}}}]}`
	const beside = `podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname,
	  labelSelector: {matchLabels: {kube8.dev/collector: edge}}}]}`
	const nodes = `nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: Exists}]}]}}`
	for affinity, want := range map[string]string{
		apart + ", " + beside: "null",
		apart + ", " + nodes: `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":` +
			`[{"key":"pool","operator":"Exists"}]}]}}}`,
	} {
		template := jobOf(t, `{affinity: {`+affinity+`}}`).Spec.Template
		if got := marshal(t, template.Spec.Affinity); got != want {
			t.Errorf("with %s: %s, want %s", affinity, got, want)
		}
		if got := template.Labels["app.kubernetes.io/name"]; got != "collector-check" {
			t.Errorf("the running pods may keep away from pods of the name %q", got)
		}
	}
}

// A sidecar that a webhook injects does not end.
func TestTheCheckHasTheAnnotationsOfPodsThatKeepSidecarsAway(t *testing.T) {
	template := jobOf(t, `{podAnnotations: {linkerd.io/inject: disabled, sidecar.istio.io/inject: "false", vault.hashicorp.com/agent-inject: "true",
		kubectl.kubernetes.io/restartedAt: "2026-01-02T03:04:05Z", container.apparmor.security.beta.kubernetes.io/agent: unconfined}}`).Spec.Template
	if diff := cmp.Diff(map[string]string{"linkerd.io/inject": "disabled", "sidecar.istio.io/inject": "false"}, template.Annotations); diff != "" {
		t.Errorf("annotations (-want +got)\n%s", diff)
	}
	if template := jobOf(t, `{podAnnotations: {linkerd.io/inject: enabled}}`).Spec.Template; template.Annotations != nil {
		t.Errorf("one that asks for a sidecar gives it %v", template.Annotations)
	}
}

func jobOf(t *testing.T, over string) (job batchv1.Job) {
	t.Helper()
	manifest, err := render(t, "edge", smallest(t, "{check: {}, "+strings.TrimPrefix(over, "{")))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects(t, manifest) {
		if o.Kind == "Job" {
			if err := yaml.UnmarshalStrict([]byte(o.raw), &job); err != nil {
				t.Fatal(err)
			}
		}
	}
	return job
}
