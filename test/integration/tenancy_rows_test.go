package integration

import (
	"encoding/json"
	"errors"
	"strings"

	"sigs.k8s.io/yaml"
)

// tenancyNamespaces are the namespaces of the tables: name, labels and annotations.
const tenancyNamespaces = `
acme: {}
tenant-acme: {labels: {kube8.dev/tenant: acme}}
tenant-capitals: {labels: {kube8.dev/tenant: Acme}}
tenant-other: {labels: {kube8.dev/tenant: other}}
platform:
  labels: {kube8.dev/tenant: acme}
  annotations:
    limits.kube8.dev/replicas: "20"
    limits.kube8.dev/registries: registry.example.com
    limits.kube8.dev/modes: daemonset deployment
    limits.kube8.dev/host-access: allowed
    limits.kube8.dev/limits.memory: 4Gi
slip:
  labels: {kube8.dev/tenant: acme}
  annotations: {limits.kube8.dev/replica: "20"}
`

// tenants are references in namespaces, and what the policy collector-tenant.kube8.dev says of them.
var tenants = []struct{ name, namespace, reference, refusal string }{
	{name: "the namespace's name", namespace: "tenant-acme", reference: "tenant-acme"},
	{name: "the namespace's name in capitals", namespace: "acme", reference: "ACME"},
	{name: "the value of the namespace's label", namespace: "tenant-acme", reference: "acme"},
	{name: "the value of the namespace's label in capitals", namespace: "tenant-acme", reference: "Acme"},
	{name: "the value of a label with capitals", namespace: "tenant-capitals", reference: "acme"},
	{name: "the namespace's name where the label says another", namespace: "tenant-other", reference: "tenant-other"},
	{name: "another tenant's name", namespace: "tenant-acme", reference: "Other",
		refusal: `spec.tenant.reference is "Other"; in namespace tenant-acme it must be "tenant-acme" or "acme", by the namespace's label kube8.dev/tenant`},
	{name: "another tenant's name, which begins alike", namespace: "tenant-acme", reference: "acme-2",
		refusal: `spec.tenant.reference is "acme-2"; in namespace tenant-acme it must be "tenant-acme" or "acme", by the namespace's label kube8.dev/tenant`},
	{name: "another tenant's name in a namespace without the label", namespace: "acme", reference: "other",
		refusal: `spec.tenant.reference is "other"; in namespace acme it must be "acme", because the namespace has no label kube8.dev/tenant`},
}

// clusterLimits are the data of the ConfigMap collector-limits.
var clusterLimits = map[string]string{
	"registries":       "ghcr.io/open-telemetry\nregistry.example.com/mirror quay.io/one/collector\n",
	"modes":            "deployment statefulset",
	"replicas":         "5",
	"requests.cpu":     "500m",
	"requests.memory":  "512Mi",
	"limits.cpu":       "2",
	"limits.memory":    "1Gi",
	"check-args":       "forbidden",
	"host-access":      "forbidden",
	"privileges":       "forbidden",
	"exposure":         "forbidden",
	"hostnames":        "otlp.example.com *.acme.example.com",
	"containers":       "3",
	"runtime-classes":  "gvisor kata",
	"default-registry": "ghcr.io/open-telemetry/releases",
}

// refused is the refusal of one field by one limit of the ConfigMap.
func refused(field, found, limit string) string {
	value := strings.ReplaceAll(strings.TrimSpace(clusterLimits[limit]), "\n", " ")
	return field + " is " + found + "; the limit " + limit + " is " + value + ", by ConfigMap kube8-operator-system/collector-limits"
}

// modest is what the limits demand of a further container; its last fields count.
const modest = `image: quay.io/one/collector, securityContext: {allowPrivilegeEscalation: false}, resources: {requests: {memory: 1Mi}, limits: {cpu: 100m, memory: 64Mi}}`

// further is a patch with one further container that has other fields than a modest one.
func further(list, fields string) string {
	var container map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte("{"+modest+"}"), &container), yaml.Unmarshal([]byte("{name: one, "+fields+"}"), &container)); err != nil {
		panic(err)
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{list: []any{container}}})
	if err != nil {
		panic(err)
	}
	return string(patch)
}

// withCheck is the same with a check.
func withCheck(list, fields string) string {
	return strings.Replace(further(list, fields), `{"spec":{`, `{"spec":{"check":{},`, 1)
}

// initCommand refuses what an init container named one runs in the pod of a check.
var initCommand = refused("a command or argument of spec.initContainers[one], with spec.check,", "set", "check-args")

// limited are merge patches for the valid manifest, in namespace acme, with resources that meet clusterLimits, and what
// the policy collector-limits.kube8.dev says of the result.
var limited = []struct{ name, patch, refusal string }{
	{name: "only what is required", patch: `{}`},

	{name: "an allowed registry", patch: `{spec: {image: {registry: registry.example.com/mirror}}}`},
	{name: "a registry below an allowed one", patch: `{spec: {image: {registry: registry.example.com/mirror/otel}}}`},
	{name: "an allowed repository", patch: `{spec: {image: {repository: quay.io/one/collector}}}`},
	{name: "an allowed repository by the collector's name", patch: `{spec: {collector: {name: quay.io/one/collector}}}`},
	{name: "a repository that hides a forbidden registry", patch: `{spec: {image: {registry: evil.example.com, repository: quay.io/one/collector}}}`},
	{name: "another registry", patch: `{spec: {image: {registry: evil.example.com}}}`,
		refusal: refused("spec.image.registry with spec.collector.name", "evil.example.com/opentelemetry-collector", "registries")},
	{name: "another repository", patch: `{spec: {image: {repository: evil.example.com/ghcr.io/open-telemetry}}}`,
		refusal: refused("spec.image.repository", "evil.example.com/ghcr.io/open-telemetry", "registries")},
	{name: "another repository by the collector's name", patch: `{spec: {collector: {name: evil.example.com/collector}, image: {registry: quay.io/one}}}`,
		refusal: refused("spec.collector.name", "evil.example.com/collector", "registries")},
	{name: "a registry that begins like an allowed one", patch: `{spec: {image: {repository: registry.example.com/mirror.evil/collector}}}`,
		refusal: refused("spec.image.repository", "registry.example.com/mirror.evil/collector", "registries")},
	{name: "a repository that begins like an allowed one", patch: `{spec: {image: {repository: quay.io/one/collector-2}}}`,
		refusal: refused("spec.image.repository", "quay.io/one/collector-2", "registries")},
	{name: "a repository without a registry", patch: `{spec: {image: {repository: otel/collector}}}`,
		refusal: refused("spec.image.repository", "otel/collector", "registries")},
	{name: "a volume from an allowed registry", patch: `{spec: {extraVolumes: [{name: a, image: {reference: "quay.io/one/collector:1"}}]}}`},
	{name: "a volume from another registry", patch: `{spec: {extraVolumes: [{name: a, image: {reference: "evil.example.com:5000/a:1@sha256:00"}}]}}`,
		refusal: refused("spec.extraVolumes[a].image.reference", "evil.example.com:5000/a", "registries")},

	{name: "an allowed mode", patch: `{spec: {mode: statefulset}}`},
	{name: "another mode", patch: `{spec: {mode: daemonset}}`, refusal: refused("spec.mode", "daemonset", "modes")},

	{name: "as many replicas as are allowed", patch: `{spec: {replicas: 5, autoscaling: {enabled: true, maxReplicas: 5}}}`},
	{name: "more replicas", patch: `{spec: {replicas: 6}}`, refusal: refused("spec.replicas", "6", "replicas")},
	{name: "more replicas by autoscaling", patch: `{spec: {autoscaling: {enabled: true, maxReplicas: 6}}}`,
		refusal: refused("spec.autoscaling.maxReplicas", "6", "replicas")},

	{name: "as many resources as are allowed", patch: `{spec: {resources: {requests: {cpu: "0.5", memory: 512Mi}, limits: {cpu: "2", memory: 1024Mi}}}}`},
	{name: "requests that are more", patch: `{spec: {resources: {requests: {cpu: 501m, memory: 1G}}}}`,
		refusal: refused("spec.resources.requests.cpu", "501m", "requests.cpu") + ". " +
			refused("spec.resources.requests.memory", "1G", "requests.memory")},
	{name: "limits that are more", patch: `{spec: {resources: {limits: {cpu: 2001m, memory: 2Gi}}}}`,
		refusal: refused("spec.resources.limits.cpu", "2001m", "limits.cpu") + ". " +
			refused("spec.resources.limits.memory", "2Gi", "limits.memory")},
	{name: "a check with limits that are more", patch: `{spec: {check: {resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: "2", memory: 2Gi}}}}}`,
		refusal: refused("spec.check.resources.limits.memory", "2Gi", "limits.memory")},
	{name: "a check with the resources of the pods", patch: `{spec: {check: {}}}`},
	{name: "a check with the collector's own arguments, in so many words", patch: `{spec: {check: {args: []}}}`},
	{name: "a check with other arguments", patch: `{spec: {check: {args: [--config=/etc/passwd]}}}`,
		refusal: refused("spec.check.args", "set", "check-args")},
	{name: "a command without a check", patch: `{spec: {command: [/bin/sh, -c, id]}}`},
	{name: "no command with a check, in so many words", patch: `{spec: {command: [], check: {}}}`},
	{name: "a check with another command", patch: `{spec: {command: [/bin/sh, -c, id], check: {}}}`,
		refusal: refused("spec.command, with spec.check,", "set", "check-args")},
	{name: "a check with a command that is limited by its arguments too", patch: `{spec: {command: [/bin/sh], check: {args: [-c, id]}}}`,
		refusal: refused("spec.check.args", "set", "check-args") + ". " + refused("spec.command, with spec.check,", "set", "check-args")},
	{name: "a check with the program of an init container's image", patch: withCheck("initContainers", ``)},
	{name: "a check beside another container's command, which it does not run", patch: withCheck("extraContainers", `command: [id]`)},
	{name: "a check with an init container's command", patch: withCheck("initContainers", `command: [id]`), refusal: initCommand},
	{name: "a check with an init container's arguments", patch: withCheck("initContainers", `args: [-c, id]`), refusal: initCommand},
	{name: "a check with a command by a lifecycle", patch: withCheck("initContainers", `restartPolicy: Always, lifecycle: {postStart: {exec: {command: [id]}}}`),
		refusal: initCommand},
	{name: "a number where a quantity may be", patch: `{spec: {resources: {limits: {cpu: 3}}}}`,
		refusal: refused("spec.resources.limits.cpu", "3", "limits.cpu")},
	{name: "no limits", patch: `{spec: {resources: {limits: null}}}`,
		refusal: refused("spec.resources.limits.cpu", "not set", "limits.cpu") + ". " +
			refused("spec.resources.limits.memory", "not set", "limits.memory")},
	{name: "no requests, which are then the limits", patch: `{spec: {resources: {requests: null}}}`,
		refusal: refused("spec.resources.requests.cpu", "1", "requests.cpu") + ". " +
			refused("spec.resources.requests.memory", "1Gi", "requests.memory")},
	{name: "no resources, which are then the chart's", patch: `{spec: {resources: null}}`,
		refusal: refused("spec.resources.limits.cpu", "not set", "limits.cpu")},

	{name: "volumes that are not the host's", patch: `{spec: {extraVolumes: [{name: a, emptyDir: {}}, {name: b, secret: {secretName: b}}]}}`},
	{name: "no host's anything, in so many words", patch: `{spec: {hostNetwork: false, presets: {logs: {enabled: false}}}}`},
	{name: "the host's network", patch: `{spec: {hostNetwork: true}}`, refusal: refused("spec.hostNetwork", "true", "host-access")},
	{name: "a path of the host", patch: `{spec: {extraVolumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {path: /etc}}]}}`,
		refusal: refused("spec.extraVolumes[b].hostPath.path", "/etc", "host-access")},
	{name: "the host's processes", patch: `{spec: {hostPID: true}}`, refusal: refused("spec.hostPID", "true", "host-access")},
	{name: "ports of the host", patch: `{spec: {ports: {otlp: {hostPort: 4317}, metrics: {port: 1}}}}`,
		refusal: refused("spec.ports.otlp.hostPort", "4317", "host-access")},
	{name: "a request that the node sends to another host", patch: `{spec: {lifecycle: {preStop: {httpGet: {host: a, port: 80}}}}}`,
		refusal: refused("spec has a probe or lifecycle whose host", "set", "host-access")},
	{name: "hooks and probes of its own", patch: `{spec: {lifecycle: {preStop: {sleep: {seconds: 1}}}, livenessProbe: {httpGet: {port: 1}}}}`},
	{name: "the host's logs", patch: `{spec: {presets: {logs: {enabled: true}}}}`,
		refusal: refused("spec.presets.logs.enabled", "true", "host-access")},
	{name: "the host's files", patch: `{spec: {presets: {hostMetrics: {enabled: true}}}}`,
		refusal: refused("spec.presets.hostMetrics.enabled", "true", "host-access")},

	{name: "no privileges, in so many words", patch: `
spec:
	securityContext: {privileged: false, allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, procMount: Default}
	podSecurityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}`},
	{name: "a privileged container", patch: `{spec: {securityContext: {privileged: true, allowPrivilegeEscalation: true}}}`,
		refusal: refused("spec.securityContext.privileged", "true", "privileges") + ". " +
			refused("spec.securityContext.allowPrivilegeEscalation", "true", "privileges")},
	{name: "capabilities", patch: `{spec: {securityContext: {capabilities: {add: [NET_ADMIN, SYS_TIME]}}}}`,
		refusal: refused("spec.securityContext.capabilities.add", "NET_ADMIN SYS_TIME", "privileges")},
	{name: "root", patch: `{spec: {securityContext: {runAsNonRoot: false}, podSecurityContext: {runAsNonRoot: false}}}`,
		refusal: refused("spec.securityContext.runAsNonRoot", "false", "privileges") + ". " +
			refused("spec.podSecurityContext.runAsNonRoot", "false", "privileges")},
	{name: "the host's /proc", patch: `{spec: {securityContext: {procMount: Unmasked}}}`,
		refusal: refused("spec.securityContext.procMount", "Unmasked", "privileges")},
	{name: "all system calls", patch: `
spec:
	securityContext: {seccompProfile: {type: Unconfined}}
	podSecurityContext: {seccompProfile: {type: Unconfined}}`,
		refusal: refused("spec.securityContext.seccompProfile.type", "Unconfined", "privileges") + ". " +
			refused("spec.podSecurityContext.seccompProfile.type", "Unconfined", "privileges")},
	{name: "a process of the host on Windows", patch: `
spec:
	securityContext: {windowsOptions: {hostProcess: true}}
	podSecurityContext: {windowsOptions: {hostProcess: true}}`,
		refusal: refused("spec.securityContext.windowsOptions.hostProcess", "true", "privileges") + ". " +
			refused("spec.podSecurityContext.windowsOptions.hostProcess", "true", "privileges")},

	{name: "an allowed runtime class", patch: `{spec: {runtimeClassName: kata}}`},
	{name: "another runtime class", patch: `{spec: {runtimeClassName: runc}}`, refusal: refused("spec.runtimeClassName", "runc", "runtime-classes")},

	{name: "a Service inside the cluster", patch: `{spec: {service: {type: ClusterIP, headless: true}}}`},
	{name: "a Service for the world", patch: `{spec: {service: {type: LoadBalancer}}}`, refusal: refused("spec.service.type", "LoadBalancer", "exposure")},

	{name: "an Ingress", patch: `{spec: {ingress: {enabled: true, hosts: [{host: otlp.example.com}]}}}`,
		refusal: refused("spec.ingress.enabled", "true", "exposure")},
	{name: "names that are the tenant's, and one that is not", patch: `{spec: {ingress: {hosts: [{host: a.acme.example.com}, {host: acme.example.com}, {}]}}}`,
		refusal: refused("spec.ingress.hosts", "acme.example.com", "hostnames") + ". " + refused("spec.ingress.hosts", "every host", "hostnames")},
	{name: "a certificate for another name", patch: `{spec: {ingress: {tls: [{hosts: [otlp.example.com, a.example.com]}, {secretName: a}]}}}`,
		refusal: refused("spec.ingress.tls", "otlp.example.com a.example.com", "hostnames")},
	{name: "routes of the tenant's names and of all", patch: `
spec:
	httpRoute: {enabled: true, parentRefs: [{name: a}], hostnames: [otlp.example.com, b.acme.example.com]}
	grpcRoute: {enabled: true, parentRefs: [{name: a}]}`,
		refusal: refused("spec.httpRoute.enabled", "true", "exposure") + ". " + refused("spec.grpcRoute.enabled", "true", "exposure") + ". " +
			refused("spec.grpcRoute.hostnames", "every host", "hostnames")},
	{name: "requests that grow within the limits", patch: `{spec: {verticalPodAutoscaler: {enabled: true, maxAllowed: {cpu: 500m, memory: 512Mi}}}}`},
	{name: "requests that grow for ever", patch: `{spec: {verticalPodAutoscaler: {enabled: true, maxAllowed: {cpu: 1}}}}`,
		refusal: refused("spec.verticalPodAutoscaler.maxAllowed.cpu", "1", "requests.cpu") + ". " +
			refused("spec.verticalPodAutoscaler.maxAllowed.memory", "not set", "requests.memory")},

	{name: "further containers within the limits", patch: further("initContainers", ``)},
	{name: "more containers", patch: `{spec: {initContainers: [{name: a, ` + modest + `}, {name: b, ` + modest + `}, {name: c, ` + modest + `}]}}`,
		refusal: refused("the number of containers", "4", "containers")},
	{name: "a further container of another registry", patch: further("extraContainers", `image: "evil.example.com/a:1"`),
		refusal: refused("spec.extraContainers[one].image", "evil.example.com/a", "registries")},
	{name: "an init container with limits that are more", patch: further("initContainers", `resources: {requests: {cpu: 600m}, limits: {cpu: 3, memory: 1Gi}}`),
		refusal: refused("spec.initContainers[one].resources.requests.cpu", "600m", "requests.cpu") + ". " +
			refused("spec.initContainers[one].resources.requests.memory", "1Gi", "requests.memory") + ". " +
			refused("spec.initContainers[one].resources.limits.cpu", "3", "limits.cpu")},
	{name: "a further container without limits", patch: further("extraContainers", `resources: {limits: {cpu: 500m}}`),
		refusal: refused("spec.extraContainers[one].resources.limits.memory", "not set", "limits.memory")},
	{name: "a further container with privileges", patch: further("extraContainers", `securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN]}}`),
		refusal: refused("spec.extraContainers[one].securityContext.capabilities.add", "SYS_ADMIN", "privileges") + ". " +
			refused("spec.extraContainers[one].securityContext.privileged", "true", "privileges") + ". " +
			refused("spec.extraContainers[one].securityContext.allowPrivilegeEscalation", "true", "privileges")},
	{name: "a further container with a port of the host", patch: further("extraContainers", `ports: [{containerPort: 80, hostPort: 80}]`),
		refusal: refused("spec.extraContainers[one].ports.hostPort", "set", "host-access")},

	{name: "more than a message holds", patch: `{spec: {extraVolumes: [` +
		strings.Repeat(`{name: a, hostPath: {path: /}}, `, 500) + `], collector: {configuration: ` + encoded(256<<10) + `}}}`,
		refusal: "the Collector exceeds the limits of its platform team in more ways than fit here"},
}

// overridden are the same in namespaces that have limits of their own.
var overridden = []struct{ name, namespace, patch, refusal string }{
	{name: "more than the cluster's limits", namespace: "platform",
		patch: `{spec: {mode: daemonset, hostNetwork: true, image: {registry: registry.example.com}, resources: {limits: {memory: 4Gi}}}}`},
	{name: "more than the namespace's limits", namespace: "platform", patch: `{spec: {replicas: 21, mode: statefulset}}`,
		refusal: `the default registry with spec.collector.name is ghcr.io/open-telemetry/releases/opentelemetry-collector; the limit ` +
			`registries is registry.example.com, by annotation limits.kube8.dev/registries of namespace platform. ` +
			`spec.mode is statefulset; the limit modes is daemonset deployment, by annotation limits.kube8.dev/modes of namespace platform. ` +
			`spec.replicas is 21; the limit replicas is 20, by annotation limits.kube8.dev/replicas of namespace platform`},
	{name: "more than those of the cluster's limits that stay", namespace: "platform",
		patch:   `{spec: {image: {registry: registry.example.com}, securityContext: {privileged: true}}}`,
		refusal: refused("spec.securityContext.privileged", "true", "privileges")},
	{name: "an annotation that is no limit", namespace: "slip", patch: `{}`,
		refusal: `the limit replica is "20", by annotation limits.kube8.dev/replica of namespace slip; there is no such limit`},
}

// wrongLimits are data of the ConfigMap collector-limits, and what is said of a Collector that asks for nothing.
var wrongLimits = []struct{ limit, value, refusal string }{
	{"replica", "5", "there is no such limit"},
	{"replicas", "five", "it must be a whole number"},
	{"replicas", "-1", "it must be a whole number"},
	{"replicas", "", "it must be a whole number"},
	{"replicas", "99999999999999999999", "it must be a whole number"},
	{"requests.cpu", "half", "it must be an amount of CPU, such as 500m or 2"},
	{"limits.cpu", "2 cores", "it must be an amount of CPU, such as 500m or 2"},
	{"requests.memory", "1GB", "it must be an amount of memory, such as 512Mi or 2Gi"},
	{"limits.memory", "lots", "it must be an amount of memory, such as 512Mi or 2Gi"},
	{"modes", "deployment, statefulset", "it must be modes, separated by spaces"},
	{"registries", "", "it must be registries or repositories, separated by spaces, without / at the end"},
	{"registries", "ghcr.io/ quay.io", "it must be registries or repositories, separated by spaces, without / at the end"},
	{"default-registry", "ghcr.io/a ghcr.io/b", "it must be a registry, without / at the end"},
	{"check-args", "validate", "it must be allowed or forbidden"},
	{"host-access", "false", "it must be allowed or forbidden"},
	{"privileges", "none", "it must be allowed or forbidden"},
	{"exposure", "internal", "it must be allowed or forbidden"},
	{"containers", "two", "it must be a whole number"},
	{"hostnames", "", "it must be host names, separated by spaces, of which *.example.com is every one below example.com"},
	{"runtime-classes", "", "it must be names of RuntimeClasses, separated by spaces"},
}
