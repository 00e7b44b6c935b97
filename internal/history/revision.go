// Package history has the revisions of a Collector: one that is rendered now, one that is read from its record, and the deployed one that
// the status tells of. It keeps a Helm release Secret for each, as Helm does, for `helm list|status|history|get`. It decides nothing.
//
// One thing is read back: the manifest of the last accepted revision, to repair it while a newer one is refused or waits. Its hash
// is in the Collector's status, so a client that can write Secrets does not decide what the operator applies.
package history

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/render"
	"github.com/kube8/kube8-operator/internal/sources"
)

// Source has all that the revisions of one kind's Collectors are made from.
type Source struct {
	Chart *render.Chart

	// Build is the operator's version: another one may render otherwise.
	Build string

	// Mapper knows the kinds of the cluster, and which of them a namespace holds.
	Mapper meta.RESTMapper

	// Served returns which APIs the cluster serves.
	Served func(ctx context.Context) (*render.Served, error)

	// Configuration returns what a Collector's configuration refers to.
	Configuration func(ctx context.Context, collector *unstructured.Unstructured) (postrender.Referenced, error)

	// Bases returns the bases of a Collector.
	Bases func(ctx context.Context, collector *unstructured.Unstructured) (sources.Bases, error)

	// Record returns the record of a Collector's revision. The action clients set it.
	Record func(ctx context.Context, collector *unstructured.Unstructured, revision int) (Content, error)

	// Versions tell versions of that, and of what a Collector's pods refer to, apart, by what the informer cache has.
	Versions func(*unstructured.Unstructured) (configuration, references string)

	// References tells versions of what a Collector's pods refer to apart, and names what is not followed.
	References func(collector *unstructured.Unstructured, running string) (references string, unfollowed []string)
}

// Inputs tell apart what Collectors are rendered from. UID and generation stand for the spec.
type Inputs struct {
	Build, Chart, Served, Configuration, References, Bases string

	Collector  types.UID
	Generation int64

	// Refused says which bases are refused and stay as they are deployed, or is empty. Bases tells it apart, too.
	Refused string
}

// RenderError says that nothing can be rendered from inputs. It is so until they change.
type RenderError struct {
	Of  *Revision // as far as it is known, without a hash
	Err error
}

// Error says what is wrong.
func (e *RenderError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *RenderError) Unwrap() error { return e.Err }

// Revision is what a Collector was rendered to, now or as its record has it.
type Revision struct {
	plan.Want
	Values     map[string]any // without the chart's defaults; older records have them
	ConfigHash string         // the SHA-256 of the decoded configuration, in hex

	// Inputs are what it was rendered from. Only the generation is recorded.
	Inputs Inputs

	// Manifest returns the manifest that is recorded. It has no data of Secrets.
	Manifest func() string

	// References tell versions of what its pods refer to apart, and Unfollowed is what of that is not followed. No record has them.
	References, Unfollowed string

	// Bases are the bases that it has, as the status tells them.
	Bases string

	// ChangedBy says whose change has led to it, see Attribute. It is recorded for people, and not read back.
	ChangedBy string

	// Record is the UID of the record that the revision was read from, or empty.
	Record types.UID

	// Secret returns a Secret of a recorded revision, with its data. Nil says that Objects has the data.
	Secret func(live.Reference) (*render.Object, error)
}

// Inputs tells what a Collector must be rendered from, and which APIs the cluster serves.
func (s *Source) Inputs(ctx context.Context, collector *unstructured.Unstructured) (Inputs, *render.Served, error) {
	served, err := s.Served(ctx)
	if err != nil {
		return Inputs{}, nil, err
	}
	configuration, references := s.Versions(collector)
	found, err := s.Bases(ctx, collector)
	return Inputs{
		Build: s.Build, Chart: s.Chart.Digest, Served: served.Version, Configuration: configuration, References: references,
		Bases: inputsOf(found, err), Collector: collector.GetUID(), Generation: collector.GetGeneration(), Refused: found.Refusals(),
	}, served, nil
}

// inputsOf tells bases apart, or errors of reading them: a refused one is tried again when it is another one, or none.
func inputsOf(bases sources.Bases, err error) string {
	if err != nil {
		return err.Error()
	}
	return bases.Inputs()
}

// Render renders a Collector, and has it own the result. running are the versions that its pods have of what they refer to. A revision
// that is refused is returned as far as it is known, so that IsByOperator can tell whose change is refused. It has no hash.
func (s *Source) Render(
	ctx context.Context, collector *unstructured.Unstructured, values map[string]any, running string,
) (*Revision, error) {
	now, served, err := s.Inputs(ctx, collector) // before the content is read: what changes meanwhile is seen as a change
	if err != nil {
		return nil, err
	}
	made := &Revision{Inputs: now}
	if err := cache.CheckSize(collector); err != nil {
		return made, &RenderError{made, err}
	}
	referenced, err := s.Configuration(ctx, collector)
	made.Inputs.Configuration = cmp.Or(referenced.Version, now.Configuration) // the informer cache may have another one
	if err != nil && referenced.Version != "" {
		return made, &RenderError{made, err}
	}
	if err != nil {
		return nil, err
	}
	made.ConfigHash = cmp.Or(referenced.Hash, Recall(collector).ConfigHash) // a spec of the same generation has the same configuration
	references, unfollowed := s.References(collector, running)
	made.References, made.Unfollowed = references, strings.Join(unfollowed, ", ")
	bases, err := s.Bases(ctx, collector)
	made.Inputs.Bases, made.Inputs.Refused = inputsOf(bases, err), bases.Refusals()
	if err == nil && made.Inputs.Refused != "" {
		bases, err = s.restored(ctx, collector, bases)
	}
	if apply.IsPassing(err) {
		return nil, err
	}
	if err != nil {
		return made, &RenderError{made, err}
	}
	renderer := postrender.Renderer{Referenced: referenced, References: references}
	key := client.ObjectKeyFromObject(collector)
	if len(bases) > 0 {
		values = maps.Clone(values)
		values["bases"] = bases.Values()
	}
	copied := withCopy(values, referenced)
	found, err := s.Chart.Render(key, copied, served.Capabilities, renderer)
	if err != nil {
		return made, &RenderError{made, err}
	}
	if len(served.Unreadable) > 0 {
		names := slices.Sorted(maps.Keys(served.Unreadable))
		more, err := s.Chart.Render(key, copied, served.With(names), renderer)
		if err != nil || more.Hash != found.Hash {
			return nil, fmt.Errorf("nothing is changed until it is known whether the cluster serves %s: %w",
				strings.Join(names, ", "), served.Unreadable[names[0]])
		}
	}
	want, err := s.own(found, collector)
	if err != nil {
		return made, err
	}
	made.Want, made.Values, made.Bases = want, values, sources.DescribedBases(values)
	made.ConfigHash, made.Manifest = found.ConfigHash(), found.Public
	return made, nil
}

// restored returns bases with those that are refused as the record of the deployed revision has them.
func (s *Source) restored(ctx context.Context, collector *unstructured.Unstructured, bases sources.Bases) (sources.Bases, error) {
	recorded, err := s.Record(ctx, collector, Recall(collector).Revision)
	if apply.IsPassing(err) {
		return nil, err
	}
	return bases.Restore(recorded.Values)
}

// own returns what was rendered as the Collector's own objects.
func (s *Source) own(rendered *render.Rendered, collector *unstructured.Unstructured) (plan.Want, error) {
	objects, err := s.Chart.Own(rendered, render.Owner{Collector: collector, Mapper: s.Mapper})
	return plan.Want{Hash: rendered.Hash, Objects: objects}, err
}

// Content returns what is recorded.
func (r *Revision) Content() Content {
	return Content{Manifest: r.Manifest(), Values: r.Values, Generation: r.Inputs.Generation, ChangedBy: r.ChangedBy, Hash: r.Hash}
}

// Attribute notes whose change makes a revision differ from the deployed one, as far as that is known: changer's, if the spec has changed.
// Everything else is as for IsByOperator.
func (r *Revision) Attribute(changer string, deployed Deployed, before Inputs, running string) {
	switch {
	case r.IsByOperator(deployed, before, running):
		r.ChangedBy = "the operator"
		if r.Bases != deployed.Bases || before != (Inputs{}) && before.Bases != r.Inputs.Bases {
			r.ChangedBy = "the platform's bases"
		}
	case deployed.Revision != 0 && deployed.Generation == r.Inputs.Generation:
		r.ChangedBy = "what the spec refers to"
	default:
		r.ChangedBy = changer
	}
}

// IsByOperator tells whether a revision differs from the deployed one although no other client has changed anything: not the spec, and not
// what it refers to. before are the inputs of the deployed one, or nothing if they are not known, and running is as for Render.
func (r *Revision) IsByOperator(deployed Deployed, before Inputs, running string) bool {
	if r == nil || deployed.Revision == 0 || r.Hash == deployed.Hash() || deployed.Generation != r.Inputs.Generation {
		return false
	}
	if before == (Inputs{}) {
		return r.ConfigHash == deployed.ConfigHash && (running == "" || running == r.References)
	}
	// A Secret that is no longer followed does not count: pods keep the version that they have.
	refersToTheSame := before.References == r.Inputs.References || running != "" && running == r.References
	return before.Configuration == r.Inputs.Configuration && refersToTheSame
}

// withCopy returns the values with a configuration of the user's Secret in place of the reference to it, unless the Collector wants
// no copy.
func withCopy(values map[string]any, referenced postrender.Referenced) map[string]any {
	collector, _ := values["collector"].(map[string]any)
	reference, _ := collector["configurationSecret"].(map[string]any)
	if wanted, isSet := reference["copy"].(bool); referenced.Secret == "" || isSet && !wanted {
		return values
	}
	collector, values = maps.Clone(collector), maps.Clone(values)
	delete(collector, "configurationSecret")
	collector["configuration"] = base64.StdEncoding.EncodeToString(referenced.Content)
	values["collector"] = collector
	return values
}

// versionOf returns what the image of a spec is chosen by.
func versionOf(spec map[string]any) string {
	for _, field := range []string{"digest", "tag"} {
		if found, _, _ := unstructured.NestedString(spec, "image", field); found != "" {
			return found
		}
	}
	version, _, _ := unstructured.NestedString(spec, "collector", "version")
	return version
}
