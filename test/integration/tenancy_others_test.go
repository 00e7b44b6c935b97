package integration

import (
	"encoding/json"
	"errors"
	"fmt"
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
	{"network-policies", "true", "it must be allowed or forbidden"},
	{"containers", "two", "it must be a whole number"},
	{"hostnames", "", "it must be host names, separated by spaces, of which *.example.com is every one below example.com"},
	{"runtime-classes", "", "it must be names of RuntimeClasses, separated by spaces"},
	{"surge", "10%", "it must be a whole number"},
	{"grace-period", "1m", "it must be a whole number of seconds"},
	{"claims", "some", "it must be an amount of storage, such as 512Mi or 2Gi"},
	{"blocked-evictions", "no", "it must be allowed or forbidden"},
	{"priority-classes", "", "it must be names of PriorityClasses, separated by spaces"},
	{"volumes", "", "it must be types of volumes, separated by spaces"},
	{"bases", "", "it must be names of bases, separated by spaces, or none"},
}

// modest is what the limits demand of a further container; its last fields count.
const modest = `image: quay.io/one/collector, securityContext: {allowPrivilegeEscalation: false}, resources: {requests: {memory: 1Mi}, limits: {cpu: 100m, memory: 64Mi, ephemeral-storage: 1Gi}}`

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

// manyVolumes are volumes that are refused, each in words of its own.
func manyVolumes() string {
	var volumes strings.Builder
	for i := range 60 {
		fmt.Fprintf(&volumes, "{name: a%d-%s, hostPath: {path: /}}, ", i, strings.Repeat("x", 59))
	}
	return volumes.String()
}
