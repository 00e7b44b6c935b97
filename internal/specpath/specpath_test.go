package specpath_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/specpath"
)

// collector is what the objects below were rendered from.
const collector = `
kind: Collector
metadata: {name: gateway}
spec:
  collector: {files: {a.lua: e30=, conf.d/a.lua: e30=}}
  image: {tag: latest}
  env: [{name: CLUSTER_NAME}, {name: TOKEN}, {name: TOKEN}]
  extraVolumes: [{name: a}, {name: b}]
  extraVolumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /etc/collector}]
  extraContainers: [{name: proxy}]
  volumeClaims: [{metadata: {name: other}}, {metadata: {name: way}}]
  ports: {moved: {port: 80, targetPort: 8080, hostPort: 80}}
`

const podSpec = `
containers:
- env: [{name: TENANT_ID}, {name: CLUSTER_NAME}, {name: TOKEN}, {name: TOKEN}]
  ports: [{name: metrics, containerPort: 8888}, {name: syslog, containerPort: 514}, {name: moved, containerPort: 8080}]
  volumeMounts:
  - {name: config, mountPath: /etc/collector}
  - {name: tmp, mountPath: /tmp}
  - {name: a, mountPath: /a}
  - {name: b, mountPath: /etc/collector}
- name: proxy
volumes: [{name: config}, {name: tmp}, {name: a}, {name: b}]
`

// podSpecOfCheck has empty volumes in place of the claims.
var podSpecOfCheck = strings.Replace(podSpec, "volumes: [{name: config}, {name: tmp}, {name: a}, {name: b}]",
	"volumes: [{name: config}, {name: tmp}, {name: a}, {name: b}, {name: other}, {name: way}]", 1)

func TestOf(t *testing.T) {
	const pod = "spec.template.spec."
	const container = pod + "containers[0]."
	tests := map[string]map[string]string{
		"Deployment": {
			container + "env[2].name":                         "spec.env[1].name",
			container + "env[3].valueFrom.fieldRef.fieldPath": "spec.env[2].valueFrom.fieldRef.fieldPath",
			container + "env[1]":                              "spec.env[0]",
			container + "env[0].name":                         `Deployment "gateway": ` + container + "env[0].name",
			container + "env":                                 "spec.env",
			container + "env[9].name":                         "spec.env[9].name",
			container + "envFrom[1].prefix":                   "spec.envFrom[1].prefix",
			container + "args[0]":                             "spec.args[0]",
			container + "image":                               "spec.image",
			container + "imagePullPolicy":                     "spec.image.pullPolicy",
			container + "resources.requests[memory]":          "spec.resources.requests[memory]",
			container + "ports[1].containerPort":              "spec.ports[syslog].port",
			container + "ports[1].name":                       "spec.ports[syslog]",
			container + "ports[1].hostPort":                   "spec.ports[syslog].port",
			container + "ports[7].name":                       "spec.ports",
			container + "volumeMounts[2].name":                "spec.extraVolumeMounts[0].name",
			container + "volumeMounts[3].mountPath":           "spec.extraVolumeMounts[1].mountPath",
			container + "volumeMounts[0].mountPath":           `Deployment "gateway": ` + container + "volumeMounts[0].mountPath",
			container + "livenessProbe.httpGet.port":          "spec.livenessProbe.httpGet.port",
			container + "readinessProbe":                      "spec.readinessProbe",
			container + "startupProbe.exec.command":           "spec.startupProbe.exec.command",
			container + "securityContext.privileged":          "spec.securityContext.privileged",
			container + "lifecycle.preStop":                   `Deployment "gateway": ` + container + "lifecycle.preStop",
			pod + "volumes[3].configMap.name":                 "spec.extraVolumes[1].configMap.name",
			pod + "volumes[0].secret":                         `Deployment "gateway": ` + pod + "volumes[0].secret",
			pod + "securityContext.fsGroup":                   "spec.podSecurityContext.fsGroup",
			pod + "tolerations[0].operator":                   "spec.tolerations[0].operator",
			pod + "affinity.podAffinity":                      "spec.affinity.podAffinity",
			pod + "nodeSelector":                              "spec.nodeSelector",
			pod + "topologySpreadConstraints[0].topologyKey":  "spec.topologySpreadConstraints[0].topologyKey",
			pod + "imagePullSecrets[0].name":                  "spec.imagePullSecrets[0].name",
			pod + "priorityClassName":                         "spec.priorityClassName",
			pod + "terminationGracePeriodSeconds":             "spec.terminationGracePeriodSeconds",
			pod + "hostNetwork":                               "spec.hostNetwork",
			pod + "serviceAccountName":                        "spec.serviceAccount.name",
			"spec.template.labels":                            "spec.podLabels",
			"spec.template.metadata.labels":                   "spec.podLabels",
			"spec.template.annotations[a]":                    "spec.podAnnotations[a]",
			"spec.replicas":                                   "spec.replicas",
			"spec.strategy.rollingUpdate.maxSurge":            "spec.updateStrategy.rollingUpdate.maxSurge",
			"spec.selector":                                   `Deployment "gateway": spec.selector`,
			"metadata.labels":                                 `Deployment "gateway": metadata.labels`,
			"<nil>":                                           `Deployment "gateway": <nil>`,
			pod + "containers[1].env[2].name":                 "spec.extraContainers[0].env[2].name",
			pod + "initContainers[1].name":                    "spec.initContainers[1].name",
			pod + "hostPID":                                   "spec.hostPID",
			pod + "os.name":                                   "spec.os.name",
			pod + "dnsPolicy":                                 `Deployment "gateway": ` + pod + "dnsPolicy",
			container + "command[0]":                          "spec.command[0]",
			container + "ports[2].containerPort":              "spec.ports[moved].targetPort",
			container + "ports[2].hostPort":                   "spec.ports[moved].hostPort",
			container + "environment":                         `Deployment "gateway": ` + container + "environment",
		},
		"DaemonSet": {
			"spec.updateStrategy.rollingUpdate": "spec.updateStrategy.rollingUpdate",
			container + "env[2].name":           "spec.env[1].name",
		},
		"StatefulSet": {
			pod + "volumes[0].name":                            "spec.volumeClaimTemplates[0].metadata.name",
			pod + "volumes[4].configMap":                       "spec.extraVolumes[1].configMap",
			pod + "volumes[1].secret":                          `StatefulSet "gateway": ` + pod + "volumes[1].secret",
			"spec.volumeClaimTemplates[0].spec.accessModes[1]": "spec.volumeClaimTemplates[0].spec.accessModes[1]",
		},
		"Service": {
			"spec.ports[1].port":         "spec.ports[syslog].port",
			"spec.ports[1].name":         "spec.ports[syslog]",
			"spec.ports[1].targetPort":   "spec.ports[syslog]",
			"spec.ports[0].appProtocol":  "spec.ports[metrics].appProtocol",
			"spec.ports":                 "spec.ports",
			"spec.type":                  "spec.service.type",
			"spec.internalTrafficPolicy": "spec.service.internalTrafficPolicy",
			"spec.loadBalancerClass":     "spec.service.loadBalancerClass",
			"metadata.annotations":       "spec.service.annotations",
			"metadata.name":              `Service "gateway": metadata.name`,
		},
		"ServiceAccount": {
			"metadata.name":        "spec.serviceAccount.name",
			"metadata.annotations": "spec.serviceAccount.annotations",
		},
		"PersistentVolumeClaim": {
			"spec.resources.requests.storage": "spec.volumeClaims[1].spec.resources.requests.storage",
			"metadata.labels":                 "spec.volumeClaims[1].metadata.labels",
		},
		"Secret": {"data[config.yaml]": "spec.collector.configuration", "data[a.lua]": "spec.collector.files[a.lua]", "data[conf.d..a.lua]": "spec.collector.files[conf.d/a.lua]"},
		"HorizontalPodAutoscaler": {
			"spec.minReplicas": "spec.autoscaling.minReplicas",
			"spec.maxReplicas": "spec.autoscaling.maxReplicas",
			"spec.metrics[0].resource.target.averageUtilization": "spec.autoscaling.targetCPUUtilizationPercentage",
			"spec.metrics[1].resource.target.averageUtilization": "spec.autoscaling.targetMemoryUtilizationPercentage",
			"spec.metrics":                      "spec.autoscaling",
			"spec.behavior.scaleUp.policies[0]": "spec.autoscaling.behavior.scaleUp.policies[0]",
			"spec.scaleTargetRef.kind":          `HorizontalPodAutoscaler "gateway": spec.scaleTargetRef.kind`,
		},
		"ScaledObject": {
			"spec.triggers[0].type": "spec.autoscaling.keda.triggers[0].type",
			"spec.maxReplicaCount":  "spec.autoscaling.maxReplicas",
		},
		"VerticalPodAutoscaler": {
			"spec.updatePolicy.updateMode":                                 "spec.verticalPodAutoscaler.updateMode",
			"spec.resourcePolicy.containerPolicies[0].controlledResources": "spec.verticalPodAutoscaler.controlledResources",
		},
		"Ingress": {
			"spec.rules[0].http.paths[1].pathType": "spec.ingress.hosts[0].paths[1].pathType",
			"spec.rules[1].host":                   "spec.ingress.hosts[1].host",
			"spec.tls[0].hosts[0]":                 "spec.ingress.tls[0].hosts[0]",
		},
		"HTTPRoute": {"spec.parentRefs[0].name": "spec.httpRoute.parentRefs[0].name"},
		"GRPCRoute": {"spec.hostnames[0]": "spec.grpcRoute.hostnames[0]"},
		"PodDisruptionBudget": {
			"spec.minAvailable":   "spec.podDisruptionBudget.minAvailable",
			"spec.maxUnavailable": "spec.podDisruptionBudget.maxUnavailable",
		},
		"NetworkPolicy": {
			"spec.ingress[0].from[1].ipBlock.cidr": "spec.networkPolicy.ingressFrom[1].ipBlock.cidr",
			"spec.ingress[1].from[0].ipBlock.cidr": "spec.networkPolicy.ingressFrom[0].ipBlock.cidr",
			"spec.ingress[0].ports[0].port":        `NetworkPolicy "gateway": spec.ingress[0].ports[0].port`,
			"spec.egress[0].ports[0].port":         "spec.networkPolicy.egress[0].ports[0].port",
		},
		"ServiceMonitor": {
			"spec.endpoints[0].interval": "spec.serviceMonitor.interval",
			"metadata.labels":            "spec.serviceMonitor.labels",
		},
		"PodMonitor":     {"spec.podMetricsEndpoints[0].scrapeTimeout": "spec.podMonitor.scrapeTimeout"},
		"PrometheusRule": {"metadata.labels": "spec.prometheusRule.labels"},
		"Job": {
			"spec.template.spec.containers[0].image": "spec.image",
			"spec.activeDeadlineSeconds":             "spec.check.timeoutSeconds",
			"spec.template.spec.volumes[3].secret":   "spec.extraVolumes[1].secret",
			"spec.template.spec.volumes[2].name":     "spec.extraVolumes[0].name",
			"spec.template.spec.volumes":             "spec.extraVolumes",
			"spec.template.spec.volumes[4].emptyDir": `Job "gateway": spec.template.spec.volumes[4].emptyDir`,
			"spec.template.spec.volumes[1].name":     `Job "gateway": spec.template.spec.volumes[1].name`,
		},
	}
	for kind, paths := range tests {
		obj := rendered(t, kind)
		for path, want := range paths {
			if got := specpath.Of(parse(t, collector), obj, path); got != want {
				t.Errorf("%s of a %s is %s, want %s", path, kind, got, want)
			}
		}
	}
}

func TestOfTheImageWithoutAnImageInTheSpecIsTheCollectorsName(t *testing.T) {
	got := specpath.Of(parse(t, "{kind: Collector, spec: {}}"), rendered(t, "Deployment"), "spec.template.spec.containers[0].image")
	if want := "spec.collector"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func rendered(t *testing.T, kind string) *unstructured.Unstructured {
	t.Helper()
	template := map[string]any{"spec": parse(t, podSpec).Object}
	spec := map[string]any{
		"Deployment":              map[string]any{"template": template},
		"DaemonSet":               map[string]any{"template": template},
		"StatefulSet":             map[string]any{"template": template, "volumeClaimTemplates": []any{parse(t, "metadata: {name: data}").Object}},
		"Job":                     map[string]any{"template": map[string]any{"spec": parse(t, podSpecOfCheck).Object}},
		"Service":                 parse(t, "ports: [{name: metrics}, {name: syslog}]").Object,
		"HorizontalPodAutoscaler": parse(t, "metrics: [{resource: {name: cpu}}, {resource: {name: memory}}]").Object,
	}[kind]
	name := "gateway"
	if kind == "PersistentVolumeClaim" {
		name += "-way"
	}
	return &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
}

func TestTheFieldOfAConfigurationIsTheOneThatIsSet(t *testing.T) {
	secret := parse(t, "{kind: Secret, metadata: {name: gateway-config}}")
	for spec, want := range map[string]string{
		`{configuration: YTog}`:       "spec.collector.configuration",
		`{configurationText: "a: b"}`: "spec.collector.configurationText",
	} {
		if got := specpath.Of(parse(t, "spec: {collector: "+spec+"}"), secret, "data[config.yaml]"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
