package release

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
)

// rendered is what a Collector was rendered to.
type rendered struct {
	plan.Want
	manifest   func() string // without the data of Secrets
	configHash string
	inputs     inputs
	references string // tells versions of what its pods refer to apart
	unfollowed string // what of that is not followed
}

// current tells what the Collector must be rendered from.
func (r *actionClient) current() (inputs, error) {
	offered, err := r.capabilities.Get(r.ctx)
	if err != nil {
		return inputs{}, err
	}
	return inputs{r.collector.GetGeneration(), r.ConfigurationVersion(r.collector), offered.Version}, nil
}

// renderChart renders the Collector, and has it own the result.
func renderChart(r *actionClient) error {
	now, err := r.current() // before the content is read: what changes meanwhile is seen as a change
	if err != nil {
		return err
	}
	offered, err := r.capabilities.Get(r.ctx)
	if err != nil {
		return err
	}
	referenced, err := r.Configuration(r.ctx, r.collector)
	if err != nil {
		return err
	}
	references, unfollowed := r.References(r.collector, r.running())
	renderer := postrender.Renderer{Referenced: referenced, References: references}
	key, values := client.ObjectKeyFromObject(r.collector), r.withCopy(referenced)
	found, err := render.Render(r.chart.Chart, key, values, offered.Capabilities, renderer)
	if err != nil {
		return err
	}
	if len(offered.Unreadable) > 0 {
		names := slices.Sorted(maps.Keys(offered.Unreadable))
		if more, err := render.Render(r.chart.Chart, key, values, offered.With(names), renderer); err != nil || more.Hash != found.Hash {
			return fmt.Errorf("nothing is changed until it is known whether the cluster offers %s: %w",
				strings.Join(names, ", "), offered.Unreadable[names[0]])
		}
	}
	want, err := r.own(found)
	if err != nil {
		return err
	}
	now.offered = offered.Version
	r.rendered = &rendered{
		Want: want, manifest: found.Public, configHash: found.ConfigHash(),
		inputs: now, references: references, unfollowed: strings.Join(unfollowed, ", "),
	}
	return nil
}

// own returns what was rendered as the Collector's own objects.
func (r *actionClient) own(rendered *render.Rendered) (plan.Want, error) {
	owner := render.Owner{Collector: r.collector, Shard: r.Shard, Mapper: r.cluster.RESTMapper()}
	objects, err := r.chart.Own(rendered, owner)
	return plan.Want{Hash: rendered.Hash, Objects: objects}, err
}

// running returns which versions of what they refer to the pods of the Collector's workload have, by the informer cache.
func (r *actionClient) running() string {
	for _, object := range r.found {
		if object.References != "" {
			return object.References
		}
	}
	return ""
}

// isByOperator tells whether what was rendered differs from what is deployed although nobody else has changed anything: not
// the spec, and not what it refers to.
func (r *actionClient) isByOperator() bool {
	if r.deployed == nil || r.rendered.Hash == r.hash() || r.deployed.Generation != r.rendered.inputs.generation {
		return false
	}
	if r.inputs != (inputs{}) {
		return r.inputs.configuration == r.rendered.inputs.configuration
	}
	running := r.running()
	return r.rendered.configHash == r.deployed.ConfigHash && (running == "" || running == r.rendered.references)
}

// tellUnfollowed says with a new revision, once as long as the operator runs, what its pods refer to without being rolled.
func (r *actionClient) tellUnfollowed(err error) {
	if err != nil || r.rendered == nil || r.rendered.unfollowed == r.lacked {
		return
	}
	if r.lacked = r.rendered.unfollowed; r.lacked != "" {
		r.Events.Eventf(r.collector, corev1.EventTypeNormal, "NotFollowed",
			"without the label %s, or not there: %.800s; pods keep what they have when it changes, until you add %[1]s=%[3]s to it",
			v1alpha1.CollectorLabel, r.lacked, r.collector.GetName())
	}
}

// withNulls returns the values with null for the fields that are null in the spec: the stock reconciler has taken them out with
// the chart's defaults, and rendering would put the defaults back.
func withNulls(values map[string]any, collector *unstructured.Unstructured) map[string]any {
	spec, _ := collector.Object["spec"].(map[string]any)
	for field, value := range spec {
		if value == nil {
			values[field] = nil
		}
	}
	return values
}

// withCopy returns the values with a configuration of the user's Secret in place of the reference to it, unless the Collector wants
// no copy.
func (r *actionClient) withCopy(referenced postrender.Referenced) map[string]any {
	collector, _ := r.values["collector"].(map[string]any)
	reference, _ := collector["configurationSecret"].(map[string]any)
	if wanted, isSet := reference["copy"].(bool); len(referenced.Content) == 0 || isSet && !wanted {
		return r.values
	}
	collector, values := maps.Clone(collector), maps.Clone(r.values)
	delete(collector, "configurationSecret")
	collector["configuration"] = base64.StdEncoding.EncodeToString(referenced.Content)
	values["collector"] = collector
	return values
}
