// Package render does the steps from Collector to release offline: it prints what the operator would apply, through the
// same schema, chart and post-renderer, without a cluster. What only a cluster can give is missing: owner references,
// the check, the hash and the copy of a configuration that is in a Secret of the user, and whatever the API server adds. Pods
// then mount that Secret, as without a copy.
package render

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/config/crd"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/release"
)

// Renderer renders Collectors.
type Renderer struct {
	// Watches say which chart a kind is rendered with.
	Watches []watches.Watch

	// APIVersions are APIs that the cluster is taken to have beyond those of Kubernetes, such as
	// monitoring.coreos.com/v1/ServiceMonitor.
	APIVersions []string

	// JSON has Files write JSON instead of YAML: one List with the manifests, or the problems.
	JSON bool

	// AllowNone has Files take files without a Collector.
	AllowNone bool

	schema *crdSchema
}

// New returns a Renderer for the kinds of ws.
func New(ws []watches.Watch, apiVersions []string) (*Renderer, error) {
	schema, err := newCRDSchema(crd.Collector)
	if err != nil {
		return nil, err
	}
	return &Renderer{Watches: ws, APIVersions: apiVersions, schema: schema}, nil
}

// Render returns the manifests of each Collector in a stream of YAML documents, and how many Collectors there were;
// objects of other kinds are passed over. The error is a RefusedError with the problems of all of them.
func (r *Renderer) Render(ctx context.Context, in io.Reader) (manifests []byte, count int, err error) {
	var out bytes.Buffer
	var problems RefusedError
	reader := yamlutil.NewYAMLReader(bufio.NewReader(in))
	for document := 1; ; document++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, count, fmt.Errorf("read document %d: %w", document, err)
		}
		obj, err := parse(text)
		if err != nil {
			problems = append(problems, problemsOf(fmt.Errorf("document %d: %w", document, err))...)
			continue
		}
		for _, obj := range itemsOf(obj) {
			watch := r.watchFor(obj)
			if watch == nil {
				continue
			}
			count++
			manifest, err := r.renderOne(ctx, watch, obj)
			if err != nil {
				problems = append(problems, problemsOf(err).about("", name(obj))...)
				continue
			}
			out.WriteString(manifest)
		}
	}
	if len(problems) > 0 {
		return nil, count, problems
	}
	return out.Bytes(), count, nil
}

// itemsOf returns the items of a list, such as `kubectl get -o yaml` prints, or else the object itself.
func itemsOf(obj *unstructured.Unstructured) (items []*unstructured.Unstructured) {
	if !obj.IsList() {
		return []*unstructured.Unstructured{obj}
	}
	_ = obj.EachListItem(func(item runtime.Object) error { // fails for what is not a list
		if item, ok := item.(*unstructured.Unstructured); ok {
			items = append(items, item)
		}
		return nil
	})
	return items
}

// parse reads one object as the API server would: duplicate keys are refused, whole numbers are integers.
func parse(text []byte) (*unstructured.Unstructured, error) {
	converted, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(converted, &obj.Object); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	return obj, nil
}

func (r *Renderer) watchFor(obj *unstructured.Unstructured) *watches.Watch {
	for i := range r.Watches {
		if r.Watches[i].GroupVersionKind == obj.GroupVersionKind() {
			return &r.Watches[i]
		}
	}
	return nil
}

func (r *Renderer) renderOne(ctx context.Context, watch *watches.Watch, obj *unstructured.Unstructured) (string, error) {
	if err := r.schema.admit(ctx, obj); err != nil {
		return "", err
	}
	values, _, err := unstructured.NestedMap(obj.Object, "spec")
	if err != nil {
		return "", fmt.Errorf("read spec: %w", err)
	}
	for key, value := range watch.OverrideValues {
		if err := strvals.ParseInto(key+"="+value, values); err != nil {
			return "", fmt.Errorf("apply overrideValues %s of the watches file: %w", key, err)
		}
	}
	manifest, err := r.manifest(watch, obj, values)
	if err != nil {
		return "", err
	}
	return manifest, refusals(obj, manifest)
}

// manifest renders a first release, with the code that the operator renders with.
func (r *Renderer) manifest(watch *watches.Watch, obj *unstructured.Unstructured, values map[string]any) (string, error) {
	offered := chartutil.DefaultCapabilities.Copy()
	offered.APIVersions = append(offered.APIVersions, r.APIVersions...)
	key := types.NamespacedName{Namespace: namespace(obj), Name: obj.GetName()}
	rendered, err := release.Render(watch.Chart, key, values, offered, postrender.Renderer{})
	if err != nil {
		return "", err
	}
	return rendered.Manifest, nil
}

func name(obj *unstructured.Unstructured) string { return namespace(obj) + "/" + obj.GetName() }

func namespace(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return "default"
	}
	return obj.GetNamespace()
}
