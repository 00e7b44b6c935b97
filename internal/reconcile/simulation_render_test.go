package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/test/simulation"
)

// simKinds are the kinds of the model's chart.
var simKinds = map[string]schema.GroupVersionKind{
	"ServiceAccount": {Version: "v1", Kind: "ServiceAccount"}, "Secret": {Version: "v1", Kind: "Secret"},
	"PersistentVolumeClaim": {Version: "v1", Kind: "PersistentVolumeClaim"}, "Service": {Version: "v1", Kind: "Service"},
	"Job":                     {Group: "batch", Version: "v1", Kind: "Job"},
	"NetworkPolicy":           {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	"PodDisruptionBudget":     {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	"Deployment":              {Group: "apps", Version: "v1", Kind: "Deployment"},
	"DaemonSet":               {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	"StatefulSet":             {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	"HorizontalPodAutoscaler": {Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	"ScaledObject":            {Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"},
	"ServiceMonitor":          {Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
}

func simRef(kind, name string) live.Reference {
	return live.NewReference(simKinds[kind], name)
}

// simInputs are what a Collector is rendered from.
type simInputs struct {
	spec   simulation.Spec // effective
	secret int             // what the user's Secret has, if the configuration comes from it
	chart  int
	base   int // the content of the base that all share, or 0 without one
	hashes int // tells ways to hash apart
	uid    string
}

// configuration tells contents apart, wherever they come from.
func (in simInputs) configuration() int {
	if in.spec.Configuration == 0 {
		return 100 + in.secret
	}
	return in.spec.Configuration
}

// isBroken tells whether nothing can be rendered.
func (in simInputs) isBroken() bool {
	return in.spec.Configuration == simulation.Broken || in.base == simulation.Missing
}

// hash is that of what was rendered: the same for the same objects, without their owner.
func (in simInputs) hash() string {
	if in.spec.Configuration != 0 {
		in.secret = 0
	}
	in.uid = ""
	sum := sha256.Sum256(fmt.Append(nil, in))
	return hex.EncodeToString(sum[:])[:20] // as many letters as render.Parse gives it
}

// simName is the name of every Collector: each has a namespace of its own.
const simName = "c"

// simHistory is how many revisions are kept of a Collector. It is small, so that schedules get there.
const simHistory = 3

// simCharts renders, and remembers what was rendered: it never changes.
type simCharts struct {
	known  map[simInputs]plan.Want
	fields map[string][]simField
	marked map[string]plan.Want
}

func (c *simCharts) render(in simInputs) plan.Want {
	if in.spec.Configuration != 0 {
		in.secret = 0
	}
	if found, isKnown := c.known[in]; isKnown {
		return found
	}
	if len(c.known) > 2000 || c.known == nil {
		c.known = map[simInputs]plan.Want{}
	}
	want := plan.Want{Hash: in.hash()}
	for _, content := range in.contents() {
		object, err := render.NewObject(content)
		if err != nil {
			panic(err)
		}
		want.Objects = append(want.Objects, object)
	}
	c.known[in] = want
	return want
}

func (in simInputs) secretName() string {
	return fmt.Sprintf("%s-config-%d", simName, in.configuration())
}

// uses is what pods mount.
func (in simInputs) uses() string {
	account := in.spec.Account
	if account == "" {
		account = simName
	}
	uses := []string{"Secret/" + in.secretName(), "ServiceAccount/" + account}
	for bit := range 2 {
		if in.spec.Volumes&(1<<bit) != 0 {
			uses = append(uses, fmt.Sprintf("PersistentVolumeClaim/%s-%d", simName, bit))
		}
	}
	return strings.Join(uses, " ")
}

func (in simInputs) template() map[string]any {
	image := strconv.Itoa(in.spec.Image)
	if in.chart == 3 { // whose pods have another default
		image += "-chart3"
	}
	if in.base != 0 {
		image += "-base" + strconv.Itoa(in.base)
	}
	template := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"uses": in.uses(), "image": image}}}
	if in.spec.HostPort {
		port := map[string]any{"containerPort": int64(4317), "hostPort": int64(4317)}
		template["spec"] = map[string]any{"containers": []any{map[string]any{"name": "c", "ports": []any{port}}}}
	}
	return in.stamp(template)
}

// contents are the objects.
func (in simInputs) contents() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	add := func(kind, name string, spec map[string]any) *unstructured.Unstructured {
		labels := map[string]any{v1alpha1.CollectorLabel: simName, "chart": strconv.Itoa(in.chart)}
		if in.hashes != 0 { // the hash of an object cannot be computed in two ways here, so the object says it
			labels["hashes"] = strconv.Itoa(in.hashes)
		}
		object := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "ns", "labels": labels}, "spec": spec,
		}}
		object.SetGroupVersionKind(simKinds[kind])
		all = append(all, object)
		return object
	}
	account := in.spec.Account
	if account == "" {
		account = simName
	}
	add("ServiceAccount", account, map[string]any{"role": strconv.Itoa(in.spec.Role)})
	secret := add("Secret", in.secretName(), map[string]any{"data": strconv.Itoa(in.configuration())})
	secret.SetAnnotations(map[string]string{"kube8.dev/configuration": "collector"})
	for bit := range 2 {
		if in.spec.Volumes&(1<<bit) != 0 {
			add("PersistentVolumeClaim", fmt.Sprintf("%s-%d", simName, bit), map[string]any{
				"resources": map[string]any{"requests": map[string]any{"storage": fmt.Sprintf("%dGi", 1+in.spec.VolumeSize)}},
			})
		}
	}
	if in.spec.Check != 0 {
		sum := sha256.Sum256(fmt.Append(nil, in.spec.Check, in.template()))
		add("Job", simName+"-check-"+hex.EncodeToString(sum[:4]), map[string]any{"uses": in.uses(), "check": strconv.Itoa(in.spec.Check)})
	}
	add("Service", simName, map[string]any{"ports": strconv.Itoa(in.spec.Ports)})
	if in.spec.Policy {
		add("NetworkPolicy", simName, map[string]any{"ports": strconv.Itoa(in.spec.Ports)})
	}
	if in.spec.Budget {
		add("PodDisruptionBudget", simName, map[string]any{"maxUnavailable": "1"})
	}
	kind := simulation.Workloads[in.spec.Mode]
	add(kind, simName, in.workload())
	if in.spec.Autoscaling == "hpa" {
		add("HorizontalPodAutoscaler", simName, map[string]any{"target": kind})
	}
	if in.spec.Autoscaling == "keda" {
		add("ScaledObject", simName, map[string]any{"target": kind})
	}
	if in.chart == 2 {
		add("ServiceMonitor", simName, map[string]any{"ports": strconv.Itoa(in.spec.Ports)})
	}
	return all
}

func (in simInputs) workload() map[string]any {
	spec := map[string]any{"template": in.template()}
	if in.spec.Replicas != 0 {
		spec["replicas"] = int64(in.spec.Replicas)
	}
	if in.spec.Canary { // what the form of a canary sets, as without one
		spec["minReadySeconds"] = int64(0)
		spec["updateStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}}
	}
	if in.spec.ClaimSize != 0 {
		spec["volumeClaimTemplates"] = simClaimTemplates(fmt.Sprintf("%dGi", in.spec.ClaimSize), in.spec.ClaimClass)
	}
	if in.spec.Mode == "statefulset" {
		spec["selector"] = map[string]any{"matchLabels": map[string]any{v1alpha1.CollectorLabel: simName}}
	}
	return spec
}

// simClaim is the name of the one claim template.
const simClaim = "data"

// simClaimTemplates are those of a StatefulSet whose claims have a size and a class.
func simClaimTemplates(size, class string) []any {
	spec := map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size}}}
	if class != "" {
		spec["storageClassName"] = class
	}
	return []any{map[string]any{"metadata": map[string]any{"name": simClaim}, "spec": spec}}
}

// simField is a field of an object: its value, and who owns it.
type simField struct {
	name, value string
	owners      uint8
}

// The owners of fields.
const (
	simOperator uint8 = 1 << iota
	simHandover
	simAdopter
	simOther
)

const (
	simReplicas = "spec.replicas"
	simClaims   = "spec.volumeClaimTemplates"
	simClass    = "spec.claimClass"
	simTemplate = "spec.template"
	simData     = "spec.data"
	simSize     = "spec.size"
	simApplied  = "annotations." + v1alpha1.AppliedAnnotation
	simChecked  = "annotations." + v1alpha1.CheckedAnnotation
)

// simFlatten returns the fields of a content.
func simFlatten(content *unstructured.Unstructured) (fields []simField) {
	add := func(name string, value any) {
		fields = append(fields, simField{name: name, value: fmt.Sprint(value)})
	}
	metadata, _ := content.Object["metadata"].(map[string]any)
	for _, part := range []string{"labels", "annotations"} {
		values, _ := metadata[part].(map[string]any)
		for name, value := range values {
			add(part+"."+name, value)
		}
	}
	spec, _ := content.Object["spec"].(map[string]any)
	for name, value := range spec {
		switch name {
		case "selector":
		case "volumeClaimTemplates":
			size, _, _ := unstructured.NestedString(value.([]any)[0].(map[string]any), "spec", "resources", "requests", "storage")
			add(simClaims, size)
			if class, _, _ := unstructured.NestedString(value.([]any)[0].(map[string]any), "spec", "storageClassName"); class != "" {
				add(simClass, class)
			}
		case "resources":
			size, _, _ := unstructured.NestedString(spec, "resources", "requests", "storage")
			add(simSize, size)
		case "template":
			template := value.(map[string]any)
			pod, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
			if stamp := pod[postrender.TemplateAnnotation]; stamp != "" {
				pod["image"] += simStamp + stamp
			}
			hostPort := ""
			if template["spec"] != nil {
				hostPort = "host port"
			}
			add(simTemplate, strings.Join([]string{pod["uses"], pod["image"], hostPort}, "|"))
		default:
			add("spec."+name, value)
		}
	}
	return fields
}
