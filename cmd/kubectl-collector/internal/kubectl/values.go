package kubectl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// carried are the values of the chart opentelemetry-collector that a Collector has too, by the chart's names. A Collector
// has those with a name in the same place under that name.
var carried = map[string]string{
	"affinity": "", "autoscaling": "", "dnsConfig": "", "dnsPolicy": "", "extraContainers": "", "extraEnvs": "env", "extraEnvsFrom": "envFrom",
	"extraVolumeMounts": "", "extraVolumes": "", "hostAliases": "", "hostNetwork": "", "hostPID": "", "imagePullSecrets": "",
	"initContainers": "", "lifecycleHooks": "lifecycle", "mode": "", "nodeSelector": "", "podAnnotations": "", "podDisruptionBudget": "",
	"podLabels": "", "podSecurityContext": "", "priorityClassName": "", "replicaCount": "replicas", "resources": "", "runtimeClassName": "",
	"schedulerName": "", "securityContext": "", "shareProcessNamespace": "",
	"terminationGracePeriodSeconds": "", "tolerations": "", "topologySpreadConstraints": "",
	"livenessProbe": "", "readinessProbe": "", "startupProbe": "",
}

// needless are values that a Collector does without: it has its own names, or the operator decides.
var needless = []string{
	"alternateConfig", "config", "fullnameOverride", "global", "image", "nameOverride", "ports", "revisionHistoryLimit", "useGOMEMLIMIT",
}

// specOfValues returns the spec's fields that come from values, and the values that no field can have.
func specOfValues(values map[string]any) (spec map[string]any, left []string) {
	spec = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		field, isCarried := carried[name]
		switch {
		case name == "service" || name == "serviceAccount": // turned off, they say so
			spec[name] = value
		case slices.Contains(needless, name) || isOff(value):
		case name == "replicaCount" && values["mode"] == "daemonset":
		case isCarried && field == "":
			spec[name] = value
		case isCarried:
			spec[field] = value
		case name == "rollout":
			spec["updateStrategy"] = compact(map[string]any{"type": at(value, "strategy"), "rollingUpdate": at(value, "rollingUpdate")})
		case name == "statefulset":
			if claims := at(value, "volumeClaimTemplates"); !isOff(claims) {
				spec["volumeClaimTemplates"] = claims
				spec["persistentVolumeClaimRetentionPolicy"] = retention(at(value, "persistentVolumeClaimRetentionPolicy"))
			}
		case name == "command":
			if arguments, ok := at(value, "extraArgs").([]any); ok && len(arguments) > 0 {
				spec["args"] = append([]any{"--config=/etc/collector/config.yaml"}, arguments...)
			}
			if !isOff(at(value, "name")) {
				left = append(left, "command.name: the image's entrypoint starts the collector")
			}
		case name == "configMap":
			if existing := at(value, "existingName"); !isOff(existing) {
				left = append(left, fmt.Sprintf("configMap.existingName: copy the configuration from ConfigMap %v", existing))
			}
		case name == "presets":
			left = append(left, presets(spec, value)...)
		default:
			left = append(left, name)
		}
	}
	ports, unlike := ports(values)
	if len(ports) > 0 {
		spec["ports"] = ports
	}
	return spec, append(left, unlike...)
}

// retention returns what happens to claims. Without a policy, Kubernetes keeps them, and a Collector would delete them.
func retention(policy any) map[string]any {
	kept := map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"}
	if fields, isSet := policy.(map[string]any); isSet && fields["enabled"] == true {
		for when := range kept {
			kept[when] = cmp.Or(fields[when], kept[when])
		}
	}
	return kept
}

// presetsOf are a Collector's presets, by the chart's names.
var presetsOf = map[string]string{
	"clusterMetrics": "clusterMetrics", "hostMetrics": "hostMetrics", "kubeletMetrics": "kubeletMetrics",
	"kubernetesAttributes": "kubernetesAttributes", "logsCollection": "logs",
}

// presets turns on what a Collector has of the chart's presets, and returns the others.
func presets(spec map[string]any, value any) (left []string) {
	all, _ := value.(map[string]any)
	on := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if own := presetsOf[name]; at(all[name], "enabled") == true && own != "" {
			on[own] = map[string]any{"enabled": true}
		} else if !isOff(all[name]) {
			left = append(left, "presets."+name+": create the rights and volumes that it had, and name them in the Collector")
		}
	}
	if at(all["logsCollection"], "enabled") == true && at(all["logsCollection"], "storeCheckpoints") == true {
		left = append(left, "presets.logsCollection.storeCheckpoints: add its directory to extraVolumes, or logs are read anew")
	}
	if len(on) > 0 {
		spec["presets"] = on
	}
	return left
}

// ports returns the ports that the chart has open, in a Collector's form, and the values that no port can have.
func ports(values map[string]any) (ports map[string]any, left []string) {
	ports = map[string]any{}
	all, _ := values["ports"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		switch {
		case at(value, "enabled") == true:
			port := map[string]any{
				"port": at(value, "servicePort"), "protocol": at(value, "protocol"), "appProtocol": at(value, "appProtocol"),
			}
			if inside := at(value, "containerPort"); inside != port["port"] {
				port["targetPort"] = inside
			}
			// The chart opens it in no other mode. With hostNetwork, ports are the node's anyway, and the API server refuses a hostPort.
			if values["mode"] == "daemonset" && values["hostNetwork"] != true {
				port["hostPort"] = at(value, "hostPort")
			}
			ports[name] = compact(port)
			if !isOff(at(value, "nodePort")) {
				left = append(left, "ports."+name+".nodePort: Kubernetes chooses the port of the nodes")
			}
		case slices.Contains([]string{"otlp", "otlp-http", "metrics"}, name): // a Collector has them otherwise
			ports[name] = map[string]any{"enabled": false}
		}
	}
	return ports, left
}

// at returns a field of a map, or nil.
func at(value any, path ...string) any {
	for _, name := range path {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}

// compact returns fields without those that say nothing.
func compact(fields map[string]any) map[string]any {
	maps.DeleteFunc(fields, func(_ string, value any) bool { return isOff(value) })
	return fields
}

// isOff says whether a value asks for nothing.
func isOff(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return strings.TrimSpace(value) == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		if value["enabled"] == false {
			return true
		}
		for _, field := range value {
			if !isOff(field) {
				return false
			}
		}
		return true
	}
	return false
}
