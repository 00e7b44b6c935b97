package specpath

import "slices"

// rules are where the fields of the chart's objects come from, by kind.
var rules = map[string][]rule{
	"Deployment":  workload,
	"DaemonSet":   workload,
	"StatefulSet": workload,
	"Job":         check,
	"Service": append(same("spec.", "spec.service.", "type", "internalTrafficPolicy", "externalTrafficPolicy", "clusterIP",
		"loadBalancerClass", "loadBalancerSourceRanges", "sessionAffinity", "trafficDistribution"),
		rule{"spec.clusterIPs", field("spec.service.clusterIP")},
		rule{"spec.LoadBalancerSourceRanges", field("spec.service.loadBalancerSourceRanges")}, // the API server's own spelling
		rule{"spec.ports", ports},
		rule{"metadata.annotations", field("spec.service.annotations")},
	),
	"ServiceAccount": same("metadata.", "spec.serviceAccount.", "name", "annotations"),
	"Secret":         {{"data", files}},
	"PersistentVolumeClaim": {
		{"spec", sharedClaim}, {"metadata.labels", sharedClaim}, {"metadata.annotations", sharedClaim},
	},
	"HorizontalPodAutoscaler": append(same("spec.", "spec.autoscaling.", "minReplicas", "maxReplicas", "behavior"),
		rule{"spec.metrics", metrics},
	),
	"ScaledObject": append(same("spec.", "spec.autoscaling.keda.", "triggers", "pollingInterval", "cooldownPeriod"),
		rule{"spec.minReplicaCount", field("spec.autoscaling.minReplicas")},
		rule{"spec.maxReplicaCount", field("spec.autoscaling.maxReplicas")},
		rule{"spec.advanced.horizontalPodAutoscalerConfig.behavior", field("spec.autoscaling.behavior")},
	),
	"VerticalPodAutoscaler": {
		{"spec.resourcePolicy.containerPolicies[0]", field("spec.verticalPodAutoscaler")},
		{"spec.updatePolicy", field("spec.verticalPodAutoscaler")},
	},
	"Ingress": append(same("spec.", "spec.ingress.", "ingressClassName", "tls"),
		rule{"spec.rules", hosts}, rule{"metadata.annotations", field("spec.ingress.annotations")},
	),
	"HTTPRoute":           route("spec.httpRoute."),
	"GRPCRoute":           route("spec.grpcRoute."),
	"PodDisruptionBudget": same("spec.", "spec.podDisruptionBudget.", "minAvailable", "maxUnavailable"),
	"NetworkPolicy": {
		{"spec.ingress", peers},
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
	"PrometheusRule": same("metadata.", "spec.prometheusRule.", "labels"),
}

const (
	pod       = "spec.template.spec."
	container = pod + "containers[0]."
)

var workload = slices.Concat([]rule{
	{"spec.strategy", field("spec.updateStrategy")},
	// The API server leaves out that both are in metadata, except where it compares them with the selector.
	{"spec.template.labels", field("spec.podLabels")},
	{"spec.template.metadata.labels", field("spec.podLabels")},
	{"spec.template.annotations", field("spec.podAnnotations")},
	{"spec.template.metadata.annotations", field("spec.podAnnotations")},
	{pod + "serviceAccountName", field("spec.serviceAccount.name")},
	{pod + "automountServiceAccountToken", field("spec.serviceAccount.automount")},
	{pod + "securityContext", field("spec.podSecurityContext")},
	{pod + "volumes", volumes},
	{container + "image", given("spec.image")},
	{container + "image", field("spec.collector")},
	{container + "lifecycle", given("spec.lifecycle")},
	{container + "imagePullPolicy", field("spec.image.pullPolicy")},
	{container + "env", items("spec.env")},
	{container + "ports", ports},
	{container + "volumeMounts", items("spec.extraVolumeMounts")},
	{pod + "containers", items("spec.extraContainers")},
	{pod + "dnsPolicy", given("spec.dnsPolicy")},
},
	same("spec.", "spec.", "replicas", "updateStrategy", "volumeClaimTemplates", "persistentVolumeClaimRetentionPolicy"),
	same(pod, "spec.", "affinity", "dnsConfig", "hostAliases", "hostNetwork", "hostPID", "imagePullSecrets", "initContainers",
		"nodeSelector", "os", "priorityClassName", "runtimeClassName", "schedulerName", "shareProcessNamespace",
		"terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints"),
	same(container, "spec.", "args", "command", "envFrom", "livenessProbe", "readinessProbe", "resources", "securityContext",
		"startupProbe", "workingDir"),
)

var check = append([]rule{
	{container + "args", given("spec.check.args")},
	{container + "resources", given("spec.check.resources")},
	{"spec.activeDeadlineSeconds", field("spec.check.timeoutSeconds")},
}, workload...)

func route(collectors string) []rule {
	return append(same("spec.", collectors, "parentRefs", "hostnames"), same("metadata.", collectors, "annotations")...)
}

// same are rules for fields that the Collector has under their own names, below another field.
func same(below, collectors string, names ...string) (found []rule) {
	for _, name := range names {
		found = append(found, rule{below + name, field(collectors + name)})
	}
	return found
}
