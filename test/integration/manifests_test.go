package integration

import (
	"encoding/base64"
	"strings"
)

// encoded returns the base64 of a configuration of some size.
func encoded(size int) string {
	text := "a: # " + secret
	return base64.StdEncoding.EncodeToString([]byte(text + strings.Repeat("#", size-len(text))))
}

// manifestRow is a row of the tables of manifests.
type manifestRow struct{ name, patch, refusal, offline string }

// manifests are merge patches for the valid manifest, and what the API server says of the result: nothing, for those
// that it accepts. Where render says it in other words, or knows more, that is in offline.
var manifests = []manifestRow{
	{name: "only what is required", patch: `{}`},
	{name: "everything", patch: everything},

	{name: "no configuration", patch: `{spec: {collector: {configuration: null}}}`},
	{name: "both configurations", patch: `{spec: {collector: {configurationSecret: {name: a, key: b}}}}`,
		refusal: `spec.collector: Invalid value: set one of configuration, configurationText and configurationSecret`},
	{name: "configuration at the limit", patch: `{spec: {collector: {configuration: ` + encoded(256<<10) + `}}}`},
	{name: "configuration that is a list", patch: `{spec: {collector: {configuration: LSBodW50ZXIyLWlzLW15LXBhc3N3b3Jk}}}`,
		offline: `spec.collector.configuration: line 1 is not a YAML mapping`},
	{name: "unknown format", patch: `{spec: {collector: {format: toml}}}`,
		refusal: `spec.collector.format: Unsupported value: "toml": supported values: "yaml", "raw"`,
		offline: `spec.collector.format: Unsupported value: supported values: "yaml", "raw"`},
	{name: "configurationSecret without key", patch: `{spec: {collector: {configuration: null, configurationSecret: {name: a}}}}`,
		refusal: `spec.collector.configurationSecret.key: Required value`},

	{name: "name of 53 characters", patch: `{metadata: {name: ` + strings.Repeat("a", 53) + `}}`},
	{name: "name of 53 characters with mode statefulset", patch: `{metadata: {name: ` + strings.Repeat("a", 53) + `}, spec: {mode: statefulset}}`,
		refusal: `metadata.name: at most 52 characters with mode statefulset, whose pods have a label of the name and 11 more`},
	{name: "name of 52 characters with mode statefulset", patch: `{metadata: {name: ` + strings.Repeat("a", 52) + `}, spec: {mode: statefulset}}`},
	{name: "name of 54 characters", patch: `{metadata: {name: ` + strings.Repeat("a", 54) + `}}`,
		refusal: `metadata.name: at most 53 characters, because it is the name of the Helm release`},
	{name: "name with a dot", patch: `{metadata: {name: a.b}}`,
		refusal: `metadata.name: lower-case letters, digits and '-', starting with a letter`},
	{name: "name that a headless Service may have", patch: `{metadata: {name: gateway-headless}}`,
		refusal: `metadata.name: must not end in -headless`},
	{name: "tenant without id", patch: `{spec: {tenant: {id: null}}}`, refusal: `spec.tenant.id: Required value`},
	{name: "tenant without reference", patch: `{spec: {tenant: {reference: null}}}`, refusal: `spec.tenant.reference: Required value`},
	{name: "tenant id that is not a label value", patch: `{spec: {tenant: {id: "a b"}}}`,
		refusal: `spec.tenant.id: Invalid value`},
	{name: "no cluster", patch: `{spec: {cluster: null}}`, refusal: `spec.cluster: Required value`},

	{name: "unknown field of the spec", patch: `{spec: {replica: 1}}`,
		refusal: `unknown field "spec.replica"`, offline: `spec.replica: unknown field`},
	{name: "a value that only the chart accepts", patch: `{spec: {enabled: true}}`,
		refusal: `unknown field "spec.enabled"`, offline: `spec.enabled: unknown field`},
	{name: "unknown field of the pod's security", patch: `{spec: {podSecurityContext: {runAsNonroot: true}}}`,
		refusal: `unknown field "spec.podSecurityContext.runAsNonroot"`, offline: `spec.podSecurityContext.runAsNonroot: unknown field`},
	{name: "unknown field of a toleration", patch: `{spec: {tolerations: [{key: a, efect: NoSchedule}]}}`,
		refusal: `unknown field "spec.tolerations[0].efect"`, offline: `spec.tolerations[0].efect: unknown field`},
	{name: "unknown field of a port", patch: `{spec: {ports: {otlp: {prot: 1}}}}`,
		refusal: `unknown field "spec.ports.otlp.prot"`, offline: `spec.ports.otlp.prot: unknown field`},
	{name: "wrong type", patch: `{spec: {replicas: three}}`,
		refusal: `spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"`,
		offline: `spec.replicas: Invalid value: spec.replicas in body must be of type integer: "string"`},

	{name: "daemonset with autoscaling", patch: `{spec: {mode: daemonset, autoscaling: {enabled: true, maxReplicas: 2}}}`,
		refusal: `autoscaling: not with mode daemonset`},
	{name: "daemonset with replicas", patch: `{spec: {mode: daemonset, replicas: 2}}`, refusal: `replicas: not with mode daemonset`},
	{name: "daemonset with a disruption budget", patch: `{spec: {mode: daemonset, podDisruptionBudget: {enabled: true}}}`,
		refusal: `podDisruptionBudget: not with mode daemonset`},
	{name: "daemonset with all of them disabled", patch: `{spec: {mode: daemonset, autoscaling: {}, podDisruptionBudget: {enabled: false}}}`},
	{name: "unknown mode", patch: `{spec: {mode: sidecar}}`,
		refusal: `spec.mode: Unsupported value: "sidecar": supported values: "deployment", "daemonset", "statefulset"`,
		offline: `spec.mode: Unsupported value: supported values: "deployment", "daemonset", "statefulset"`},
	{name: "volumeClaimTemplates of a deployment", patch: `{spec: {volumeClaimTemplates: [{metadata: {name: queue}, spec: ` + sized + `}]}}`,
		refusal: `volumeClaimTemplates: only with mode statefulset`},
	{name: "claims of a deployment's pods that are kept", patch: `{spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain}}}`,
		refusal: `persistentVolumeClaimRetentionPolicy: only with mode statefulset`},
	{name: "claims that are neither kept nor deleted", patch: `{spec: {mode: statefulset, persistentVolumeClaimRetentionPolicy: {whenDeleted: Recycle}}}`,
		refusal: `whenDeleted, whenScaled: Delete or Retain`},
	{name: "a shared claim without a size", patch: `{spec: {volumeClaims: [{metadata: {name: queue}, spec: {accessModes: [ReadWriteMany]}}]}}`,
		refusal: `a claim needs a size; set requests.storage`},
	{name: "Recreate of a statefulset", patch: `{spec: {mode: statefulset, updateStrategy: {type: Recreate}}}`,
		refusal: `updateStrategy.type: Recreate only with mode deployment`},
	{name: "OnDelete of a deployment", patch: `{spec: {updateStrategy: {type: OnDelete}}}`,
		refusal: `updateStrategy.type: OnDelete only with mode daemonset or statefulset`},
	{name: "a partition of a deployment", patch: `{spec: {updateStrategy: {rollingUpdate: {partition: 1}}}}`,
		refusal: `updateStrategy.rollingUpdate.partition: only with mode statefulset`},
	{name: "a surge of a statefulset", patch: `{spec: {mode: statefulset, updateStrategy: {rollingUpdate: {maxSurge: 1}}}}`,
		refusal: `updateStrategy.rollingUpdate.maxSurge: not with mode statefulset, whose pods have fixed names`},
	{name: "a statefulset without a pod that may be missing", patch: `{spec: {mode: statefulset, updateStrategy: {rollingUpdate: {maxUnavailable: 0}}}}`,
		refusal: `spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: not 0 with mode statefulset`},
	{name: "a statefulset without a percentage of pods that may be missing",
		patch:   `{spec: {mode: statefulset, updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}}}`,
		refusal: `spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: not 0 with mode statefulset`},
	{name: "a statefulset with a pod that may be missing", patch: `{spec: {mode: statefulset, updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}}}`},
	{name: "a deployment without a pod that may be missing", patch: `{spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}}}`},

	{name: "minReplicas above maxReplicas", patch: `{spec: {autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 2}}}`,
		refusal: `spec.autoscaling: Invalid value: autoscaling: minReplicas must not be larger than maxReplicas`},
	{name: "two who scale", patch: `{spec: {autoscaling: {enabled: true, maxReplicas: 2, external: true}}}`,
		refusal: `autoscaling: external means that somebody else scales; disable enabled or external`},
	{name: "daemonset that somebody else scales", patch: `{spec: {mode: daemonset, autoscaling: {external: true}}}`,
		refusal: `autoscaling: not with mode daemonset`},
	{name: "scaling to none", patch: `{spec: {autoscaling: {enabled: true, minReplicas: 0, maxReplicas: 2}}}`,
		refusal: `autoscaling: minReplicas 0 only with keda, or with a metric of type Object or External`},
	{name: "scaling to none by what the pods say", patch: `{spec: {autoscaling: {enabled: true, minReplicas: 0, maxReplicas: 2, metrics: [` + queue + `]}}}`,
		refusal: `autoscaling: minReplicas 0 only with keda, or with a metric of type Object or External`},
	{name: "scaling to none by what is outside", patch: `{spec: {autoscaling: {enabled: true, minReplicas: 0, maxReplicas: 2, metrics: [` + queue + `, ` + backlog + `]}}}`},
	{name: "scaling to none with keda", patch: `{spec: {autoscaling: {enabled: true, minReplicas: 0, maxReplicas: 2, keda: {triggers: [{type: cron, metadata: {}}]}}}}`},
	{name: "keda with a target", patch: `{spec: {autoscaling: {targetCPUUtilizationPercentage: 70, keda: {triggers: [{type: cron, metadata: {}}]}}}}`,
		refusal: `autoscaling: keda scales by its triggers alone; write metrics and targets as triggers`},
	{name: "pods without requests that a metric scales", patch: `{spec: {resources: {}, autoscaling: {enabled: true, maxReplicas: 2, metrics: [` + queue + `]}}}`},
	{name: "two who look at the requests", patch: `{spec: {verticalPodAutoscaler: {enabled: true}, autoscaling: {enabled: true, maxReplicas: 2}}}`,
		refusal: `verticalPodAutoscaler: not with autoscaling by a percentage of a request that it changes; set updateMode Off`},
	{name: "two who look at requests of memory", patch: `{spec: {verticalPodAutoscaler: {enabled: true, controlledResources: [memory]}, autoscaling:
		{enabled: true, maxReplicas: 2, targetMemoryUtilizationPercentage: 70}}}`,
		refusal: `verticalPodAutoscaler: not with autoscaling by a percentage of a request that it changes; set updateMode Off`},
	{name: "one who looks at requests of memory, and one at those of CPU",
		patch: `{spec: {verticalPodAutoscaler: {enabled: true, controlledResources: [memory]}, autoscaling: {enabled: true, maxReplicas: 2}}}`},
	{name: "one who looks at requests of CPU, and one at those of memory", patch: `{spec: {verticalPodAutoscaler:
		{enabled: true, controlledResources: [cpu]}, autoscaling: {enabled: true, maxReplicas: 2, targetMemoryUtilizationPercentage: 70}}}`},
	{name: "two who look at no resource in particular", patch: `{spec: {verticalPodAutoscaler: {enabled: true, controlledResources: []},
		autoscaling: {enabled: true, maxReplicas: 2, targetMemoryUtilizationPercentage: 70}}}`,
		refusal: `verticalPodAutoscaler: not with autoscaling by a percentage of a request that it changes; set updateMode Off`},
	{name: "one who looks at the requests, and one who recommends", patch: `{spec: {verticalPodAutoscaler: {enabled: true, updateMode: "Off"}, autoscaling: {enabled: true, maxReplicas: 2}}}`},
	{name: "requests that are changed, and pods that a metric scales", patch: `{spec: {verticalPodAutoscaler: {enabled: true}, autoscaling: {enabled: true, maxReplicas: 2, metrics: [` + queue + `]}}}`},
	{name: "an Ingress without hosts", patch: `{spec: {ingress: {enabled: true}}}`, refusal: `ingress: hosts is required when enabled`},
	{name: "a route to nowhere", patch: `{spec: {httpRoute: {enabled: true}}}`, refusal: `spec.httpRoute: Invalid value: parentRefs is required when enabled`},
	{name: "autoscaling without maxReplicas", patch: `{spec: {autoscaling: {enabled: true}}}`,
		refusal: `spec.autoscaling: Invalid value: autoscaling: maxReplicas is required when enabled`},
	{name: "negative replicas", patch: `{spec: {replicas: -1}}`,
		refusal: `spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0`,
		offline: `spec.replicas: Invalid value: spec.replicas in body should be greater than or equal to 0`},
	{name: "disruption budget with both limits", patch: `{spec: {podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}}}`,
		refusal: `podDisruptionBudget: set minAvailable or maxUnavailable, not both`},
	{name: "port name with capitals", patch: `{spec: {ports: {OTLP: {port: 1}}}}`, refusal: `ports: a name is at most 15 lower-case letters`},
	{name: "port name of 16 characters", patch: `{spec: {ports: {abcdefghijklmnop: {port: 1}}}}`,
		refusal: `ports: a name is at most 15 lower-case letters`},
	{name: "port number above 65535", patch: `{spec: {ports: {otlp: {port: 65536}}}}`, refusal: `spec.ports.otlp.port: Invalid value`},
	{name: "a port of the node in the node's network", patch: `{spec: {hostNetwork: true, ports: {otlp: {hostPort: 4317}}}}`,
		refusal: `ports: hostPort not with hostNetwork, with which each port is the node's; remove it`},
	{name: "a target port by number and one by name", patch: `{spec: {ports: {otlp: {targetPort: 1}, https: {port: 443, targetPort: otlp}}}}`},
	{name: "two views of processes", patch: `{spec: {hostPID: true, shareProcessNamespace: true}}`,
		refusal: `shareProcessNamespace: not with hostPID, with which the pods see all processes of the node`},
	{name: "no name servers", patch: `{spec: {dnsPolicy: None, dnsConfig: {searches: [a]}}}`, refusal: `dnsPolicy: None needs dnsConfig.nameservers`},
	{name: "an operating system that there is not", patch: `{spec: {os: {name: plan9}}}`, refusal: `name: linux or windows`},
	{name: "a container with the collector's name", patch: `{spec: {extraContainers: [{name: collector}]}}`,
		refusal: `name: collector is the collector's own container; choose another`},
	{name: "two init containers of one name", patch: `{spec: {initContainers: [{name: a}, {name: a}]}}`,
		refusal: `spec.initContainers[1]: Duplicate value`},
	{name: "a way from outside to a Service inside", patch: `{spec: {service: {externalTrafficPolicy: Local}}}`,
		refusal: `externalTrafficPolicy: only with type NodePort or LoadBalancer`},
	{name: "addresses of a load balancer that there is not", patch: `{spec: {service: {type: NodePort, loadBalancerSourceRanges: [10.0.0.0/8]}}}`,
		refusal: `loadBalancerClass, loadBalancerSourceRanges: only with type LoadBalancer`},
	{name: "a block of a load balancer with more bits", patch: `{spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.1/8]}}}`,
		refusal: `bits of the address are set beyond its prefix, as in 10.0.0.1/8; set`},
	{name: "blocks of a load balancer", patch: `{spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8, 10.1.2.3/32, "2001:db8::/64"]}}}`},
	{name: "a block of senders with more bits", patch: `{spec: {networkPolicy: {enabled: true, ingressFrom: [{ipBlock: {cidr: 10.0.0.1/8}}]}}}`,
		refusal: `spec.networkPolicy.ingressFrom[0]: Invalid value: ` + moreBits},
	{name: "a block of backends with more bits", patch: `{spec: {networkPolicy: {enabled: true, egress: [{ports: [{port: 443}]}, {to: [{ipBlock: {cidr: "2001:db8::1/64"}}]}]}}}`,
		refusal: `spec.networkPolicy.egress[1]: Invalid value: ` + moreBits},
	{name: "blocks of senders and backends", patch: `{spec: {networkPolicy: {enabled: true, ingressFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}],
		egress: [{to: [{ipBlock: {cidr: "2001:db8::/64"}}]}, {}]}}}`},
	{name: "a load balancer without an address", patch: `{spec: {service: {type: LoadBalancer, clusterIP: None}}}`,
		refusal: `clusterIP: None only with type ClusterIP`},
	{name: "a Service without an address", patch: `{spec: {service: {clusterIP: None}}}`},
	{name: "environment variable twice", patch: `{spec: {env: [{name: A, value: a}, {name: A, value: b}]}}`,
		refusal: `spec.env[1]: Duplicate value`},
	{name: "flow with a metric twice", patch: `{spec: {flow: {metrics: {received: [in, in], sent: [out]}}}}`,
		refusal: `spec.flow.metrics.received[1]: Duplicate value`},
	{name: "flow with 4 labels", patch: `{spec: {flow: {metrics: {received: ['in{a="",b!="",c="",d!=""}'], sent: [out]}}}}`},
	{name: "flow with 5 labels", patch: `{spec: {flow: {metrics: {received: ['in{a="",b!="",c="",d!="",e=""}'], sent: [out]}}}}`,
		refusal: `spec.flow.metrics.received[0]`},
	{name: "a scrape each millisecond", patch: `{spec: {serviceMonitor: {interval: 1ms}}}`,
		refusal: `interval: whole seconds, such as 30s`},
	{name: "scrape interval that is no duration", patch: `{spec: {podMonitor: {interval: often}}}`,
		refusal: `spec.podMonitor.interval: Invalid value`},
}

const moreBits = `ipBlock.cidr: bits of the address are set beyond its prefix, as in 10.0.0.1/8; set 10.0.0.0/8, or a longer prefix`

// queue is a metric to scale by, and backlog one that is there without pods.
const queue = `{type: Pods, pods: {metric: {name: queue}, target: {type: AverageValue, averageValue: "500"}}}`
const backlog = `{type: External, external: {metric: {name: backlog}, target: {type: AverageValue, averageValue: "500"}}}`

// everything sets each field of the spec once, but for those that exclude each other.
const everything = `
spec:
  collector: {format: yaml, fileName: collector.yaml, files: {a.lua: eA==}}
  tenant: {instance: staging}
  mode: statefulset
  replicas: 2
  image:
    registry: registry.example.com/mirror
    repository: registry.example.com/mirror/collector
    tag: 0.150.0
    digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    pullPolicy: IfNotPresent
  imagePullSecrets: [{name: registry}]
  command: [/otelcol]
  args: [--config=/etc/collector/config.yaml]
  workingDir: /work
  env:
  - {name: TOKEN, valueFrom: {secretKeyRef: {name: credentials, key: token}}}
  envFrom: [{secretRef: {name: credentials}}]
  ports:
    otlp: {enabled: false}
    statsd: {port: 8125, protocol: UDP, appProtocol: statsd}
    syslog: {port: 514, targetPort: 5514, hostPort: 514, service: true}
  service:
    enabled: true
    type: LoadBalancer
    annotations: {example.com/a: b}
    headless: true
    clusterIP: 10.0.0.10
    internalTrafficPolicy: Local
    externalTrafficPolicy: Local
    loadBalancerClass: example.com/a
    loadBalancerSourceRanges: [10.0.0.0/8]
    sessionAffinity: ClientIP
    trafficDistribution: PreferClose
  serviceAccount: {create: true, name: bound, annotations: {example.com/a: b}, automount: true}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, partition: 1}}
  volumeClaimTemplates:
  - metadata: {name: queue}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Delete}
  volumeClaims:
  - metadata: {name: archive}
    spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
  resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 1Gi}}
  livenessProbe: {httpGet: {path: /, port: 13133}}
  readinessProbe: {httpGet: {path: /, port: 13133}, periodSeconds: 5}
  startupProbe: {tcpSocket: {port: 13133}, failureThreshold: 30}
  lifecycle: {preStop: {sleep: {seconds: 1}}}
  initContainers: [{name: first, image: a, restartPolicy: Always}]
  extraContainers: [{name: second, image: a}]
  shareProcessNamespace: true
  podAnnotations: {example.com/a: b}
  podLabels: {example.com/a: b}
  podSecurityContext: {fsGroup: 10001}
  securityContext: {runAsUser: 10001}
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}}
  topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]
  os: {name: linux}
  runtimeClassName: gvisor
  schedulerName: other
  dnsPolicy: ClusterFirst
  dnsConfig: {searches: [example.com]}
  hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
  priorityClassName: system-cluster-critical
  terminationGracePeriodSeconds: 60
  extraVolumes: [{name: certificates, secret: {secretName: certificates}}]
  extraVolumeMounts: [{name: certificates, mountPath: /etc/certificates}, {name: queue, mountPath: /queue}]
  hostNetwork: false
  hostPID: false
  autoscaling:
    enabled: true
    minReplicas: 2
    maxReplicas: 5
    targetCPUUtilizationPercentage: 70
    targetMemoryUtilizationPercentage: 70
    metrics: [` + queue + `]
    behavior: {scaleDown: {stabilizationWindowSeconds: 60}}
  verticalPodAutoscaler:
    enabled: true
    updateMode: "Off"
    minAllowed: {cpu: 100m}
    maxAllowed: {memory: 1Gi}
    controlledResources: [memory]
    controlledValues: RequestsOnly
  ingress:
    enabled: true
    ingressClassName: nginx
    annotations: {example.com/a: b}
    hosts: [{host: a.example.com, paths: [{path: /, pathType: Prefix, port: statsd}]}]
    tls: [{hosts: [a.example.com], secretName: tls}]
  httpRoute: {enabled: true, annotations: {example.com/a: b}, parentRefs: [{name: a, namespace: b, sectionName: c}], hostnames: [a.example.com], port: statsd}
  grpcRoute: {enabled: true, parentRefs: [{name: a, group: b, kind: C, port: 1}], port: statsd}
  podDisruptionBudget: {enabled: true, minAvailable: 50%}
  networkPolicy:
    enabled: true
    ingressFrom: [{namespaceSelector: {}}]
    egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 443, protocol: TCP}]}]
  serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 30s, scrapeTimeout: 10s}
  podMonitor: {enabled: true, labels: {release: prometheus}, interval: 1m, scrapeTimeout: 10s}
  prometheusRule: {enabled: true, labels: {release: prometheus}}
  presets: {logs: {enabled: true}}
`
