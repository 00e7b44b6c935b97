package specpath

import "slices"

// rules are where the fields of the chart's objects come from, by kind.
var rules = map[string][]rule{
	"Deployment":  workload,
	"DaemonSet":   workload,
	"StatefulSet": workload,
	"Service": {
		{"spec.ports", ports},
		{"spec.type", field("spec.service.type")},
		{"spec.internalTrafficPolicy", field("spec.service.internalTrafficPolicy")},
		{"metadata.annotations", field("spec.service.annotations")},
	},
	"ServiceAccount": {
		{"metadata.name", field("spec.serviceAccount.name")},
		{"metadata.annotations", field("spec.serviceAccount.annotations")},
	},
	"Secret": {
		{"data", files},
	},
	"HorizontalPodAutoscaler": {
		{"spec.minReplicas", field("spec.autoscaling.minReplicas")},
		{"spec.maxReplicas", field("spec.autoscaling.maxReplicas")},
		{"spec.metrics", metrics},
		{"spec.behavior", field("spec.autoscaling.behavior")},
	},
	"PodDisruptionBudget": {
		{"spec.minAvailable", field("spec.podDisruptionBudget.minAvailable")},
		{"spec.maxUnavailable", field("spec.podDisruptionBudget.maxUnavailable")},
	},
	"NetworkPolicy": {
		{"spec.ingress[0].from", field("spec.networkPolicy.ingressFrom")},
		{"spec.egress", field("spec.networkPolicy.egress")},
	},
	"ServiceMonitor": {
		{"spec.endpoints[0]", field("spec.serviceMonitor")},
		{"metadata.labels", field("spec.serviceMonitor.labels")},
	},
	"PodMonitor": {
		{"spec.podMetricsEndpoints[0]", field("spec.podMonitor")},
		{"metadata.labels", field("spec.podMonitor.labels")},
	},
	"PrometheusRule": {
		{"metadata.labels", field("spec.prometheusRule.labels")},
	},
}

const (
	pod       = "spec.template.spec."
	container = pod + "containers[0]."
)

var workload = slices.Concat([]rule{
	{"spec.replicas", field("spec.replicas")},
	{"spec.strategy", field("spec.updateStrategy")},
	{"spec.updateStrategy", field("spec.updateStrategy")},
	{"spec.volumeClaimTemplates", field("spec.volumeClaimTemplates")},
	// The API server leaves out that both are in metadata, except where it compares them with the selector.
	{"spec.template.labels", field("spec.podLabels")},
	{"spec.template.metadata.labels", field("spec.podLabels")},
	{"spec.template.annotations", field("spec.podAnnotations")},
	{"spec.template.metadata.annotations", field("spec.podAnnotations")},
	{pod + "serviceAccountName", field("spec.serviceAccount.name")},
	{pod + "automountServiceAccountToken", field("spec.serviceAccount.automount")},
	{pod + "securityContext", field("spec.podSecurityContext")},
	{pod + "volumes", volumes},
	{container + "image", image},
	{container + "imagePullPolicy", field("spec.image.pullPolicy")},
	{container + "env", items("spec.env", "name")},
	{container + "ports", ports},
	{container + "volumeMounts", items("spec.extraVolumeMounts", "mountPath")},
},
	same(pod, "affinity", "hostNetwork", "imagePullSecrets", "nodeSelector", "priorityClassName",
		"terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints"),
	same(container, "args", "envFrom", "livenessProbe", "readinessProbe", "resources", "securityContext", "startupProbe"),
)

// same are rules for fields below prefix that the Collector has under their own names.
func same(prefix string, names ...string) (found []rule) {
	for _, name := range names {
		found = append(found, rule{prefix + name, field("spec." + name)})
	}
	return found
}
