package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// Stage says when an object is applied: those of one stage together, and those of the next when they are done.
type Stage int

// The stages, in their order.
const (
	Mounts    Stage = iota // what pods cannot start without
	Checks                 // the Job that has to accept a change before anything that serves gets it
	Network                // what leads to pods, and what protects them
	Workloads              // what runs pods
	Others                 // what reads the two above: autoscalers, monitors
)

var stageOf = map[string]Stage{
	"ServiceAccount": Mounts, "Secret": Mounts, "ConfigMap": Mounts, "PersistentVolumeClaim": Mounts,
	"Job":     Checks,
	"Service": Network, "NetworkPolicy": Network, "PodDisruptionBudget": Network,
}

// StageOf returns the stage of a kind.
func StageOf(kind string) Stage {
	if live.IsWorkload(kind) {
		return Workloads
	}
	if stage, isKnown := stageOf[kind]; isKnown {
		return stage
	}
	return Others
}

// Object is one object that a Collector becomes.
type Object struct {
	Ref   live.Reference
	Stage Stage

	// Hash is that of the content, without owner and namespace. It is in the annotation v1alpha1.AppliedAnnotation, too.
	Hash string

	// SetsReplicas tells that the object has spec.replicas.
	SetsReplicas bool

	// Excludes tells that pods of the object cannot run beside those of another workload of the Collector: they have ports of
	// the node, or the update strategy says so.
	Excludes bool

	// IsChecked tells that a check has to accept the object: it has files, or it runs pods.
	IsChecked bool

	// Content is the object, with its owner. It is never changed.
	Content *unstructured.Unstructured
}

// NewObject returns the object with a content, and writes its hash into the content's annotations.
func NewObject(content *unstructured.Unstructured) (Object, error) {
	o := Object{Ref: live.ReferenceTo(content), Stage: StageOf(content.GetKind()), Content: content}
	if _, hasFiles := content.GetAnnotations()[postrender.ConfigurationAnnotation]; hasFiles || o.Stage == Workloads {
		o.IsChecked = true
	}
	if o.Stage == Workloads {
		_, o.SetsReplicas, _ = unstructured.NestedFieldNoCopy(content.Object, "spec", "replicas")
		o.Excludes = excludes(content.Object)
	}
	return o, o.seal()
}

// Accepted returns a copy of the object that says which Job has accepted it.
func (o Object) Accepted(job string) (Object, error) {
	if !o.IsChecked {
		return o, nil
	}
	o.Content = o.Content.DeepCopy()
	Annotate(o.Content, v1alpha1.CheckedAnnotation, job)
	return o, o.seal()
}

// WithoutReplicas returns a copy of the object that leaves the number of pods to another client.
func (o Object) WithoutReplicas() (Object, error) {
	o.Content, o.SetsReplicas = o.Content.DeepCopy(), false
	unstructured.RemoveNestedField(o.Content.Object, "spec", "replicas")
	return o, o.seal()
}

// seal computes the hash.
func (o *Object) seal() error {
	annotations := o.Content.GetAnnotations()
	if delete(annotations, v1alpha1.AppliedAnnotation); len(annotations) == 0 {
		annotations = nil
	}
	o.Content.SetAnnotations(annotations)
	whole, metadata := maps.Clone(o.Content.Object), map[string]any{}
	parts, _ := whole["metadata"].(map[string]any)
	maps.Copy(metadata, parts)
	delete(metadata, "ownerReferences")
	delete(metadata, "namespace")
	whole["metadata"] = metadata
	err := withJSON(whole, func(text []byte) {
		sum := sha256.Sum256(text)
		o.Hash = hex.EncodeToString(sum[:8])
	})
	Annotate(o.Content, v1alpha1.AppliedAnnotation, o.Hash)
	return err
}

// withJSON has a function read a value as JSON with sorted keys, in a buffer that is used again. It fails for nothing that was read from
// YAML.
func withJSON(value any, read func(text []byte)) error {
	buffer, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	err := json.NewEncoder(buffer).Encode(value)
	read(bytes.TrimSuffix(buffer.Bytes(), []byte("\n")))
	return err //nolint:wrapcheck // as it never is
}

// Annotate sets an annotation of an object.
func Annotate(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}

// excludes tells whether a workload's pods cannot run beside those of another one.
func excludes(workload map[string]any) bool {
	if strategy, _, _ := unstructured.NestedString(workload, "spec", "strategy", "type"); strategy == "Recreate" {
		return true
	}
	if host, _, _ := unstructured.NestedBool(workload, "spec", "template", "spec", "hostNetwork"); host {
		return true
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _, _ := unstructured.NestedFieldNoCopy(workload, "spec", "template", "spec", list)
		for _, container := range asList(containers) {
			fields, _ := container.(map[string]any)
			for _, port := range asList(fields["ports"]) {
				if fields, _ := port.(map[string]any); fields["hostPort"] != nil {
					return true
				}
			}
		}
	}
	return false
}

// Surges tells whether a workload starts pods beside the others. strategy is the field of its spec that says so. The chart writes it out,
// and has pods surge by default where two of them can be on one node.
func Surges(workload *unstructured.Unstructured, strategy string) bool {
	surge, _, _ := unstructured.NestedFieldNoCopy(workload.Object, "spec", strategy, "rollingUpdate", "maxSurge")
	return !slices.Contains([]string{"<nil>", "0", "0%"}, fmt.Sprint(surge))
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}
