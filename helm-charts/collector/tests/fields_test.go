package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// rendered returns the objects of a kind that the smallest values with others over them become, as the given type.
func rendered[T any](t *testing.T, kind, over string, apis ...string) (found []T) {
	t.Helper()
	manifest, err := render(t, "edge", smallest(t, over), apis...)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects(t, manifest) {
		if o.Kind != kind {
			continue
		}
		var one T
		if err := yaml.UnmarshalStrict([]byte(o.raw), &one); err != nil {
			t.Fatal(err)
		}
		found = append(found, one)
	}
	return found
}

// proxy is another container with a port.
const proxy = `extraContainers: [{name: proxy, image: proxy, ports: [{name: proxy, containerPort: 1443}]}]`

func TestAPortIsWhereItIsAskedFor(t *testing.T) {
	for name, row := range map[string]struct{ over, pod, services string }{
		"by default in the pod and on the Service": {
			`{}`, "metrics=8888 otlp=4317 otlp-http=4318", "edge[metrics=8888:metrics otlp=4317:otlp otlp-http=4318:otlp-http]",
		},
		"with another number in the pod": {
			`ports: {otlp: {port: 443, targetPort: 4317}, otlp-http: {enabled: false}, metrics: {enabled: false}}`,
			"otlp=4317", "edge[otlp=443:otlp]",
		},
		"at another container's port": {
			`{ports: {otlp: {port: 443, targetPort: proxy}, otlp-http: {enabled: false}, metrics: {enabled: false}}, ` + proxy + `}`,
			"", "edge[otlp=443:proxy]",
		},
		"not on the Service": {
			`ports: {otlp: {service: false}, otlp-http: {enabled: false}}`, "metrics=8888 otlp=4317", "edge[metrics=8888:metrics]",
		},
		"on the node": {
			`ports: {otlp: {hostPort: 14317}, otlp-http: {enabled: false}, metrics: {enabled: false}}`,
			"otlp=4317@14317", "edge[otlp=4317:otlp]",
		},
		"on the node with the number in the pod, in the node's network": {
			`{hostNetwork: true, ports: {otlp: {port: 443, targetPort: 4317}, otlp-http: {enabled: false}, metrics: {enabled: false}}}`,
			"otlp=4317@4317", "edge[otlp=443:otlp]",
		},
		"metrics not on a load balancer": {
			`{service: {type: LoadBalancer}, ports: {otlp-http: {enabled: false}}}`, "metrics=8888 otlp=4317", "edge[otlp=4317:otlp]",
		},
		"metrics on a load balancer if asked": {
			`{service: {type: LoadBalancer}, ports: {metrics: {service: true}, otlp-http: {enabled: false}}}`,
			"metrics=8888 otlp=4317", "edge[metrics=8888:metrics otlp=4317:otlp]",
		},
		"metrics beside a load balancer for a ServiceMonitor": {
			`{service: {type: LoadBalancer}, serviceMonitor: {enabled: true}, ports: {otlp-http: {enabled: false}}}`,
			"metrics=8888 otlp=4317", "edge[otlp=4317:otlp] edge-headless[metrics=8888:metrics otlp=4317:otlp]",
		},
		"on a headless Service too": {
			`{service: {headless: true}, ports: {otlp-http: {enabled: false}, metrics: {enabled: false}}}`,
			"otlp=4317", "edge[otlp=4317:otlp] edge-headless[otlp=4317:otlp]",
		},
		"of another vendor, by default": {`collector: {name: grafana/alloy}`, "", ""},
		"of another vendor, as listed": {
			`{collector: {name: grafana/alloy}, ports: {metrics: {port: 12345}}}`, "metrics=12345", "edge[metrics=12345:metrics]",
		},
		"on no Service at all": {`{service: {enabled: false, headless: true}}`, "metrics=8888 otlp=4317 otlp-http=4318", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var pod, services []string
			for _, port := range deployment(t, row.over).Spec.Template.Spec.Containers[0].Ports {
				text := fmt.Sprintf("%s=%d", port.Name, port.ContainerPort)
				if port.HostPort != 0 {
					text += fmt.Sprintf("@%d", port.HostPort)
				}
				pod = append(pod, text)
			}
			if got := strings.Join(pod, " "); got != row.pod {
				t.Errorf("in the pod: %s, want %s", got, row.pod)
			}
			for _, service := range rendered[corev1.Service](t, "Service", row.over) {
				var ports []string
				for _, port := range service.Spec.Ports {
					ports = append(ports, fmt.Sprintf("%s=%d:%s", port.Name, port.Port, port.TargetPort.String()))
				}
				services = append(services, fmt.Sprintf("%s%v", service.Name, ports))
			}
			if got := strings.Join(services, " "); got != row.services {
				t.Errorf("on Services: %s, want %s", got, row.services)
			}
		})
	}
}

func TestAMonitorReadsMetricsWhereTheyAre(t *testing.T) {
	for name, row := range map[string]struct{ over, want string }{
		"on the Service":                   {`serviceMonitor: {enabled: true}`, "operator: DoesNotExist"},
		"beside a load balancer":           {`{service: {type: LoadBalancer}, serviceMonitor: {enabled: true}}`, "operator: Exists"},
		"on a load balancer that has them": {`{service: {type: LoadBalancer}, ports: {metrics: {service: true}}, serviceMonitor: {enabled: true}}`, "operator: DoesNotExist"},
		"in the pod":                       {`podMonitor: {enabled: true}`, `- port: "metrics"`},
		"at another container":             {`{ports: {metrics: {targetPort: proxy}}, podMonitor: {enabled: true}, ` + proxy + `}`, `- port: "proxy"`},
		"at one whose name is a word of YAML": {
			`{ports: {metrics: {targetPort: "on"}}, podMonitor: {enabled: true},
				extraContainers: [{name: a, image: a, ports: [{name: "on", containerPort: 1}]}]}`, `- port: "on"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, err := render(t, "edge", smallest(t, row.over), monitoring...)
			if err != nil || !strings.Contains(manifest, row.want) {
				t.Errorf("error %v, and no %q in\n%s", err, row.want, manifest)
			}
		})
	}
}

func TestSecurityContexts(t *testing.T) {
	const pod, container = "runAsNonRoot seccompProfile", "allowPrivilegeEscalation capabilities readOnlyRootFilesystem"
	for name, row := range map[string]struct{ over, pod, container string }{
		"the defaults":               {`{}`, pod, container},
		"more than the defaults":     {`{podSecurityContext: {fsGroup: 1}, securityContext: {runAsUser: 1}}`, "fsGroup " + pod, container + " runAsUser"},
		"null removes one default":   {`{podSecurityContext: {seccompProfile: null}}`, "runAsNonRoot", container},
		"null removes all of them":   {`{podSecurityContext: null, securityContext: null}`, "", ""},
		"an empty one changes none":  {`{podSecurityContext: {}, securityContext: {}}`, pod, container},
		"what only Linux has":        {`os: {name: linux}`, pod, container},
		"what Windows does not have": {`os: {name: windows}`, "runAsNonRoot", ""},
		"null with windows":          {`{os: {name: windows}, podSecurityContext: null, securityContext: null}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := deployment(t, row.over).Spec.Template.Spec
			if got := fields(t, spec.SecurityContext); got != row.pod {
				t.Errorf("of the pod: %q, want %q", got, row.pod)
			}
			if got := fields(t, spec.Containers[0].SecurityContext); got != row.container {
				t.Errorf("of the container: %q, want %q", got, row.container)
			}
		})
	}
}

// fields returns the names of the fields that are set, sorted.
func fields(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var set map[string]any
	if err := yaml.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestPodsOfWindowsRunOnItsNodes(t *testing.T) {
	for over, want := range map[string]string{
		`{}`:                  "map[]",
		`os: {name: linux}`:   "map[]",
		`os: {name: windows}`: "map[kubernetes.io/os:windows]",
		`{os: {name: windows}, nodeSelector: {a: b}}`: "map[a:b kubernetes.io/os:windows]",
	} {
		if got := fmt.Sprint(deployment(t, over).Spec.Template.Spec.NodeSelector); got != want {
			t.Errorf("%s: node selector %s, want %s", over, got, want)
		}
	}
}
