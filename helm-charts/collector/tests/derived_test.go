package tests

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestImage(t *testing.T) {
	const registry = "ghcr.io/open-telemetry/opentelemetry-collector-releases"
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for name, row := range map[string]struct{ over, want, policy string }{
		"the default registry, the name and the version": {
			`collector: {name: opentelemetry-collector, version: 0.150.0}`,
			registry + "/opentelemetry-collector:0.150.0", "IfNotPresent",
		},
		"a version loses its leading v below the default registry": {
			`collector: {name: opentelemetry-collector, version: v0.150.0}`,
			registry + "/opentelemetry-collector:0.150.0", "IfNotPresent",
		},
		"a version keeps its v in a repository of the user's own": {
			`{collector: {version: v1.0.0}, image: {repository: mirror.example.com/x}}`, "mirror.example.com/x:v1.0.0", "IfNotPresent",
		},
		"a version keeps its v below a registry of the user's own": {
			`{collector: {version: v1.0.0}, image: {registry: mirror.example.com/otel}}`, "mirror.example.com/otel/c:v1.0.0", "IfNotPresent",
		},
		"a version keeps its v where the name is the whole repository": {
			`collector: {name: grafana/alloy, version: v1.11.3}`, "grafana/alloy:v1.11.3", "IfNotPresent",
		},
		"a version that only begins with v keeps it": {
			`collector: {version: vendor-1}`, registry + "/c:vendor-1", "IfNotPresent",
		},
		"another registry": {
			`image: {registry: mirror.example.com/otel/}`, "mirror.example.com/otel/c:1.0.0", "IfNotPresent",
		},
		"a name with a slash is the whole repository": {
			`{collector: {name: mirror.example.com/a/b}, image: {registry: unused.example.com}}`,
			"mirror.example.com/a/b:1.0.0", "IfNotPresent",
		},
		"a repository wins over a name with a slash": {
			`{collector: {name: a/b}, image: {repository: mirror.example.com/x, registry: unused.example.com}}`,
			"mirror.example.com/x:1.0.0", "IfNotPresent",
		},
		"a tag wins over the version, as it stands": {
			`image: {tag: v1}`, registry + "/c:v1", "IfNotPresent",
		},
		"a digest wins over a tag": {
			`image: {tag: v1, digest: "` + digest + `"}`, registry + "/c@" + digest, "IfNotPresent",
		},
		"the tag latest is always pulled":           {`image: {tag: latest}`, registry + "/c:latest", "Always"},
		"the version latest is always pulled":       {`collector: {version: latest}`, registry + "/c:latest", "Always"},
		"a digest is not pulled again":              {`image: {tag: latest, digest: "` + digest + `"}`, registry + "/c@" + digest, "IfNotPresent"},
		"a pull policy of the user's own is heeded": {`image: {tag: latest, pullPolicy: Never}`, registry + "/c:latest", "Never"},
	} {
		t.Run(name, func(t *testing.T) {
			container := deployment(t, row.over).Spec.Template.Spec.Containers[0]
			if container.Image != row.want || string(container.ImagePullPolicy) != row.policy {
				t.Errorf("image %s %s, want %s %s", container.Image, container.ImagePullPolicy, row.want, row.policy)
			}
		})
	}
}

// The Kubernetes machinery says what is right.
func TestGOMEMLIMITIsFourFifthsOfTheMemoryLimit(t *testing.T) {
	for _, limit := range []string{
		"1073741824", "512M", "0.5G", "1.25G", "2T", "100Ki", "64Mi", "512Mi", "1024Mi", "1.5Gi", "0.3Gi", "1.25Ti", "1Pi",
		"128e6", "1.5E9", "15e+8", "536870912000m", "00512Mi", ".5Gi",
	} {
		t.Run(limit, func(t *testing.T) {
			container := deployment(t, fmt.Sprintf(`resources: {limits: {memory: %q}}`, limit)).Spec.Template.Spec.Containers[0]
			if got, want := goMemLimit(container), fourFifths(t, resource.MustParse(limit)); got != want {
				t.Errorf("GOMEMLIMIT %s, want %s", got, want)
			}
		})
	}
}

func fourFifths(t *testing.T, quantity resource.Quantity) string {
	t.Helper()
	value, ok := new(big.Rat).SetString(quantity.AsDec().String())
	if !ok {
		t.Fatalf("%s is no number", quantity.String())
	}
	value.Mul(value, big.NewRat(4, 5))
	return new(big.Int).Quo(value.Num(), value.Denom()).String()
}

func goMemLimit(container corev1.Container) string {
	for _, env := range container.Env {
		if env.Name == "GOMEMLIMIT" {
			return env.Value
		}
	}
	return ""
}

func TestResources(t *testing.T) {
	for name, row := range map[string]struct{ over, limits, requests, goMemLimit string }{
		"the defaults": {`{}`, "memory=512Mi", "cpu=100m memory=128Mi", "429496729"},
		"given ones replace the defaults as a whole": {`resources: {limits: {memory: 64Mi}}`, "memory=64Mi", "", "53687091"},
		"none":                         {`resources: {}`, "", "", ""},
		"no limit, no GOMEMLIMIT":      {`resources: {requests: {cpu: 1, memory: 1Gi}}`, "", "cpu=1 memory=1Gi", ""},
		"a limit of 0, which is none":  {`resources: {limits: {memory: "0"}}`, "memory=0", "", ""},
		"numbers":                      {`resources: {limits: {cpu: 2, memory: 1073741824}}`, "cpu=2 memory=1073741824", "", "858993459"},
		"a GOMEMLIMIT of the user's":   {`env: [{name: GOMEMLIMIT, value: 100MiB}]`, "memory=512Mi", "cpu=100m memory=128Mi", "100MiB"},
		"what is no quantity is left":  {`resources: {limits: {ephemeral-storage: 1Gi}}`, "ephemeral-storage=1Gi", "", ""},
		"extended resources are given": {`resources: {limits: {example.com/slot: "3"}}`, "example.com/slot=3", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			container := deployment(t, row.over).Spec.Template.Spec.Containers[0]
			if got := list(container.Resources.Limits); got != row.limits {
				t.Errorf("limits %q, want %q", got, row.limits)
			}
			if got := list(container.Resources.Requests); got != row.requests {
				t.Errorf("requests %q, want %q", got, row.requests)
			}
			if got := goMemLimit(container); got != row.goMemLimit {
				t.Errorf("GOMEMLIMIT %q, want %q", got, row.goMemLimit)
			}
		})
	}
}

func TestVariablesAreAsTheUserGaveThem(t *testing.T) {
	for _, text := range []string{
		"abc", "abc\n\n", "\nabc\n", " a ", "1042", "true", "null", "~", "é✓😀", `a"b'c\d`, "{{ x }}", "a: b # c", "\ta", "- a", "|", "$(TENANT_ID)", "\u00a0\u2028",
	} {
		container := deployment(t, fmt.Sprintf(`env: [{name: LAST, value: %q}]`, text)).Spec.Template.Spec.Containers[0]
		if got := container.Env[len(container.Env)-1]; got.Name != "LAST" || got.Value != text {
			t.Errorf("%s is %q, want %q", got.Name, got.Value, text)
		}
	}
}

func list(resources corev1.ResourceList) string {
	var parts []string
	for _, name := range []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/slot"} {
		if quantity, ok := resources[name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%s", name, quantity.String()))
		}
	}
	return strings.Join(parts, " ")
}

func TestAPodThatEndsServesForAMomentIfItHasTheTime(t *testing.T) {
	for over, want := range map[string]bool{
		`{}`:                                true,
		`terminationGracePeriodSeconds: 60`: true,
		`terminationGracePeriodSeconds: 6`:  true,
		`terminationGracePeriodSeconds: 5`:  false,
		`terminationGracePeriodSeconds: 0`:  false,
	} {
		t.Run(over, func(t *testing.T) {
			lifecycle := deployment(t, over).Spec.Template.Spec.Containers[0].Lifecycle
			if got := lifecycle != nil && lifecycle.PreStop.Sleep.Seconds == 5; got != want {
				t.Errorf("lifecycle %v, want a sleep of 5 seconds: %v", lifecycle, want)
			}
		})
	}
}

func TestDefaultProbes(t *testing.T) {
	const extension = "extensions: {health_check: %s}\nservice: {extensions: [health_check]}\n"
	at := func(fields string) string { return fmt.Sprintf(extension, fields) }
	for name, row := range map[string]struct{ config, want string }{
		"an address of all interfaces":           {at(`{endpoint: "0.0.0.0:13133"}`), "/ 13133"},
		"an address of all interfaces, IPv6":     {at(`{endpoint: "[::]:13133"}`), "/ 13133"},
		"no host":                                {at(`{endpoint: ":13133"}`), "/ 13133"},
		"a host from the environment":            {at(`{endpoint: "${env:POD_IP}:13133"}`), "/ 13133"},
		"a host that is local by default":        {at(`{endpoint: "${env:HEALTH_HOST:-localhost}:13133"}`), ""},
		"a path":                                 {at(`{endpoint: "0.0.0.0:1", path: /health}`), "/health 1"},
		"a host name that begins with localhost": {at(`{endpoint: "localhost.example.com:13133"}`), "/ 13133"},
		"localhost":                              {at(`{endpoint: "localhost:13133"}`), ""},
		"localhost in capitals":                  {at(`{endpoint: "LOCALHOST:13133"}`), ""},
		"a loopback address":                     {at(`{endpoint: "127.0.0.1:13133"}`), ""},
		"a loopback address, IPv6":               {at(`{endpoint: "[::1]:13133"}`), ""},
		"no endpoint, which means localhost":     {at(`{}`), ""},
		"no settings at all":                     {at(`null`), ""},
		"TLS":                                    {at(`{endpoint: "0.0.0.0:13133", tls: {cert_file: a}}`), ""},
		"a port from the environment":            {at(`{endpoint: "0.0.0.0:${env:PORT}"}`), ""},
		"no port":                                {at(`{endpoint: "0.0.0.0"}`), ""},
		"port 0":                                 {at(`{endpoint: "0.0.0.0:0"}`), ""},
		"a port that is too large":               {at(`{endpoint: "0.0.0.0:65536"}`), ""},
		"a path from the environment":            {at(`{endpoint: "0.0.0.0:1", path: "/${env:P}"}`), ""},
		"not enabled in the service": {
			"extensions: {health_check: {endpoint: ':13133'}}\nservice: {extensions: [zpages]}\n", "",
		},
		"the second one, by its name": {
			"extensions: {health_check: null, health_check/pods: {endpoint: ':13134'}}\n" +
				"service: {extensions: [zpages, health_check, health_check/pods]}\n", "/ 13134",
		},
		"an extension with a similar name": {
			"extensions: {health_checker: {endpoint: ':13133'}}\nservice: {extensions: [health_checker]}\n", "",
		},
		"extensions that are a list":        {"extensions: [health_check]\nservice: {extensions: [health_check]}\n", ""},
		"a service that is a string":        {"extensions: {health_check: {endpoint: ':1'}}\nservice: health_check\n", ""},
		"service extensions that are a map": {"extensions: {health_check: {endpoint: ':1'}}\nservice: {extensions: {a: b}}\n", ""},
		"service extensions of odd types":   {"extensions: {health_check: {endpoint: ':1'}}\nservice: {extensions: [1, null, {}, [a]]}\n", ""},
		"an extension that is a number":     {at(`42`), ""},
		"an endpoint that is a map":         {at(`{endpoint: {host: a, port: 1}}`), ""},
		"an endpoint that is a number":      {at(`{endpoint: 13133}`), ""},
		"a path that is a list":             {at(`{endpoint: ":1", path: [a]}`), ""},
		"a byte order mark":                 {"\ufeff" + at(`{endpoint: ":13133"}`), "/ 13133"},
		"line ends of Windows":              {strings.ReplaceAll(at(`{endpoint: ":13133"}`), "\n", "\r\n"), "/ 13133"},
		"a merged extension":                {"x: &x {endpoint: ':13133', path: /a}\n" + at(`{<<: *x, path: /b}`), "/b 13133"},
		"extensions that are merged from a list of mappings": {
			"x: &x {health_check: {endpoint: ':13133'}}\ny: &y {health_check: {endpoint: ':1'}, a: b}\n" +
				"extensions: {<<: [*x, *y]}\nservice: {extensions: [health_check]}\n", "/ 13133",
		},
		"aliases": {
			"a: &a health_check\nb: &b [*a]\nc: &c {endpoint: &d ':13133'}\nextensions: {*a : *c}\nservice: {extensions: *b}\n", "/ 13133",
		},
		"an empty path":                      {at(`{endpoint: ":13133", path: "", tls: {}}`), "/ 13133"},
		"a path that is null":                {at(`{endpoint: ":13133", path: null, tls: null}`), "/ 13133"},
		"a mapping with keys of other types": {"1: a\ntrue: b\n" + at(`{endpoint: ":13133"}`), "/ 13133"},
	} {
		t.Run(name, func(t *testing.T) {
			encoded := base64.StdEncoding.EncodeToString([]byte(row.config))
			d := deployment(t, "collector: {configuration: "+encoded+"}")
			container := d.Spec.Template.Spec.Containers[0]
			if got := httpGet(container.LivenessProbe); got != row.want {
				t.Errorf("liveness probe %q, want %q", got, row.want)
			}
			if got := httpGet(container.ReadinessProbe); got != row.want {
				t.Errorf("readiness probe %q, want %q", got, row.want)
			}
			if waits := d.Spec.MinReadySeconds > 0; waits != (row.want == "") {
				t.Errorf("minReadySeconds %d: want some exactly where nothing else says that a pod is ready", d.Spec.MinReadySeconds)
			}
		})
	}
}

func httpGet(probe *corev1.Probe) string {
	if probe == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", probe.HTTPGet.Path, probe.HTTPGet.Port.IntValue())
}

func TestProbesWithoutAReadableConfiguration(t *testing.T) {
	healthy := base64.StdEncoding.EncodeToString([]byte(
		"extensions: {health_check: {endpoint: ':13133'}}\nservice: {extensions: [health_check]}\n"))
	for name, row := range map[string]struct{ over, live, ready string }{
		"yaml": {`collector: {configuration: ` + healthy + `}`, "/ 13133", "/ 13133"},
		"yaml whose base64 has line breaks": {
			`collector: {configuration: "` + healthy[:20] + `\r\n` + healthy[20:] + `\n"}`, "/ 13133", "/ 13133",
		},
		"raw is not parsed":         {`collector: {format: raw, configuration: ` + healthy + `}`, "", ""},
		"another owner's Secret":    {`collector: {configuration: null, configurationSecret: {name: s, key: k}}`, "", ""},
		"an empty probe means none": {`{collector: {configuration: ` + healthy + `}, livenessProbe: {}}`, "", "/ 13133"},
		"a given probe replaces": {
			`{collector: {configuration: ` + healthy + `}, readinessProbe: {httpGet: {path: /r, port: 2}}}`, "/ 13133", "/r 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			container := deployment(t, row.over).Spec.Template.Spec.Containers[0]
			if live, ready := httpGet(container.LivenessProbe), httpGet(container.ReadinessProbe); live != row.live || ready != row.ready {
				t.Errorf("probes %q and %q, want %q and %q", live, ready, row.live, row.ready)
			}
		})
	}
}
