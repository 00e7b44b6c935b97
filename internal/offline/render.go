// Package offline does the steps from Collector to release offline: it prints what the operator would apply, through the
// same schema, chart and post-renderer, without a cluster. It leaves out what only a cluster can give: owner references,
// the check, the hash and the copy of a configuration that is in a Secret of the user, and what the API server adds. Pods
// then mount that Secret, as without a copy.
package offline

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/config/crd"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/manifest"
	"github.com/kube8/kube8-operator/internal/operator"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/specpath"
	"github.com/kube8/kube8-operator/internal/validation"
	"github.com/kube8/kube8-operator/internal/vendors"
)

// Renderer renders Collectors.
type Renderer struct {
	// Watches say which chart a kind is rendered with.
	Watches []watches.Watch

	// JSON has Files write JSON instead of YAML: one List with the manifests, or the problems.
	JSON bool

	// Warn gets a line for each trap of a collector's vendor, which nothing refuses. It can be nil.
	Warn func(warning string)

	// Bases are those of the platform that Collectors are rendered with, as a record of a revision has them. There are none by default.
	Bases []any

	// AllowNone has Files take files without a Collector.
	AllowNone bool

	apiVersions []string
	schema      *crdSchema

	mutex  sync.Mutex
	charts map[*helm.Chart]*render.Chart // what is read of those in Watches, each once
}

// New returns a Renderer with the charts that the operator has by opts. The cluster is taken to have apiVersions, such as
// monitoring.coreos.com/v1/ServiceMonitor, beyond the APIs of Kubernetes.
func New(opts operator.Options, apiVersions []string) (*Renderer, error) {
	ws, err := operator.LoadWatches(opts)
	if err != nil {
		return nil, fmt.Errorf("load charts: %w", err)
	}
	schema, err := newCRDSchema(crd.Collector)
	if err != nil {
		return nil, fmt.Errorf("load schema: %w", err)
	}
	return &Renderer{Watches: ws, apiVersions: apiVersions, schema: schema}, nil
}

// Ask has the cluster taken to have the kinds that serves is true for. Charts test for these kinds, and render none that is not there.
func (r *Renderer) Ask(serves func(schema.GroupVersionKind) bool) error {
	for i := range r.Watches {
		read, err := r.read(r.Watches[i].Chart)
		if err != nil {
			return err
		}
		for name, kind := range read.Optional {
			if serves(kind) {
				r.apiVersions = append(r.apiVersions, name)
			}
		}
	}
	return nil
}

// Render returns what each Collector in a manifest becomes; objects of other kinds are passed over. The
// error is a ProblemsError with the problems of all of them.
func (r *Renderer) Render(ctx context.Context, in io.Reader) ([]*render.Rendered, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	var all []*render.Rendered
	var problems ProblemsError
	for object, err := range manifest.Objects(text) {
		if err != nil {
			problems = append(problems, problemsOf(err)...)
			continue
		}
		at := slices.IndexFunc(r.Watches, func(w watches.Watch) bool { return w.GroupVersionKind == object.GroupVersionKind() })
		if at < 0 {
			continue
		}
		rendered, err := r.one(ctx, &r.Watches[at], object)
		r.warn(object, rendered)
		all = append(all, rendered)
		problems = append(problems, problemsOf(err).about("", client.ObjectKeyFromObject(object).String())...)
	}
	return all, problems.asError()
}

// warn tells of the traps of what was rendered. It is nil for what was refused.
func (r *Renderer) warn(collector *unstructured.Unstructured, rendered *render.Rendered) {
	if r.Warn == nil || rendered == nil {
		return
	}
	for _, warning := range vendors.Warnings(collector, rendered.Objects) {
		r.Warn(fmt.Sprintf("Collector %s: spec.%s", client.ObjectKeyFromObject(collector), warning))
	}
}

// one renders one Collector if its schema and the API server accept it.
func (r *Renderer) one(ctx context.Context, watch *watches.Watch, collector *unstructured.Unstructured) (*render.Rendered, error) {
	if collector.GetNamespace() == "" {
		collector.SetNamespace("default")
	}
	if err := r.schema.admit(ctx, collector); err != nil {
		return nil, err
	}
	return r.release(watch, collector)
}

// read reads a chart, once.
func (r *Renderer) read(chrt *helm.Chart) (*render.Chart, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known := r.charts[chrt]; known != nil {
		return known, nil
	}
	read, err := render.NewChart(chrt)
	if err != nil {
		return nil, fmt.Errorf("read chart %s: %w", chrt.Name(), err)
	}
	if r.charts == nil {
		r.charts = map[*helm.Chart]*render.Chart{}
	}
	r.charts[chrt] = read
	return read, nil
}

// release renders a first release, with the code that the operator renders with. If the API server would refuse one of its
// objects, the error is a ProblemsError that names collector's own fields.
func (r *Renderer) release(watch *watches.Watch, collector *unstructured.Unstructured) (*render.Rendered, error) {
	values, _, err := unstructured.NestedMap(collector.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	if err := cache.CheckSize(collector); err != nil {
		return nil, err
	}
	if len(r.Bases) > 0 {
		values["bases"] = r.Bases
	}
	for key, value := range watch.OverrideValues {
		if err := helm.Set(key+"="+value, values); err != nil {
			return nil, fmt.Errorf("apply overrideValues %s of the watches file: %w", key, err)
		}
	}
	served := (&render.Served{Capabilities: helm.DefaultCapabilities}).With(r.apiVersions)
	read, err := r.read(watch.Chart)
	if err != nil {
		return nil, err
	}
	rendered, err := read.Render(client.ObjectKeyFromObject(collector), values, served, postrender.Renderer{})
	if err != nil {
		return nil, err
	}
	var problems ProblemsError
	for _, object := range rendered.Objects {
		problems = append(problems, problemsOf(specpath.Explain(validation.Create(object), collector, object))...)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return rendered, slices.Compact(problems).asError() // a port is in two objects
}
