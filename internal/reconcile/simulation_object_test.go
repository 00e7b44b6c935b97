package reconcile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// simObject is an object of the cluster in memory.
type simObject struct {
	ref        live.Reference
	uid        types.UID
	version    int
	created    time.Time
	owner      types.UID // the Collector that controls it
	finalizers []string
	deleting   bool
	fields     []simField // by name
	at         time.Time  // of the operator's last apply that changed something
	digest     string
	editor     string

	ended  batchv1.JobCondition // of a Job
	status simStatus            // of a workload
}

// simStatus is what a workload says of its pods.
type simStatus struct {
	behind                      bool
	wanted, updated, ready, all int
	revision                    string // the template of its next pods
}

// String returns the object in one line.
func (o *simObject) String() string {
	var fields []string
	for _, field := range o.fields {
		if strings.HasPrefix(field.name, "spec.") || field.name == simApplied {
			fields = append(fields, fmt.Sprintf("%s=%s (%03b)", strings.TrimPrefix(field.name, "annotations."), field.value, field.owners))
		}
	}
	return fmt.Sprintf("%s UID %s, owner %s, deleting %t %v, %s", o.ref, o.uid, o.owner, o.deleting, o.finalizers, strings.Join(fields, ", "))
}

func (o *simObject) clone() *simObject {
	copied := *o
	copied.fields, copied.finalizers = slices.Clone(o.fields), slices.Clone(o.finalizers)
	return &copied
}

func (o *simObject) find(name string) *simField {
	for i := range o.fields {
		if o.fields[i].name == name {
			return &o.fields[i]
		}
	}
	return nil
}

func (o *simObject) get(name string) string {
	if found := o.find(name); found != nil {
		return found.value
	}
	return ""
}

func (o *simObject) kind() string { return o.ref.Kind().Kind }

func (o *simObject) isWorkload() bool { return live.IsWorkload(o.kind()) }

// replicas is how many pods a workload is to have. There are two nodes.
func (o *simObject) replicas() int {
	if o.kind() == "DaemonSet" {
		return 2
	}
	number, err := strconv.Atoi(o.get(simReplicas))
	if err != nil {
		return 1
	}
	return number
}

// uses is what pods of the workload, or of the Job, mount.
func (o *simObject) uses() string {
	if o.kind() == "Job" {
		return o.get("spec.uses")
	}
	uses, _, _ := strings.Cut(o.get(simTemplate), "|")
	return uses
}

func (o *simObject) takesHostPort() bool { return strings.HasSuffix(o.get(simTemplate), "host port") }

// apply merges fields as server-side apply does, with force. It tells whether anything has changed.
func (o *simObject) apply(fields []simField, by uint8) (changed bool) {
	given := make(map[string]bool, len(fields))
	for _, field := range fields {
		given[field.name] = true
		switch found := o.find(field.name); {
		case found == nil:
			o.fields, changed = append(o.fields, simField{field.name, field.value, by}), true
		case found.value != field.value:
			found.value, found.owners, changed = field.value, by, true
		case found.owners&by == 0:
			found.owners, changed = found.owners|by, true
		}
	}
	kept := o.fields[:0]
	for _, field := range o.fields {
		if field.owners&by != 0 && !given[field.name] {
			changed = true
			if field.owners &^= by; field.owners == 0 {
				continue // it is no longer wanted; replicas get their default
			}
		}
		kept = append(kept, field)
	}
	o.fields = kept
	slices.SortFunc(o.fields, func(a, b simField) int { return strings.Compare(a.name, b.name) })
	return changed
}

// set has another client set a field.
func (o *simObject) set(name, value string) {
	if o.find(name) == nil {
		o.fields = append(o.fields, simField{name: name})
		slices.SortFunc(o.fields, func(a, b simField) int { return strings.Compare(a.name, b.name) })
	}
	field := o.find(name)
	field.value, field.owners = value, simOther
}

// seal computes the digest of what the operator has applied.
func (o *simObject) seal() {
	var text strings.Builder
	owns := false
	for _, field := range o.fields {
		if field.owners&simOperator != 0 {
			owns = true
			text.WriteString(field.name)
			text.WriteByte(' ')
		}
	}
	o.digest = ""
	if owns {
		o.digest = text.String() + strconv.FormatInt(o.at.Unix(), 10) + o.get(simApplied)
	}
}

// seen returns what the operator knows of the object.
func (o *simObject) seen() live.Object {
	seen := live.Object{
		UID: o.uid, Version: strconv.Itoa(o.version), Created: o.created, Deleting: o.deleting, Finalizers: o.finalizers,
		Hash: o.get(simApplied), Digest: o.digest, Editor: o.editor, Checked: o.get(simChecked), Ended: o.ended,
	}
	if field := o.find(simReplicas); field != nil {
		seen.OwnsReplicas = field.owners&simOperator != 0
	}
	if o.isWorkload() {
		seen.Uses, seen.Replicas = cache.UsesOf(strings.Fields(o.uses())), int32(o.replicas())
		if o.kind() == "DaemonSet" && o.status.wanted == 0 {
			seen.Replicas, seen.Uncounted = 0, true
		}
		s := o.status
		seen.Revision, seen.Available, seen.All = s.revision, int32(s.ready), int32(s.all)
		if o.get(simClaims) != "" {
			seen.Claims = simClaim
		}
		if from, _ := o.partition(); o.kind() == "StatefulSet" {
			seen.Partition = int32(from)
		}
		seen.Serves = !s.behind && s.wanted > 0 && s.updated >= s.wanted && s.ready >= s.wanted
	}
	return seen
}

// whole returns the object as the API server has it.
func (o *simObject) whole(namespace string) *unstructured.Unstructured {
	spec := map[string]any{}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(o.ref.Kind())
	u.SetName(o.ref.Name())
	u.SetNamespace(namespace)
	u.SetUID(o.uid)
	u.SetResourceVersion(strconv.Itoa(o.version))
	u.SetFinalizers(o.finalizers)
	if o.deleting {
		u.SetDeletionTimestamp(&metav1.Time{Time: o.created})
	}
	u.SetAnnotations(map[string]string{v1alpha1.AppliedAnnotation: o.get(simApplied)})
	if o.owner != "" {
		isController := true
		u.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Collector", Name: simName, UID: o.owner, Controller: &isController}})
	}
	for _, field := range o.fields {
		switch field.name {
		case simReplicas:
			spec["replicas"] = int64(o.replicas())
		case simClaims:
			spec["volumeClaimTemplates"] = simClaimTemplates(field.value, o.get(simClass))
		}
	}
	if o.kind() == "StatefulSet" {
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"a": simName}}
	}
	if o.kind() == "Deployment" || o.kind() == "StatefulSet" {
		spec["replicas"] = int64(o.replicas())
	}
	return u
}

// simPod is a pod.
type simPod struct {
	name, template string
	owner          types.UID
	ordinal        int
	ready, claims  bool
	shown          bool      // the informer cache has it
	since          time.Time // when it became ready, or began
	died           bool
	canary         bool // it counts as not available
}

// seen returns what the operator knows of a pod.
func (p *simPod) seen() live.Pod {
	seen := live.Pod{
		Name: p.name, UID: types.UID(p.name), Since: p.since, Ready: p.ready && p.owner != "", Broken: !p.ready, Orphan: p.owner == "",
		IsOfSet: p.ordinal >= 0 || p.owner == "", Ordinal: uint64(max(0, p.ordinal)), Template: p.stamp(), Died: p.died,
	}
	if !p.ready {
		seen.Revision = p.template
	}
	if p.claims {
		seen.Claims = simClaim
	}
	if strings.HasPrefix(p.name, "DaemonSet-") {
		seen.DaemonSet = p.owner
	}
	return seen
}

func (p *simPod) uses() []string {
	uses, _, _ := strings.Cut(p.template, "|")
	return strings.Fields(uses)
}

func (p *simPod) String() string {
	return fmt.Sprintf("%s (%s, ready %t)", p.name, p.template, p.ready)
}

// simShrinks tells whether a claim would have less than it has. A client may have edited the size to what is none.
func simShrinks(current *simObject, size string) bool {
	return strings.HasSuffix(current.get(simSize), "Gi") && strings.HasSuffix(size, "Gi") && current.get(simSize) > size
}

// simSizeOf returns the size of a wanted claim.
func simSizeOf(wanted *render.Object) string {
	size, _, _ := unstructured.NestedString(wanted.Content.Object, "spec", "resources", "requests", "storage")
	return size
}

// flatten returns the fields of a content, and remembers them by its hash.
func (c *simCharts) flatten(content *unstructured.Unstructured) []simField {
	hash := content.GetAnnotations()[v1alpha1.AppliedAnnotation]
	if hash == "" {
		return simFlatten(content)
	}
	key := content.GetKind() + content.GetName() + hash
	claims, _, _ := unstructured.NestedFieldNoCopy(content.Object, "spec", "volumeClaimTemplates")
	size, _, _ := unstructured.NestedFieldNoCopy(content.Object, "spec", "resources")
	key += fmt.Sprint(claims, size) // what is repaired may have larger claims than were rendered
	found, isKnown := c.fields[key]
	if !isKnown {
		if len(c.fields) > 2000 || c.fields == nil {
			c.fields = map[string][]simField{}
		}
		found = simFlatten(content)
		c.fields[key] = found
	}
	return slices.Clip(found)
}
