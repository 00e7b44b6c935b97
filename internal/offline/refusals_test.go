package offline

import (
	"strings"
	"testing"

	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/operator"
)

const required = `
collector: {name: opentelemetry-collector, version: v0.150.0, configuration: cmVjZWl2ZXJzOiB7fQo=}
tenant: {id: t-1, reference: Team-A}
cluster: prod
`

// These are the API server's messages about names.
const (
	notALabel = `Invalid value: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end ` +
		`with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
	notASubdomain = `Invalid value: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must ` +
		`start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	notAKey = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
		`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
	notAVariable = `Invalid value: a valid environment variable name must consist only of printable ASCII characters other than '='`
	notAPercent  = `Invalid value: a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', ` +
		`regex used for validation is '[0-9]+%')`
)

// claim is a volume claim template without its size.
const claim = `mode: statefulset
volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`

// malformed are specs that the API server refuses of the objects that the chart makes of them, and the lines that say so.
// They are rendered without the Collector's schema, which refuses some of them before.
var malformed = map[string]struct {
	spec string
	want []string
}{
	"nothing wrong": {spec: claim},
	"a request above its limit": {
		spec: `resources: {requests: {memory: 1Gi}, limits: {memory: 512Mi}}`,
		want: []string{`spec.resources.requests: Invalid value: must be less than or equal to memory limit of 512Mi`},
	},
	"an unknown resource, and a negative one": {
		spec: `resources: {requests: {memry: 1Gi, cpu: "-1"}}`,
		want: []string{
			`spec.resources.requests[cpu]: Invalid value: must be greater than or equal to 0`,
			`spec.resources.requests[memry]: Invalid value: must be a standard resource for containers`,
			`spec.resources.requests[memry]: Invalid value: must be a standard resource type or fully qualified`,
		},
	},
	"a variable that is named as in a shell, with its value": {
		spec: `env: [{name: FIRST, value: a}, {name: "TOKEN=hunter2"}]`,
		want: []string{`spec.env[1].name: ` + notAVariable},
	},
	"a variable with two values, in place of one of the chart's": {
		spec: `env: [{name: CLUSTER_NAME, value: hunter2, valueFrom: {secretKeyRef: {name: a, key: b}}}]`,
		want: []string{"spec.env[0].valueFrom: Invalid value: may not be specified when `value` is not empty"},
	},
	"variables of a Secret without a name": {
		spec: `envFrom: [{secretRef: {}}]`,
		want: []string{`spec.envFrom[0].secretRef.name: Required value`},
	},
	"a mount of a volume that is not there": {
		spec: `extraVolumeMounts: [{name: data, mountPath: /data}]`,
		want: []string{`spec.extraVolumeMounts[0].name: Not found: "data"`},
	},
	"two mounts at one path": {
		spec: "extraVolumes: [{name: a, emptyDir: {}}]\nextraVolumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /a}]",
		want: []string{`spec.extraVolumeMounts[1].mountPath: Invalid value: must be unique`},
	},
	"a mount at a path of the chart": {
		spec: "presets: {logs: {enabled: true}}\nextraVolumes: [{name: a, emptyDir: {}}]\nextraVolumeMounts: [{name: a, mountPath: /var/log/pods}]",
		want: []string{`spec.extraVolumeMounts[0].mountPath: Invalid value: must be unique`},
	},
	"a volume with two sources": {
		spec: `extraVolumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}, configMap: {name: c}}]`,
		want: []string{`spec.extraVolumes[1].configMap: Forbidden: may not specify more than 1 volume type`},
	},
	"two volumes of one name": {
		spec: `extraVolumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]`,
		want: []string{`spec.extraVolumes: two volumes have the name a; rename one`},
	},
	"an unknown toleration operator": {
		spec: `tolerations: [{key: a, operator: Equals, value: b}]`,
		want: []string{`spec.tolerations[0].operator: Unsupported value: "Equals": supported values: "Equal", "Exists"`},
	},
	"two handlers in a probe": {
		spec: `livenessProbe: {httpGet: {path: /, port: 13133}, tcpSocket: {port: 13133}}`,
		want: []string{`spec.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`},
	},
	"a probe without a handler": {
		spec: `startupProbe: {periodSeconds: 5}`,
		want: []string{`spec.startupProbe: Required value: must specify a handler type`},
	},
	"bad numbers in probes": {
		spec: "livenessProbe: {tcpSocket: {port: 1}, successThreshold: 2}\nreadinessProbe: {tcpSocket: {port: 1}, periodSeconds: -1}",
		want: []string{
			`spec.livenessProbe.successThreshold: Invalid value: must be 1`,
			`spec.readinessProbe.periodSeconds: Invalid value: must be greater than or equal to 0`,
		},
	},
	"a grace period that is too short for a probe's": {
		spec: `livenessProbe: {tcpSocket: {port: 1}, terminationGracePeriodSeconds: -1}`,
		want: []string{`spec.livenessProbe.terminationGracePeriodSeconds: Invalid value: must be greater than 0`},
	},
	"a claim without a size": {
		spec: strings.Replace(claim, "requests: {storage: 1Gi}", "", 1),
		want: []string{`spec.volumeClaimTemplates[0].spec.resources[storage]: Required value`},
	},
	"a claim with an invalid name": {
		spec: strings.Replace(claim, "name: data", "name: Da_ta", 1),
		want: []string{`spec.volumeClaimTemplates[0].metadata.name: ` + notALabel},
	},
	"a claim without a name": {
		spec: strings.Replace(claim, "name: data", "", 1),
		want: []string{`spec.volumeClaimTemplates[0].metadata.name: Required value`},
	},
	"a claim with an invalid label": {
		spec: strings.Replace(claim, "name: data", "name: data, labels: {a b: c}", 1),
		want: []string{`spec.volumeClaimTemplates[0].metadata.labels: Invalid value: "a b": ` + notAKey},
	},
	"a volume beside a claim": {
		spec: claim + `extraVolumes: [{name: a, emptyDir: {}, configMap: {name: c}}]`,
		want: []string{`spec.extraVolumes[0].configMap: Forbidden: may not specify more than 1 volume type`},
	},
	"an invalid label key": {
		spec: `podLabels: {good: a, team name: a}`,
		want: []string{`spec.podLabels: Invalid value: "team name": ` + notAKey},
	},
	"an invalid annotation key": {
		spec: `podAnnotations: {team name: a}`,
		want: []string{`spec.podAnnotations: Invalid value: "team name": ` + notAKey},
	},
	"an invalid nodeSelector key": {
		spec: `nodeSelector: {disk type: ssd}`,
		want: []string{`spec.nodeSelector: Invalid value: "disk type": ` + notAKey},
	},
	"a bad affinity operator": {
		spec: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Is}]}]}}}`,
		want: []string{`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: ` +
			`Invalid value: not a valid selector operator`},
	},
	"a bad spread": {
		spec: `topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: Never}]`,
		want: []string{
			`spec.topologySpreadConstraints[0].maxSkew: Invalid value: must be greater than zero`,
			`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"`,
		},
	},
	"a port's name that is too long, in two objects": {
		spec: `ports: {a-port-with-a-long-name: {port: 1}}`,
		want: []string{`spec.ports[a-port-with-a-long-name]: Invalid value: must be no more than 15 characters`},
	},
	"a port's number that is too high, and its protocol": {
		spec: `ports: {syslog: {port: 70000, appProtocol: a b}}`,
		want: []string{
			`spec.ports[syslog].appProtocol: Invalid value: ` + notAKey,
			`spec.ports[syslog].port: Invalid value: must be between 1 and 65535, inclusive`,
		},
	},
	"bad security contexts": {
		spec: "podSecurityContext: {runAsUser: -1}\nsecurityContext: {privileged: true}",
		want: []string{
			`spec.podSecurityContext.runAsUser: Invalid value: must be between 0 and 2147483647, inclusive`,
			"spec.securityContext: Invalid value: cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
		},
	},
	"a privileged container, which clusters allow": {
		spec: `securityContext: {privileged: true, allowPrivilegeEscalation: true}`,
	},
	"a Service's annotation": {
		spec: `service: {annotations: {a b: c}}`,
		want: []string{`spec.service.annotations: Invalid value: "a b": ` + notAKey},
	},
	"a ServiceAccount's name, in two objects": {
		spec: `serviceAccount: {name: Not A Name}`,
		want: []string{`spec.serviceAccount.name: ` + notASubdomain},
	},
	"an autoscaler": {
		spec: `autoscaling: {enabled: true, minReplicas: 2, maxReplicas: 1, behavior: {scaleDown: {stabilizationWindowSeconds: 9999}}}`,
		want: []string{
			`spec.autoscaling.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: must be less than or equal to 3600`,
			`spec.autoscaling.maxReplicas: Invalid value: must be greater than or equal to ` + "`minReplicas`",
		},
	},
	"an autoscaler's second target": {
		spec: `autoscaling: {enabled: true, maxReplicas: 2, targetCPUUtilizationPercentage: 80, targetMemoryUtilizationPercentage: -1}`,
		want: []string{`spec.autoscaling.targetMemoryUtilizationPercentage: Invalid value: must be greater than 0`},
	},
	"a disruption budget": {
		spec: `podDisruptionBudget: {enabled: true, minAvailable: "50"}`,
		want: []string{`spec.podDisruptionBudget.minAvailable: ` + notAPercent},
	},
	"a network policy": {
		spec: `networkPolicy: {enabled: true, ingressFrom: [{ipBlock: {cidr: 10.0.0.0}}], egress: [{to: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]}`,
		want: []string{
			`spec.networkPolicy.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer`,
			`spec.networkPolicy.ingressFrom[0].ipBlock.cidr: Invalid value: must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
		},
	},
	"an update that cannot begin": {
		spec: `updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 0}}`,
		want: []string{"spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: may not be 0 when `maxSurge` is 0"},
	},
	"a daemonset's update": {
		spec: "mode: daemonset\nupdateStrategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 1}}",
		want: []string{`spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: may not be set when maxUnavailable is non-zero`},
	},
	"a statefulset's update": {
		spec: claim + "updateStrategy: {rollingUpdate: {maxUnavailable: 0}}",
		want: []string{`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: cannot be 0`},
	},
}

func TestRefusalsAreTheAPIServersByTheCollectorsFields(t *testing.T) {
	t.Chdir("../..") // where the chart's path begins
	ws, err := operator.LoadWatches(operator.Options{WatchesFile: "watches.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range malformed {
		t.Run(name, func(t *testing.T) {
			if got, want := refused(t, &ws[0], test.spec), strings.Join(test.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// refused renders a Collector with what spec says beside the required fields, and returns what is refused of it.
func refused(t *testing.T, watch *watches.Watch, spec string) string {
	t.Helper()
	collector := &unstructured.Unstructured{}
	text := "{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway, namespace: team-a}}"
	if err := yaml.Unmarshal([]byte(text), &collector.Object); err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(required+spec), &values); err != nil {
		t.Fatal(err)
	}
	collector.Object["spec"] = values
	if _, err := (&Renderer{}).release(watch, collector); err != nil {
		return err.Error()
	}
	return ""
}
