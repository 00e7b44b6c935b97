package integration

import (
	"strings"
)

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
	"network-policies": "forbidden",
	"hostnames":        "otlp.example.com *.acme.example.com",
	"containers":       "3",
	"runtime-classes":  "gvisor kata",
	"default-registry": "ghcr.io/open-telemetry/releases",

	"requests.ephemeral-storage": "1Gi",
	"limits.ephemeral-storage":   "2Gi",
	"claims":                     "10Gi",
	"revisions":                  "12",
	"surge":                      "2",
	"grace-period":               "60",
	"blocked-evictions":          "forbidden",
	"cluster-credentials":        "forbidden",
	"priority-classes":           "low",
	"scheduling":                 "podAffinity podAntiAffinity",
	"volumes":                    "configMap secret emptyDir downwardAPI projected persistentVolumeClaim image ephemeral hostPath",
	"extended-resources":         "none",
	"token-audiences":            "collector.example.com",
	"metadata-keys":              "team example.com/*",
	"keda-triggers":              "cron",
	"bases":                      "limits gateway",
}

// refused is the refusal of one field by one limit of the ConfigMap.
func refused(field, found, limit string) string {
	value := strings.ReplaceAll(strings.TrimSpace(clusterLimits[limit]), "\n", " ")
	return field + " is " + found + "; the limit " + limit + " is " + value + ", by ConfigMap kube8-operator-system/collector-limits"
}

// initCommand refuses what an init container named one runs in the pod of a check.
var initCommand = refused("a command or argument of spec.initContainers[one], with spec.check,", "set", "check-args")

// limited are merge patches for the valid manifest, in namespace acme, with resources that meet clusterLimits, and what
// the policy collector-limits.kube8.dev says of the result.
var limited = []struct{ name, patch, refusal string }{
	{name: "only what is required", patch: `{}`},

	{name: "allowed bases", patch: `{spec: {collector: {bases: [{name: gateway}, {name: limits, position: last}]}}}`},
	{name: "a base that is for others", patch: `{spec: {collector: {bases: [{name: gateway}, {name: secrets}]}}}`,
		refusal: refused("spec.collector.bases.name", "secrets", "bases")},

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
	{name: "a check with limits that are more", patch: `{spec: {check: {resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: "2", memory: 2Gi, ephemeral-storage: 1Gi}}}}}`,
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
			refused("spec.resources.limits.memory", "not set", "limits.memory") + ". " +
			refused("spec.resources.limits.ephemeral-storage", "not set", "limits.ephemeral-storage")},
	{name: "no limits in so many words", patch: `{spec: {resources: {requests: {cpu: 0}, limits: {cpu: 0}}}}`,
		refusal: refused("spec.resources.limits.cpu", "0", "limits.cpu")},
	{name: "no requests, which are then the limits", patch: `{spec: {resources: {requests: null}}}`,
		refusal: refused("spec.resources.requests.cpu", "1", "requests.cpu") + ". " +
			refused("spec.resources.requests.memory", "1Gi", "requests.memory")},
	{name: "no resources, which are then the chart's", patch: `{spec: {resources: null}}`,
		refusal: refused("spec.resources.limits.cpu", "not set", "limits.cpu") + ". " +
			refused("spec.resources.limits.ephemeral-storage", "not set", "limits.ephemeral-storage")},

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
	{name: "no AppArmor, by an annotation", patch: `{spec: {podAnnotations: {container.apparmor.security.beta.kubernetes.io/collector: unconfined}}}`,
		refusal: refused("a key of spec.podAnnotations", "container.apparmor.security.beta.kubernetes.io/collector", "metadata-keys") + ". " +
			refused("spec.podAnnotations[container.apparmor.security.beta.kubernetes.io/collector]", "unconfined", "privileges")},
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
	{name: "no NetworkPolicy, in so many words", patch: `{spec: {networkPolicy: {enabled: false, egress: [{}]}}}`},
	{name: "a NetworkPolicy that opens what another one closes", patch: `{spec: {networkPolicy: {enabled: true, egress: [{}]}}}`,
		refusal: refused("spec.networkPolicy.enabled", "true", "network-policies")},
	{name: "names that are the tenant's, and one that is not", patch: `{spec: {ingress: {hosts: [{host: a.acme.example.com}, {host: acme.example.com}, {}]}}}`,
		refusal: refused("spec.ingress.hosts", "acme.example.com", "hostnames") + ". " + refused("spec.ingress.hosts", "every host", "hostnames")},
	{name: "a certificate for another name", patch: `{spec: {ingress: {tls: [{hosts: [otlp.example.com, a.example.com]}, {secretName: a}]}}}`,
		refusal: refused("spec.ingress.tls", "otlp.example.com a.example.com", "hostnames") + ". " +
			refused("spec.ingress.tls", "every host", "hostnames")},
	{name: "routes of the tenant's names and of all", patch: `
spec:
	httpRoute: {enabled: true, parentRefs: [{name: a}], hostnames: [otlp.example.com, b.acme.example.com]}
	grpcRoute: {enabled: true, parentRefs: [{name: a}]}`,
		refusal: refused("spec.httpRoute.enabled", "true", "exposure") + ". " + refused("spec.grpcRoute.enabled", "true", "exposure") + ". " +
			refused("spec.grpcRoute.hostnames", "every host", "hostnames")},
	{name: "requests that grow within the limits", patch: `{spec: {verticalPodAutoscaler: {enabled: true, maxAllowed: {cpu: 500m, memory: 512Mi}}}}`},
	{name: "requests that are only watched", patch: `{spec: {verticalPodAutoscaler: {enabled: true, updateMode: "Off"}}}`},
	{name: "only memory that grows", patch: `{spec: {verticalPodAutoscaler: {enabled: true, controlledResources: [memory]}}}`,
		refusal: refused("spec.verticalPodAutoscaler.maxAllowed.memory", "not set", "requests.memory")},
	{name: "both that grow, by an empty list", patch: `{spec: {verticalPodAutoscaler: {enabled: true, controlledResources: [], maxAllowed: {memory: 512Mi}}}}`,
		refusal: refused("spec.verticalPodAutoscaler.maxAllowed.cpu", "not set", "requests.cpu")},
	{name: "requests that grow for ever", patch: `{spec: {verticalPodAutoscaler: {enabled: true, maxAllowed: {cpu: 1}}}}`,
		refusal: refused("spec.verticalPodAutoscaler.maxAllowed.cpu", "1", "requests.cpu") + ". " +
			refused("spec.verticalPodAutoscaler.maxAllowed.memory", "not set", "requests.memory")},

	{name: "further containers within the limits", patch: further("initContainers", ``)},
	{name: "more containers", patch: `{spec: {initContainers: [{name: a, ` + modest + `}, {name: b, ` + modest + `}, {name: c, ` + modest + `}]}}`,
		refusal: refused("the number of containers", "4", "containers")},
	{name: "a further container of another registry", patch: further("extraContainers", `image: "evil.example.com/a:1"`),
		refusal: refused("spec.extraContainers[one].image", "evil.example.com/a", "registries")},
	{name: "an init container with limits that are more", patch: further("initContainers", `resources: {requests: {cpu: 600m}, limits: {cpu: 3, memory: 1Gi, ephemeral-storage: 1Gi}}`),
		refusal: refused("spec.initContainers[one].resources.requests.cpu", "600m", "requests.cpu") + ". " +
			refused("spec.initContainers[one].resources.requests.memory", "1Gi", "requests.memory") + ". " +
			refused("spec.initContainers[one].resources.limits.cpu", "3", "limits.cpu")},
	{name: "a further container without limits", patch: further("extraContainers", `resources: {limits: {cpu: 500m, ephemeral-storage: 1Gi}}`),
		refusal: refused("spec.extraContainers[one].resources.limits.memory", "not set", "limits.memory")},
	{name: "a further container with privileges", patch: further("extraContainers", `securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN]}}`),
		refusal: refused("spec.extraContainers[one].securityContext.capabilities.add", "SYS_ADMIN", "privileges") + ". " +
			refused("spec.extraContainers[one].securityContext.privileged", "true", "privileges") + ". " +
			refused("spec.extraContainers[one].securityContext.allowPrivilegeEscalation", "true", "privileges")},
	{name: "a further container with a port of the host", patch: further("extraContainers", `ports: [{containerPort: 80, hostPort: 80}]`),
		refusal: refused("spec.extraContainers[one].ports.hostPort", "set", "host-access")},

	{name: "as many pods while they are replaced as are allowed", patch: `{spec: {replicas: 5, updateStrategy: {rollingUpdate: {maxSurge: 40%}}}}`},
	{name: "more pods while they are replaced", patch: `{spec: {replicas: 5, updateStrategy: {rollingUpdate: {maxSurge: 41%}}}}`, refusal: refused("spec.updateStrategy.rollingUpdate.maxSurge", "41%", "surge")},
	{name: "a share of as many pods as somebody else wants", patch: `
spec:
	replicas: 1
	autoscaling: {external: true}
	updateStrategy: {rollingUpdate: {maxSurge: 200%}}`, refusal: refused("spec.updateStrategy.rollingUpdate.maxSurge", "200%", "surge")},
	{name: "as many canary pods beside the others as are allowed", patch: `{spec: {replicas: 5, canary: {pods: 2}}}`},
	{name: "as many canary pods as all", patch: `{spec: {replicas: 5, canary: {pods: 100%, approval: Manual}}}`, refusal: refused("spec.canary.pods", "100%", "surge")},
	{name: "as many canary pods as all, in the place of others", patch: `{spec: {canary: {pods: 100%}, updateStrategy: {rollingUpdate: {maxSurge: 0}}}}`},
	{name: "canary pods of a StatefulSet", patch: `{spec: {mode: statefulset, replicas: 5, canary: {pods: 100%}}}`},
	{name: "a share of nobody knows how many nodes", patch: `{spec: {mode: daemonset, updateStrategy: {rollingUpdate: {maxSurge: 1%}}}}`,
		refusal: refused("spec.mode", "daemonset", "modes") + ". " + refused("spec.updateStrategy.rollingUpdate.maxSurge", "1%", "surge")},
	{name: "canary pods beside those of a daemonset, where none may be missing", patch: `{spec: {mode: daemonset, canary: {pods: 3}, updateStrategy: {rollingUpdate: {maxUnavailable: 0}}}}`, refusal: refused("spec.mode", "daemonset", "modes") + ". " + refused("spec.canary.pods", "3", "surge")},
	{name: "as long an end as is allowed", patch: `{spec: {terminationGracePeriodSeconds: 60, livenessProbe: {httpGet: {port: 1}, terminationGracePeriodSeconds: 60}}}`},
	{name: "a pod that takes a century to end", patch: `{spec: {terminationGracePeriodSeconds: 3153600000}}`,
		refusal: refused("spec.terminationGracePeriodSeconds", "3153600000", "grace-period")},
	{name: "as many revisions as there are without a number", patch: `{spec: {revisionHistoryLimit: 10}}`},
	{name: "more revisions", patch: `{spec: {revisionHistoryLimit: 13}}`, refusal: refused("spec.revisionHistoryLimit", "13", "revisions")},
	{name: "a budget that lets one pod of two go", patch: `{spec: {replicas: 2, podDisruptionBudget: {enabled: true, minAvailable: 50%}}}`},
	{name: "a budget that lets no pod of two go", patch: `{spec: {replicas: 2, podDisruptionBudget: {enabled: true, minAvailable: 51%}}}`,
		refusal: refused("spec.podDisruptionBudget.minAvailable", "51%", "blocked-evictions")},
	{name: "a budget with zeros before it", patch: `{spec: {replicas: 2, podDisruptionBudget: {enabled: true, minAvailable: 0000000000100%}}}`,
		refusal: refused("spec.podDisruptionBudget.minAvailable", "0000000000100%", "blocked-evictions")},
	{name: "a budget of pods that somebody else counts", patch: `
spec:
	replicas: 5
	autoscaling: {external: true}
	podDisruptionBudget: {enabled: true, minAvailable: 1}`, refusal: refused("spec.podDisruptionBudget.minAvailable", "1", "blocked-evictions")},
	{name: "a budget that lets no pod of the fewest go", patch: `
spec:
	autoscaling: {enabled: true, minReplicas: 2, maxReplicas: 5}
	podDisruptionBudget: {enabled: true, minAvailable: 2}`, refusal: refused("spec.podDisruptionBudget.minAvailable", "2", "blocked-evictions")},
	{name: "pods away from those of the namespace, of an allowed priority", patch: `
spec:
	priorityClassName: low
	schedulerName: default-scheduler
	affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}}`},
	{name: "a priority that evicts others", patch: `{spec: {priorityClassName: system-node-critical}}`,
		refusal: refused("spec.priorityClassName", "system-node-critical", "priority-classes")},
	{name: "pods that keep those of all namespaces away", patch: `
spec:
	affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, namespaceSelector: {}}]}}`,
		refusal: refused("a namespace in spec.affinity.podAntiAffinity", "set", "scheduling")},
	{name: "pods on chosen nodes, tainted or not", patch: `{spec: {nodeSelector: {a: b}, tolerations: [{operator: Exists}]}}`,
		refusal: refused("spec.nodeSelector", "set", "scheduling") + ". " + refused("spec.tolerations", "set", "scheduling")},
	{name: "a volume of a driver", patch: `{spec: {extraVolumes: [{name: a, csi: {driver: b}}, {name: c}]}}`,
		refusal: refused("the type of spec.extraVolumes[a]", "csi", "volumes")},
	{name: "an allowed audience, and that of the API server", patch: `
spec:
	extraVolumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: a}}, {serviceAccountToken: {path: b, audience: collector.example.com}}]}}]`},
	{name: "a device", patch: `{spec: {resources: {limits: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi, nvidia.com/gpu: 1}}}}`,
		refusal: refused("a resource of spec.resources", "nvidia.com/gpu", "extended-resources")},
	{name: "a claim as large as is allowed, of any class", patch: "{spec: {" + claimWith("volumeClaimTemplates", `storageClassName: fast, volumeMode: Block`) + "}}"},
	{name: "somebody else's volume by its name", patch: "{spec: {" + claimWith("volumeClaimTemplates", `volumeName: a`) + "}}",
		refusal: refused("a field of spec.volumeClaimTemplates[a].spec", "volumeName", "claims")},
	{name: "allowed keys", patch: `{spec: {podAnnotations: {team: a, example.com/a: b}, podLabels: {team: a}}}`},
	{name: "keys that begin like an allowed one", patch: `{spec: {podAnnotations: {team: a, team-b: a}, podLabels: {a.example.com/a: b}}}`,
		refusal: refused("a key of spec.podAnnotations", "team-b", "metadata-keys") + ". " + refused("a key of spec.podLabels", "a.example.com/a", "metadata-keys")},
	{name: "another container with an SELinux level", patch: further("extraContainers", `securityContext: {allowPrivilegeEscalation: false, seLinuxOptions: {level: a}}`),
		refusal: refused("a field of spec.extraContainers[one].securityContext", "seLinuxOptions", "privileges")},
	{name: "the platform's credentials", patch: `
spec:
	autoscaling: {enabled: true, maxReplicas: 2, keda: {triggers: [{type: cron, metadata: {}, authenticationRef: {kind: ClusterTriggerAuthentication, name: a}}]}}`,
		refusal: refused("spec.autoscaling.keda.triggers.authenticationRef.kind", "ClusterTriggerAuthentication", "cluster-credentials")},
	{name: "the platform's identity", patch: `
spec:
	autoscaling: {enabled: true, maxReplicas: 2, keda: {triggers: [{type: cron, metadata: {identityOwner: operator}}]}}`,
		refusal: refused("spec.autoscaling.keda.triggers.metadata.identityOwner", "operator", "cluster-credentials")},

	{name: "more than a message holds", patch: `{spec: {extraVolumes: [` +
		manyVolumes() + `], collector: {configuration: ` + encoded(256<<10) + `}}}`,
		refusal: "the Collector exceeds the limits of its platform team in more ways than fit here"},
}
