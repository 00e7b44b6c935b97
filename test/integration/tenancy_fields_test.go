package integration

// harmless are the fields of a spec that reach nothing beyond the tenant's namespace and its limits, by the reason for it. The fields
// of a container are those of the collector's own, with % before them, of the initContainers and of the extraContainers. ** is
// all that is in a field.
var harmless = map[string]string{
	"what its containers run, see and write": `args[] %env[].** %envFrom[].** %workingDir extraVolumeMounts[].** reloadedVolumes[]
		extraContainers[].args[] extraContainers[].command[] initContainers[].name extraContainers[].name
		initContainers[].volumeMounts[].** extraContainers[].volumeMounts[].** initContainers[].volumeDevices[].** extraContainers[].volumeDevices[].**
		initContainers[].stdin extraContainers[].stdin initContainers[].stdinOnce extraContainers[].stdinOnce initContainers[].tty extraContainers[].tty
		initContainers[].terminationMessagePath extraContainers[].terminationMessagePath
		initContainers[].terminationMessagePolicy extraContainers[].terminationMessagePolicy`,
	"when its containers start and end": `%livenessProbe.** %readinessProbe.** %startupProbe.** %lifecycle.**
		initContainers[].restartPolicy extraContainers[].restartPolicy initContainers[].restartPolicyRules[].** extraContainers[].restartPolicyRules[].**
		initContainers[].resizePolicy[].** extraContainers[].resizePolicy[].** check.timeoutSeconds
		canary.hold canary.onFailure canary.approval`,
	"which version of an allowed image": `image.pullPolicy image.tag image.digest imagePullSecrets[].name
		initContainers[].imagePullPolicy extraContainers[].imagePullPolicy collector.version os.name`,
	"the users of its processes, which are not root": `%securityContext.runAsGroup %securityContext.readOnlyRootFilesystem
		%securityContext.capabilities.drop[] %securityContext.seccompProfile.localhostProfile %securityContext.appArmorProfile.localhostProfile
		%securityContext.windowsOptions.runAsUserName podSecurityContext.fsGroup podSecurityContext.fsGroupChangePolicy podSecurityContext.runAsGroup
		podSecurityContext.seccompProfile.localhostProfile podSecurityContext.appArmorProfile.localhostProfile podSecurityContext.supplementalGroups[]
		podSecurityContext.supplementalGroupsPolicy podSecurityContext.windowsOptions.runAsUserName shareProcessNamespace`,
	"names that its pods look up": `dnsConfig.** dnsPolicy hostAliases[].**`,
	"its telemetry": `cluster tenant.id tenant.instance collector.configuration collector.configurationText collector.configurationSecret.**
		collector.files.* collector.fileName collector.format collector.bases[].position`,
	"what the Kubernetes API shows it, which takes a role": `presets.kubeletMetrics.enabled presets.kubernetesAttributes.enabled
		presets.kubernetesAttributes.namespaces[] presets.clusterMetrics.enabled presets.clusterMetrics.namespaces[] serviceAccount.automount
		serviceAccount.create serviceAccount.name`,
	"how many of the pods that it may have": `autoscaling.enabled autoscaling.external autoscaling.minReplicas
		autoscaling.targetCPUUtilizationPercentage autoscaling.targetMemoryUtilizationPercentage autoscaling.metrics[].** autoscaling.behavior.**
		autoscaling.keda.pollingInterval autoscaling.keda.cooldownPeriod verticalPodAutoscaler.enabled verticalPodAutoscaler.updateMode
		verticalPodAutoscaler.minAllowed.* verticalPodAutoscaler.controlledResources[] podDisruptionBudget.enabled
		updateStrategy.type updateStrategy.rollingUpdate.maxUnavailable updateStrategy.rollingUpdate.partition topologySpreadConstraints[].**`,
	"who reaches its pods, from inside the cluster": `ports.*.port ports.*.targetPort ports.*.protocol ports.*.appProtocol
		ports.*.enabled ports.*.service initContainers[].ports[].name extraContainers[].ports[].name initContainers[].ports[].containerPort
		extraContainers[].ports[].containerPort initContainers[].ports[].protocol extraContainers[].ports[].protocol
		service.enabled service.headless service.internalTrafficPolicy service.sessionAffinity service.trafficDistribution`,
	"who scrapes it, and how often": `serviceMonitor.enabled serviceMonitor.interval serviceMonitor.scrapeTimeout
		podMonitor.enabled podMonitor.interval podMonitor.scrapeTimeout prometheusRule.enabled flow.**`,
	"its own claims": `persistentVolumeClaimRetentionPolicy.** volumeClaimTemplates[].metadata.name volumeClaims[].metadata.name
		volumeClaimTemplates[].spec.accessModes[] volumeClaims[].spec.accessModes[] volumeClaimTemplates[].spec.volumeMode volumeClaims[].spec.volumeMode
		volumeClaimTemplates[].spec.storageClassName volumeClaims[].spec.storageClassName
		volumeClaimTemplates[].spec.resources.limits.* volumeClaims[].spec.resources.limits.*`,
	"volumes of the types that all may have": `extraVolumes[].name extraVolumes[].configMap.** extraVolumes[].secret.** extraVolumes[].emptyDir.**
		extraVolumes[].downwardAPI.** extraVolumes[].projected.defaultMode extraVolumes[].projected.defaultUser
		extraVolumes[].projected.sources[].configMap.** extraVolumes[].projected.sources[].secret.**
		extraVolumes[].projected.sources[].downwardAPI.** extraVolumes[].persistentVolumeClaim.**
		extraVolumes[].projected.sources[].serviceAccountToken.expirationSeconds extraVolumes[].projected.sources[].serviceAccountToken.path
		extraVolumes[].projected.sources[].serviceAccountToken.user extraVolumes[].image.pullPolicy`,
}

// classified are the fields that reach further: the limit that holds them, and a value that it refuses with all limits set.
var classified = []struct{ fields, limit, value string }{
	{"tenant.reference", "", `tenant: {reference: other}`},

	{"collector.name", "registries", `collector: {name: evil.example.com/collector}`},
	{"image.registry", "registries", `image: {registry: evil.example.com}`},
	{"image.repository", "registries", `image: {repository: evil.example.com/collector}`},
	{"extraVolumes[].image.reference", "registries", `extraVolumes: [{name: a, image: {reference: evil.example.com/a}}]`},
	{"initContainers[].image", "registries", `initContainers: [{name: a, image: evil.example.com/a}]`},
	{"extraContainers[].image", "registries", `extraContainers: [{name: a, image: evil.example.com/a}]`},

	{"mode", "modes", `mode: daemonset`},
	{"replicas", "replicas", `replicas: 6`},
	{"autoscaling.maxReplicas", "replicas", `autoscaling: {maxReplicas: 6}`},
	{"updateStrategy.rollingUpdate.maxSurge", "surge", `updateStrategy: {rollingUpdate: {maxSurge: 1000%}}`},
	{"canary.pods", "surge", `canary: {pods: 3}`},
	{"canary.pods", "surge", `mode: daemonset, canary: {pods: 1%}`},
	{"revisionHistoryLimit", "revisions", `revisionHistoryLimit: 13`},
	{"terminationGracePeriodSeconds", "grace-period", `terminationGracePeriodSeconds: 3153600000`},
	{"%livenessProbe.terminationGracePeriodSeconds", "grace-period", `livenessProbe: {httpGet: {port: 1}, terminationGracePeriodSeconds: 3600}`},
	{"%startupProbe.terminationGracePeriodSeconds", "grace-period", `startupProbe: {httpGet: {port: 1}, terminationGracePeriodSeconds: 3600}`},
	{"podDisruptionBudget.minAvailable", "blocked-evictions", `podDisruptionBudget: {enabled: true, minAvailable: 100%}`},
	{"podDisruptionBudget.maxUnavailable", "blocked-evictions", `podDisruptionBudget: {enabled: true, maxUnavailable: 0}`},

	{"%resources.requests.*", "requests.cpu", `resources: {requests: {cpu: 501m}}`},
	{"%resources.requests.*", "requests.memory", `resources: {requests: {memory: 1Gi}}`},
	{"%resources.requests.*", "requests.ephemeral-storage", `resources: {requests: {ephemeral-storage: 2Gi}}`},
	{"%resources.requests.*", "extended-resources", `resources: {requests: {example.com/device: 1}, limits: {example.com/device: 1}}`},
	{"%resources.limits.*", "limits.cpu", `resources: {requests: {cpu: 0}, limits: {cpu: 0}}`},
	{"%resources.limits.*", "limits.cpu", `resources: {limits: {cpu: 3}}`},
	{"%resources.limits.*", "limits.memory", `resources: {requests: {memory: 0}, limits: {memory: "0"}}`},
	{"%resources.limits.*", "limits.memory", `resources: {limits: {memory: null}}`},
	{"%resources.limits.*", "limits.ephemeral-storage", `resources: {limits: {ephemeral-storage: 3Gi}}`},
	{"%resources.claims[].name %resources.claims[].request", "extended-resources", `resources: {claims: [{name: a, request: b}]}`},
	{"check.resources.limits.* check.resources.requests.*", "limits.memory", `check: {resources: {limits: {cpu: 1, ephemeral-storage: 1Gi}}}`},
	{"check.resources.claims[].name check.resources.claims[].request", "extended-resources", `check: {resources: {claims: [{name: a}]}}`},
	{"verticalPodAutoscaler.maxAllowed.*", "requests.cpu", `verticalPodAutoscaler: {enabled: true, maxAllowed: {cpu: 100, memory: 1Mi}}`},
	{"verticalPodAutoscaler.controlledValues", "limits.memory",
		`verticalPodAutoscaler: {enabled: true, controlledValues: RequestsAndLimits, maxAllowed: {cpu: 1m, memory: 1Mi}}`},

	{"check.args[]", "check-args", `check: {args: [a]}`},
	{"command[]", "check-args", `command: [a], check: {}`},
	{"initContainers[].command[]", "check-args", `initContainers: [{name: a, command: [a]}], check: {}`},
	{"initContainers[].args[]", "check-args", `initContainers: [{name: a, args: [a]}], check: {}`},

	{"hostNetwork", "host-access", `hostNetwork: true`},
	{"hostPID", "host-access", `hostPID: true`},
	{"ports.*.hostPort", "host-access", `ports: {otlp: {hostPort: 1}}`},
	{"initContainers[].ports[].hostPort initContainers[].ports[].hostIP", "host-access",
		`initContainers: [{name: a, ports: [{containerPort: 1, hostPort: 1, hostIP: 127.0.0.1}]}]`},
	{"extraContainers[].ports[].hostPort extraContainers[].ports[].hostIP", "host-access",
		`extraContainers: [{name: a, ports: [{containerPort: 1, hostPort: 1, hostIP: 127.0.0.1}]}]`},
	{"%livenessProbe.httpGet.host", "host-access", `livenessProbe: {httpGet: {host: a, port: 1}}`},
	{"%livenessProbe.tcpSocket.host", "host-access", `livenessProbe: {tcpSocket: {host: a, port: 1}}`},
	{"%readinessProbe.httpGet.host", "host-access", `readinessProbe: {httpGet: {host: a, port: 1}}`},
	{"%readinessProbe.tcpSocket.host", "host-access", `readinessProbe: {tcpSocket: {host: a, port: 1}}`},
	{"%startupProbe.httpGet.host", "host-access", `startupProbe: {httpGet: {host: a, port: 1}}`},
	{"%startupProbe.tcpSocket.host", "host-access", `startupProbe: {tcpSocket: {host: a, port: 1}}`},
	{"%lifecycle.postStart.httpGet.host", "host-access", `lifecycle: {postStart: {httpGet: {host: a, port: 1}}}`},
	{"%lifecycle.postStart.tcpSocket.host", "host-access", `lifecycle: {postStart: {tcpSocket: {host: a, port: 1}}}`},
	{"%lifecycle.preStop.httpGet.host", "host-access", `lifecycle: {preStop: {httpGet: {host: a, port: 1}}}`},
	{"%lifecycle.preStop.tcpSocket.host", "host-access", `lifecycle: {preStop: {tcpSocket: {host: a, port: 1}}}`},
	{"presets.logs.enabled", "host-access", `presets: {logs: {enabled: true}}`},
	{"presets.hostMetrics.enabled", "host-access", `presets: {hostMetrics: {enabled: true}}`},

	{"%securityContext.allowPrivilegeEscalation", "privileges", `securityContext: {allowPrivilegeEscalation: true}`},
	{"%securityContext.appArmorProfile.type", "privileges", `securityContext: {appArmorProfile: {type: Unconfined}}`},
	{"%securityContext.capabilities.add[]", "privileges", `securityContext: {capabilities: {add: [CHOWN]}}`},
	{"%securityContext.privileged", "privileges", `securityContext: {privileged: true}`},
	{"%securityContext.procMount", "privileges", `securityContext: {procMount: Unmasked}`},
	{"%securityContext.runAsNonRoot", "privileges", `securityContext: {runAsNonRoot: false}`},
	{"%securityContext.runAsUser", "privileges", `securityContext: {runAsUser: 0}`},
	{"%securityContext.seccompProfile.type", "privileges", `securityContext: {seccompProfile: {type: Unconfined}}`},
	{"%securityContext.seLinuxOptions.**", "privileges", `securityContext: {seLinuxOptions: {level: "s0:c1,c2"}}`},
	{"%securityContext.windowsOptions.hostProcess", "privileges", `securityContext: {windowsOptions: {hostProcess: true}}`},
	{"%securityContext.windowsOptions.gmsaCredentialSpec %securityContext.windowsOptions.gmsaCredentialSpecName", "privileges",
		`securityContext: {windowsOptions: {gmsaCredentialSpecName: a}}`},
	{"podSecurityContext.appArmorProfile.type", "privileges", `podSecurityContext: {appArmorProfile: {type: Unconfined}}`},
	{"podSecurityContext.runAsNonRoot", "privileges", `podSecurityContext: {runAsNonRoot: false}`},
	{"podSecurityContext.runAsUser", "privileges", `podSecurityContext: {runAsUser: 0}`},
	{"podSecurityContext.seccompProfile.type", "privileges", `podSecurityContext: {seccompProfile: {type: Unconfined}}`},
	{"podSecurityContext.seLinuxOptions.**", "privileges", `podSecurityContext: {seLinuxOptions: {level: "s0:c1,c2"}}`},
	{"podSecurityContext.seLinuxChangePolicy", "privileges", `podSecurityContext: {seLinuxChangePolicy: Recursive}`},
	{"podSecurityContext.sysctls[].**", "privileges", `podSecurityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: "0"}]}`},
	{"podSecurityContext.windowsOptions.hostProcess", "privileges", `podSecurityContext: {windowsOptions: {hostProcess: true}}`},
	{"podSecurityContext.windowsOptions.gmsaCredentialSpec podSecurityContext.windowsOptions.gmsaCredentialSpecName", "privileges",
		`podSecurityContext: {windowsOptions: {gmsaCredentialSpec: a}}`},

	{"service.type service.externalTrafficPolicy", "exposure", `service: {type: NodePort}`},
	{"service.loadBalancerClass service.loadBalancerSourceRanges[]", "exposure", `service: {type: LoadBalancer, loadBalancerClass: example.com/a}`},
	{"service.clusterIP", "exposure", `service: {clusterIP: 10.0.0.10}`},
	{"ingress.enabled ingress.ingressClassName ingress.hosts[].paths[].** ingress.tls[].secretName", "exposure",
		`ingress: {enabled: true, ingressClassName: a, hosts: [{host: otlp.example.com}]}`},
	{"httpRoute.enabled httpRoute.port httpRoute.parentRefs[].**", "exposure", `httpRoute: {enabled: true, parentRefs: [{name: a}]}`},
	{"grpcRoute.enabled grpcRoute.port grpcRoute.parentRefs[].**", "exposure", `grpcRoute: {enabled: true, parentRefs: [{name: a}]}`},
	{"networkPolicy.**", "network-policies", `networkPolicy: {enabled: true, egress: [{}]}`},
	{"ingress.hosts[].host", "hostnames", `ingress: {hosts: [{host: ""}]}`},
	{"ingress.tls[].hosts[]", "hostnames", `ingress: {tls: [{hosts: [""]}]}`},
	{"httpRoute.hostnames[]", "hostnames", `httpRoute: {enabled: true, parentRefs: [{name: a}], hostnames: [a.example.com]}`},
	{"grpcRoute.hostnames[]", "hostnames", `grpcRoute: {enabled: true, parentRefs: [{name: a}], hostnames: [a.example.com]}`},

	{"runtimeClassName", "runtime-classes", `runtimeClassName: runc`},
	{"priorityClassName", "priority-classes", `priorityClassName: system-node-critical`},
	{"nodeSelector.*", "scheduling", `nodeSelector: {a: b}`},
	{"schedulerName", "scheduling", `schedulerName: another`},
	{"tolerations[].**", "scheduling", `tolerations: [{operator: Exists}]`},
	{"affinity.nodeAffinity.**", "scheduling",
		`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}}}`},
	{"affinity.podAffinity.**", "scheduling", `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, namespaces: [b]}]}}`},
	{"affinity.podAntiAffinity.**", "scheduling",
		`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, namespaceSelector: {}}]}}`},
	{"affinity.podAntiAffinity.**", "scheduling",
		`affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: a, namespaces: [b]}}]}}`},

	{"extraVolumes[].hostPath.**", "host-access", `extraVolumes: [{name: a, hostPath: {path: /}}]`},
	{"extraVolumes[].ephemeral.volumeClaimTemplate.spec.**", "claims",
		`extraVolumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}}}}]`},
	{"extraVolumes[].ephemeral.volumeClaimTemplate.metadata.**", "metadata-keys",
		`extraVolumes: [{name: a, ephemeral: {volumeClaimTemplate: {metadata: {annotations: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}}}]`},
	{"extraVolumes[].projected.sources[].clusterTrustBundle.**", "volumes",
		`extraVolumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: a, path: a}}]}}]`},
	{"extraVolumes[].projected.sources[].podCertificate.**", "volumes",
		`extraVolumes: [{name: a, projected: {sources: [{podCertificate: {signerName: example.com/a, keyType: RSA3072, keyPath: a}}]}}]`},
	{"extraVolumes[].projected.sources[].serviceAccountToken.audience", "token-audiences",
		`extraVolumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: a, audience: vault}}]}}]`},
	{"volumeClaimTemplates[].spec.resources.requests.*", "claims", `mode: statefulset, volumeClaimTemplates: [{metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}}]`},
	{"volumeClaimTemplates[].spec.dataSource.**", "claims", claimWith("volumeClaimTemplates", `dataSource: {kind: PersistentVolumeClaim, name: a}`)},
	{"volumeClaimTemplates[].spec.dataSourceRef.**", "claims", claimWith("volumeClaimTemplates", `dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: b}`)},
	{"volumeClaimTemplates[].spec.selector.**", "claims", claimWith("volumeClaimTemplates", `selector: {matchLabels: {a: b}}`)},
	{"volumeClaimTemplates[].spec.volumeName", "claims", claimWith("volumeClaimTemplates", `volumeName: a`)},
	{"volumeClaimTemplates[].spec.volumeAttributesClassName", "claims", claimWith("volumeClaimTemplates", `volumeAttributesClassName: a`)},
	{"volumeClaims[].spec.resources.requests.*", "claims", `volumeClaims: [{metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}}]`},
	{"volumeClaims[].spec.dataSource.**", "claims", claimWith("volumeClaims", `dataSource: {kind: PersistentVolumeClaim, name: a}`)},
	{"volumeClaims[].spec.dataSourceRef.**", "claims", claimWith("volumeClaims", `dataSourceRef: {kind: PersistentVolumeClaim, name: a, namespace: b}`)},
	{"volumeClaims[].spec.selector.**", "claims", claimWith("volumeClaims", `selector: {matchLabels: {a: b}}`)},
	{"volumeClaims[].spec.volumeName", "claims", claimWith("volumeClaims", `volumeName: a`)},
	{"volumeClaims[].spec.volumeAttributesClassName", "claims", claimWith("volumeClaims", `volumeAttributesClassName: a`)},

	{"podAnnotations.*", "metadata-keys", `podAnnotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}`},
	{"podLabels.*", "metadata-keys", `podLabels: {sidecar.istio.io/inject: "true"}`},
	{"service.annotations.*", "metadata-keys", `service: {annotations: {a: b}}`},
	{"serviceAccount.annotations.*", "metadata-keys", `serviceAccount: {annotations: {eks.amazonaws.com/role-arn: b}}`},
	{"ingress.annotations.*", "metadata-keys", `ingress: {annotations: {a: b}}`},
	{"httpRoute.annotations.*", "metadata-keys", `httpRoute: {annotations: {a: b}}`},
	{"grpcRoute.annotations.*", "metadata-keys", `grpcRoute: {annotations: {a: b}}`},
	{"serviceMonitor.labels.*", "metadata-keys", `serviceMonitor: {labels: {a: b}}`},
	{"podMonitor.labels.*", "metadata-keys", `podMonitor: {labels: {a: b}}`},
	{"prometheusRule.labels.*", "metadata-keys", `prometheusRule: {labels: {a: b}}`},
	{"volumeClaimTemplates[].metadata.annotations.*", "metadata-keys",
		`mode: statefulset, volumeClaimTemplates: [{metadata: {name: a, annotations: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]`},
	{"volumeClaimTemplates[].metadata.labels.*", "metadata-keys",
		`mode: statefulset, volumeClaimTemplates: [{metadata: {name: a, labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]`},
	{"volumeClaims[].metadata.annotations.*", "metadata-keys",
		`volumeClaims: [{metadata: {name: a, annotations: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]`},
	{"volumeClaims[].metadata.labels.*", "metadata-keys",
		`volumeClaims: [{metadata: {name: a, labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]`},

	{"collector.bases[].name", "bases", `collector: {bases: [{name: secrets}]}`},
	{"autoscaling.keda.triggers[].**", "keda-triggers", `autoscaling: {enabled: true, maxReplicas: 2, keda: {triggers: [{type: external, metadata: {a: b}}]}}`},
	{"autoscaling.keda.triggers[].authenticationRef.kind autoscaling.keda.triggers[].authenticationRef.name", "cluster-credentials",
		`autoscaling: {enabled: true, maxReplicas: 2, keda: {triggers: [{type: cron, metadata: {a: b}, authenticationRef: {kind: ClusterTriggerAuthentication, name: a}}]}}`},
}
