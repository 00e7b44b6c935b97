package tests

import (
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	for name, row := range map[string]struct{ over, want string }{
		"both sources of the configuration": {
			`collector: {configurationSecret: {name: s, key: k}}`,
			"collector: set one of configuration, configurationText and configurationSecret",
		},
		"an empty port":                   {`ports: {nameless: {}}`, "ports.nameless: port is missing; give it a number, or remove it with enabled: false"},
		"one of another vendor's, either": {`{collector: {name: a/b}, ports: {nameless: {}}}`, "ports.nameless: port is missing"},
		"a file with the name of the configuration's": {
			`collector: {fileName: alloy.hcl, files: {alloy.hcl: e30=}}`,
			"collector.files: has the name of the configuration's own file; rename it, or set fileName",
		},
		"a text that YAML cannot have": {`env: [{name: A, value: "\x7f"}]`, "env: has a character that YAML forbids, such as DEL; remove it"},
		"a key that it cannot have":    {`nodeSelector: {"a\x85": b}`, "nodeSelector: has a character that YAML forbids"},
		"a text that it would change":  {`args: ["a\x85"]`, "args: has a character that YAML forbids"},
		"another text that it cannot":  {`podAnnotations: {a: "\x9f"}`, "podAnnotations: has a character that YAML forbids"},
		"two references to one Gateway": {
			`httpRoute: {enabled: true, parentRefs: [{name: g}, {name: other}, {kind: Gateway, name: g, sectionName: a}]}`,
			"httpRoute.parentRefs: two are for Gateway tenant-acme/g; give each another sectionName or port, or remove one",
		},
		"two references to one listener": {
			`grpcRoute: {enabled: true, parentRefs: [{name: g, port: 1}, {name: g, port: 1}]}`,
			"grpcRoute.parentRefs: two are for Gateway tenant-acme/g; give each another sectionName or port, or remove one",
		},
		"references to two listeners": {`grpcRoute: {enabled: true, parentRefs: [{name: g, port: 1}, {name: g, port: 2}]}`, ""},
		"two volumes of one name":     {`extraVolumes: [{name: a}, {name: a}]`, "extraVolumes: two volumes have the name a; rename one"},
		"a mount over the configuration": {
			`extraVolumeMounts: [{name: tmp, mountPath: //etc/collector/}]`,
			"extraVolumeMounts: /etc/collector is for the configuration; add a file there by collector.files, or mount elsewhere",
		},
		"two ports of one number": {
			`ports: {zipkin: {port: 4317}}`,
			"ports.otlp and ports.zipkin are both 4317/TCP; change one of the numbers, or remove one with enabled: false",
		},
		"two ports of one number in the pod": {
			`ports: {zipkin: {port: 9411, targetPort: 4317}}`,
			"ports.otlp and ports.zipkin are both 4317/TCP; change one of the numbers, or remove one with enabled: false",
		},
		"two ports of one number on the Service": {
			`ports: {zipkin: {port: 4317, targetPort: 9411}}`,
			"ports.otlp and ports.zipkin are both 4317/TCP; change one of the numbers, or remove one with enabled: false",
		},
		"two ports of one number on the node": {
			`ports: {otlp: {hostPort: 80}, otlp-http: {hostPort: 80}}`,
			"ports.otlp and ports.otlp-http are both 80/TCP; change one of the numbers, or remove one with enabled: false",
		},
		"a ServiceMonitor of metrics that are on no Service": {
			`{ports: {metrics: {service: false}}, serviceMonitor: {enabled: true}}`,
			"serviceMonitor: needs the Service and its port metrics; enable both, or use podMonitor",
		},
		"a port without a number": {
			`ports: {zipkin: {protocol: TCP}}`,
			"ports.zipkin: port is missing; give it a number, or remove it with enabled: false",
		},
		"a daemonset that scales": {
			`{mode: daemonset, autoscaling: {enabled: true, maxReplicas: 2}}`,
			"autoscaling: not with mode daemonset",
		},
		"a daemonset with a disruption budget": {
			`{mode: daemonset, podDisruptionBudget: {enabled: true}}`,
			"podDisruptionBudget: not with mode daemonset",
		},
		"an Ingress of a port that is not on the Service": {
			`{ports: {otlp-http: {service: false}}, ingress: {enabled: true, hosts: [{host: a.example.com}]}}`,
			"ingress: needs the Service and its port otlp-http; enable both, or name another port",
		},
		"a daemonset that another client scales": {`{mode: daemonset, autoscaling: {external: true}}`, "autoscaling: not with mode daemonset"},
		"scaling without a limit": {
			`autoscaling: {enabled: true}`,
			"autoscaling: maxReplicas is required when enabled",
		},
		"a flow on a port that has a name and no number": {
			`{flow: {}, ports: {metrics: {port: 80, targetPort: sidecar}},
				extraContainers: [{name: a, image: b, ports: [{name: sidecar, containerPort: 81}]}]}`,
			"flow: the number of the port metrics is not known; set flow.port",
		},
		"a deployment with volume claims": {
			`volumeClaimTemplates: [{metadata: {name: queue}, spec: {}}]`,
			"volumeClaimTemplates: only with mode statefulset",
		},
		"a volume with the name of one of the chart's": {
			`extraVolumes: [{name: config, emptyDir: {}}]`,
			"extraVolumes: the name config is the operator's own; choose another",
		},
		"a volume with the name of that of a preset": {
			`{presets: {hostMetrics: {enabled: true}}, extraVolumes: [{name: hostfs, emptyDir: {}}]}`,
			"extraVolumes: the name hostfs is the operator's own; choose another",
		},
		"two claim templates of one name": {
			`{mode: statefulset, volumeClaimTemplates: [{metadata: {name: a}, spec: {}}, {metadata: {name: a}, spec: {}}]}`,
			"volumeClaimTemplates: two volumes have the name a; rename one",
		},
		"a strategy that ignores how pods roll": {
			`updateStrategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}`,
			"updateStrategy.rollingUpdate: not with type Recreate, which ignores it; remove one of the two",
		},
		"a target port that no container has": {
			`ports: {otlp: {targetPort: grpc}}`, `ports.otlp.targetPort: no container has a port "grpc"; name another one, or give its number`,
		},
		"a probe of a port that the container does not have": {
			`readinessProbe: {httpGet: {port: health}}`, `readinessProbe.httpGet.port: the container has no port "health"; name another one, or give its number`,
		},
		"a probe of a port that another container has": {
			`extraContainers: [{name: a, image: a, livenessProbe: {tcpSocket: {port: otlp}}}]`,
			`extraContainers[a].livenessProbe.tcpSocket.port: the container has no port "otlp"; name another one, or give its number`,
		},
		"a relative mount path": {
			`{extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: a}]}`, `extraVolumeMounts: the mountPath "a" must begin with /`,
		},
		"a relative mount path of an init container": {
			`{extraVolumes: [{name: a, emptyDir: {}}], initContainers: [{name: a, image: a, volumeMounts: [{name: a, mountPath: ./a}]}]}`,
			`initContainers[a].volumeMounts: the mountPath "./a" must begin with /`,
		},
		"two files of one key": {
			`collector: {files: {a./b: e30=, a/.b: W10=}}`, "collector.files: a./b and a/.b are the same key of a Secret; rename one",
		},
		"a relative working directory": {`workingDir: work`, `workingDir: "work" must begin with /`},
		"root, which may not run": {
			`podSecurityContext: {runAsUser: 0}`, "securityContext: runAsUser is 0, which runAsNonRoot forbids; set runAsNonRoot to false, or another runAsUser",
		},
		"root of an init container, which may not run": {
			`initContainers: [{name: a, image: a, securityContext: {runAsUser: 0}}]`, "initContainers[a].securityContext: runAsUser is 0, which runAsNonRoot forbids",
		},
		"a handler that no kubelet runs": {
			`lifecycle: {postStart: {tcpSocket: {port: 4317}}}`,
			"lifecycle.postStart.tcpSocket: a kubelet runs no such handler, and stops the container; use exec, httpGet or sleep",
		},
		"a handler of a port that the container does not have": {
			`lifecycle: {postStart: {httpGet: {port: health}}}`,
			`lifecycle.postStart.httpGet.port: the container has no port "health"; name another one, or give its number`,
		},
		"a label of a monitor that is none": {`{podMonitor: {enabled: true, labels: {a: b c}}}`, "podMonitor.labels: the value of a has at most 63 letters"},
		"a command without a program":       {`command: ["", a]`, "command: its first word is empty; name a program"},
		"a NUL character":                   {`env: [{name: A, value: "a\\\0b"}]`, "env: has a NUL character, which no program takes; remove it"},
		"a line that only YAML ends": {
			`extraVolumes: [{name: v, persistentVolumeClaim: {claimName: "a\n\u2028hostPID: true"}}]`,
			"extraVolumes: has U+2028 or U+2029 in a text of several lines, which YAML ends there; remove it",
		},
		"a paragraph that only YAML ends": {`podAnnotations: {a: "b\u2029c\nd"}`, "podAnnotations: has U+2028 or U+2029 in a text"},
		"what Helm leaves out": {
			`securityContext: {seccompProfile: {type: "Uncon<no value>fined"}}`, "securityContext: has the text <no value>, which Helm leaves out; remove it",
		},
		"two spread constraints of one topology key and policy": {
			`topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}, ` +
				`{topologyKey: z, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}]`,
			"topologySpreadConstraints: two have the topologyKey z and whenUnsatisfiable DoNotSchedule; remove one",
		},
		"a ServiceMonitor without a Service": {
			`{service: {enabled: false}, serviceMonitor: {enabled: true}}`,
			"serviceMonitor: needs the Service and its port metrics; enable both, or use podMonitor",
		},
		"a ServiceMonitor without the port metrics": {
			`{ports: {metrics: {enabled: false}}, serviceMonitor: {enabled: true}}`,
			"serviceMonitor: needs the Service and its port metrics; enable both, or use podMonitor",
		},
		"a scrape that may take longer than until the next one": {
			`serviceMonitor: {enabled: true, interval: 1m30s, scrapeTimeout: 2m}`,
			"serviceMonitor.scrapeTimeout: 2m is more than the interval 1m30s, so the Prometheus operator ignores the monitor; set at most the interval",
		},
		"one of a PodMonitor, in milliseconds": {
			`podMonitor: {enabled: true, interval: 010s, scrapeTimeout: 10s1ms}`, "podMonitor.scrapeTimeout: 10s1ms is more than the interval 010s",
		},
		"a scrape that may take until the next one":    {`podMonitor: {enabled: true, interval: 1h, scrapeTimeout: 60m}`, ""},
		"a scrape that may take longer than a default": {`podMonitor: {enabled: true, scrapeTimeout: 1h}`, ""},
		"a scrape of a monitor that is not there":      {`podMonitor: {interval: 1s, scrapeTimeout: 2s}`, ""},
		"a PrometheusRule without a monitor": {
			`{prometheusRule: {enabled: true}}`,
			"prometheusRule: needs the metrics that serviceMonitor or podMonitor has scraped; enable one of them",
		},
		"a PodMonitor without the port metrics": {
			`{ports: {metrics: {enabled: false}}, podMonitor: {enabled: true}}`,
			"podMonitor: needs the port metrics; enable it",
		},
		"a field that is none of the Collector's, by the generated schema": {
			`{replicaCount: 2}`,
			"additional properties 'replicaCount' not allowed",
		},
		"no tenant, by the generated schema": {
			`{tenant: {id: null}}`,
			"missing property 'id'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, "edge", smallest(t, row.over))
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one that says: %s", err, row.want)
			}
		})
	}
}
