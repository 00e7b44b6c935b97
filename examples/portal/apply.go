package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	apply "github.com/kube8/kube8-operator/api/applyconfiguration/api/v1alpha1"
	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
)

// sources are the fields that put sends or leaves out.
var sources = fieldpath.NewSet(
	fieldpath.MakePathOrDie("spec", "collector", "configuration"),
	fieldpath.MakePathOrDie("spec", "collector", "configurationText"),
	fieldpath.MakePathOrDie("spec", "collector", "configurationSecret"),
)

// apply is a conflict if the Collector changes after it was read.
func (p *portal) apply(r *http.Request, c *wanted) error {
	before, err := p.seen(r)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := p.own(r.Context(), before, c.ConfigurationSecret != nil); err != nil {
		return err
	}
	config := apply.CollectorConfig().WithName(c.Collector).WithVersion(c.Version)
	switch source := c.ConfigurationSecret; {
	case source != nil:
		config.WithConfigurationSecret(apply.ConfigurationSecret().WithName(source.Name).WithKey(source.Key))
		config.ConfigurationSecret.Copy = source.Copy // nil stays the operator's default
	case c.Configuration == "": // some collectors need none
	case len(before.Spec.Collector.Configuration) > 0: // another field manager can own that field, so it stays the one that is set
		config.WithConfiguration([]byte(c.Configuration))
	default:
		config.WithConfigurationText(v1alpha1.FileText(c.Configuration))
	}
	collector := apply.Collector(r.PathValue("name"), r.PathValue("namespace")).WithSpec(apply.CollectorSpec().
		WithCollector(config).
		WithTenant(apply.Tenant().WithID(c.TenantID).WithReference(c.Tenant)).
		WithCluster(c.Cluster))
	if before.UID != "" {
		collector.WithUID(before.UID).WithResourceVersion(before.ResourceVersion)
	}
	// The portal overwrites the value of another field manager in one of these fields: they are set here.
	return p.collectors.Apply(r.Context(), collector, fieldManager, client.ForceOwnership) //nolint:wrapcheck // the caller says what failed
}

// seen returns the Collector that a request changes. It is an error that says so if a GitOps tool manages it, and the request does
// not confirm the change.
func (p *portal) seen(r *http.Request) (*v1alpha1.Collector, error) {
	live := &v1alpha1.Collector{}
	key := client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if err := p.collectors.Get(r.Context(), key, live); err != nil {
		return live, err //nolint:wrapcheck // the caller says what failed
	}
	if refused := keptBy(live, r); refused != "" {
		return live, conflict(live, refused)
	}
	return live, nil
}

// keptBy says which GitOps tool manages a Collector, unless a request has the confirmation.
func keptBy(live metav1.Object, r *http.Request) string {
	tool := explain.Keeper(live)
	if tool == "" || r.URL.Query().Get("force") == "true" {
		return ""
	}
	return tool + " manages this Collector and would change it back; change it in git, or confirm the change"
}

func conflict(live metav1.Object, message string) error {
	of := v1alpha1.GroupVersion.WithResource("collectors").GroupResource()
	return apierrors.NewConflict(of, live.GetName(), errors.New(message)) //nolint:wrapcheck // it is the answer
}

// own has the apply own the sources that the editor has set by an update: it removes only what it has applied. Other fields, such as
// replicas, stay the editor's. A configuration that moves to a Secret is no longer kept as what was before, either.
func (p *portal) own(ctx context.Context, live *v1alpha1.Collector, isSecret bool) error {
	taken := sources
	if isSecret {
		taken = sources.Union(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", beforeAnnotation)))
	}
	before, entries := live.DeepCopy(), live.ManagedFields
	for i, entry := range entries {
		isEditor := entry.Manager == string(fieldManager) && entry.Operation == metav1.ManagedFieldsOperationUpdate
		if !isEditor || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var theirs fieldpath.Set
		if err := theirs.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return fmt.Errorf("read who owns which fields: %w", err)
		}
		rest := theirs.RecursiveDifference(taken)
		if rest.Equals(&theirs) {
			return nil
		}
		moved, err := theirs.Difference(rest).ToJSON()
		left, failed := rest.ToJSON()
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("write who owns which fields: %w", err)
		}
		entries[i].FieldsV1 = metav1.NewFieldsV1(string(moved))
		if err := csaupgrade.UpgradeManagedFields(live, sets.New(string(fieldManager)), string(fieldManager)); err != nil {
			return err //nolint:wrapcheck // the caller says what failed
		}
		if !rest.Empty() {
			entry.FieldsV1 = metav1.NewFieldsV1(string(left))
			live.ManagedFields = append(live.ManagedFields, entry)
		}
		pinned := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return p.collectors.Patch(ctx, live, pinned, fieldManager) //nolint:wrapcheck // as above
	}
	return nil
}
