package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/managedfields"
	"github.com/kube8/kube8-operator/internal/redact"
)

// absent is a resource version that no object has. An apply with it can create an object, and cannot change one.
const absent = "1"

// Cluster is the API server, as far as this package needs it, for one Collector. The simulation has a cluster of its own.
type Cluster interface {
	// Apply applies an object, and returns what it is then.
	Apply(ctx context.Context, request Request) (live.Object, error)

	// Rewrite replaces the lists of an object in place of merging them, and removes fields as an apply does. The operator owns the
	// object's fields then as if it had applied them.
	Rewrite(ctx context.Context, request Request) error

	// Read returns an object as it is, or nil.
	Read(ctx context.Context, what live.Reference) (*unstructured.Unstructured, error)

	// Restore creates an object that was deleted to make room, as it was, and returns it, or an empty one if it has gone again.
	Restore(ctx context.Context, deleted *unstructured.Unstructured) (live.Object, error)

	// Delete deletes the object with a UID, with or without its pods, or tries that. It is no error if that has gone.
	Delete(ctx context.Context, what live.Reference, uid types.UID, orphan, dryRun bool) error

	// Claims returns all claims of the namespace, with no other annotation than that of the operator: the claims of a StatefulSet need not
	// have its labels.
	Claims(ctx context.Context) ([]corev1.PersistentVolumeClaim, error)

	// Grow expands a claim, or tries that.
	Grow(ctx context.Context, growth Growth, dryRun bool) error

	// Retain has the claims of a StatefulSet stay when that is deleted. It is no error if that has gone.
	Retain(ctx context.Context, set live.Reference, uid types.UID) error

	// Discard deletes a claim, unless it has changed since it was read. It is no error if it has.
	Discard(ctx context.Context, claim Growth) error
}

// Request is an apply.
type Request struct {
	Ref     live.Reference
	Content *unstructured.Unstructured

	// Name is the object's, if it is not that of the content: the dry run of a successor has a name that is free.
	Name string

	// UID is that of the object to change. Without one, an object is created, and none is changed.
	UID types.UID

	// Version is the resource version that the object must have. Empty is for any.
	Version string

	// Replicas is spec.replicas, if it is not 0.
	Replicas int32

	// Manager is the field manager.
	Manager string

	// CoOwned makes the operator the only owner of what it has applied before, so that it can drop fields. A dry run does that as well,
	// because its answer depends on it. It changes only managedFields.
	CoOwned bool

	DryRun bool
}

// NewCluster returns the cluster of a Collector. writer writes, and apiReader reads from the API server.
func NewCluster(writer client.Client, apiReader client.Reader, collector client.Object) Cluster {
	return cluster{writer, apiReader, collector}
}

type cluster struct {
	writer    client.Client
	apiReader client.Reader
	collector client.Object
}

func (c cluster) Apply(ctx context.Context, request Request) (live.Object, error) {
	if request.CoOwned && request.UID != "" {
		if _, err := c.own(ctx, request.Ref, request.UID); err != nil {
			return live.Object{}, err // a conflict is met as one of the apply
		}
	}
	return c.patch(ctx, request, types.ApplyPatchType, client.ForceOwnership)
}

func (c cluster) patch(ctx context.Context, request Request, as types.PatchType, options ...client.PatchOption) (live.Object, error) {
	text, err := json.Marshal(request.body())
	if err != nil {
		return live.Object{}, fmt.Errorf("write it as JSON: %w", err)
	}
	if options = append(options, client.FieldOwner(request.Manager)); request.DryRun {
		options = append(options, client.DryRunAll)
	}
	after := c.named(request.Ref)
	if request.Name != "" {
		after.SetName(request.Name)
	}
	err = c.writer.Patch(ctx, after, client.RawPatch(as, text), options...)
	return live.Of(after), public(request.Ref, err)
}

// public returns an error without the data of a Secret.
func public(of live.Reference, err error) error {
	if of.Kind().Kind == "Secret" {
		return redact.Refusal(err)
	}
	return err
}

// body returns what is sent.
func (r Request) body() map[string]any {
	whole, metadata := maps.Clone(r.Content.Object), map[string]any{}
	parts, _ := whole["metadata"].(map[string]any)
	maps.Copy(metadata, parts)
	whole["metadata"] = metadata
	switch r.UID {
	case "":
		metadata["resourceVersion"] = absent
	default:
		metadata["uid"] = string(r.UID)
		if r.Version != "" { // some kinds do not take an empty one
			metadata["resourceVersion"] = r.Version
		}
	}
	if r.Name != "" {
		metadata["name"] = r.Name
	}
	if r.Replicas != 0 {
		spec, _ := whole["spec"].(map[string]any)
		spec = maps.Clone(spec)
		spec["replicas"] = int64(r.Replicas)
		whole["spec"] = spec
	}
	return whole
}

// own makes the operator the only owner of what it has applied, and returns the object, or nil if it has gone. A merge or a creation counts
// as an apply. So the next apply can drop fields. It is a conflict if another client changes the object meanwhile.
func (c cluster) own(ctx context.Context, what live.Reference, uid types.UID) (*unstructured.Unstructured, error) {
	current, err := c.Read(ctx, what)
	if err != nil || current == nil || current.GetUID() != uid {
		return nil, err
	}
	before := current.DeepCopy()
	if err := csaupgrade.UpgradeManagedFields(current, sets.New(managedfields.Manager), managedfields.Manager); err != nil {
		return current, err //nolint:wrapcheck // the caller says what it is about
	}
	entries, _ := managedfields.WithoutCoOwners(current.GetManagedFields())
	current.SetManagedFields(entries)
	if equality.Semantic.DeepEqual(before.GetManagedFields(), current.GetManagedFields()) {
		return current, nil
	}
	pinned := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return current, public(what, c.writer.Patch(ctx, current, pinned))
}

func (c cluster) Read(ctx context.Context, what live.Reference) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(what.Kind())
	err := c.apiReader.Get(ctx, client.ObjectKey{Namespace: c.collector.GetNamespace(), Name: what.Name()}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil is for none
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return found, nil
}

func (c cluster) Restore(ctx context.Context, deleted *unstructured.Unstructured) (live.Object, error) {
	again := deleted.DeepCopy()
	for field := range strings.FieldsSeq("uid resourceVersion managedFields creationTimestamp generation deletionTimestamp finalizers") {
		unstructured.RemoveNestedField(again.Object, "metadata", field)
	}
	delete(again.Object, "status")
	if err := c.writer.Create(ctx, again, client.FieldOwner(managedfields.Manager)); err != nil {
		return live.Object{}, public(live.ReferenceTo(again), err)
	}
	current, err := c.own(ctx, live.ReferenceTo(again), again.GetUID())
	if current == nil {
		return live.Object{}, err
	}
	return live.Of(current), err
}

func (c cluster) Delete(ctx context.Context, what live.Reference, uid types.UID, orphan, dryRun bool) error {
	policy := metav1.DeletePropagationBackground
	if orphan {
		policy = metav1.DeletePropagationOrphan
	}
	options := []client.DeleteOption{client.Preconditions{UID: &uid}, client.PropagationPolicy(policy)}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	err := c.writer.Delete(ctx, c.named(what), options...)
	isGone := apierrors.IsNotFound(err) && !isOfWebhook(err) || meta.IsNoMatchError(err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) && !isGone { // it is another one, or a webhook says so
		current, failed := c.Read(ctx, what)
		if failed != nil || current == nil || current.GetUID() != uid || current.GetDeletionTimestamp() != nil {
			return failed
		}
	}
	if err != nil && !isGone {
		return fmt.Errorf("delete %s: %w", what, public(what, err))
	}
	return nil
}

func (c cluster) Claims(ctx context.Context) ([]corev1.PersistentVolumeClaim, error) {
	var claims []corev1.PersistentVolumeClaim
	// The claims of other Collectors are not read, because a list has a limit. A claim from before the Collector can lack the label.
	for _, which := range []string{v1alpha1.CollectorLabel + "=" + c.collector.GetName(), "!" + v1alpha1.CollectorLabel} {
		selector, err := labels.Parse(which)
		if err != nil {
			return nil, fmt.Errorf("select the claims of Collector %s: %w", c.collector.GetName(), err)
		}
		err = live.Each(ctx, c.apiReader, &corev1.PersistentVolumeClaimList{}, func(item runtime.Object) error {
			if claim, is := item.(*corev1.PersistentVolumeClaim); is {
				applied := claim.Annotations[v1alpha1.AppliedAnnotation]
				claim.Annotations, claim.ManagedFields = map[string]string{v1alpha1.AppliedAnnotation: applied}, nil // others can be large
				claims = append(claims, *claim)
			}
			return nil
		}, client.InNamespace(c.collector.GetNamespace()), client.MatchingLabelsSelector{Selector: selector})
		if err != nil {
			return nil, fmt.Errorf("list the claims of Collector %s: %w", c.collector.GetName(), err)
		}
	}
	return claims, nil
}

func (c cluster) Grow(ctx context.Context, growth Growth, dryRun bool) error {
	size, err := resource.ParseQuantity(growth.Size)
	if err != nil {
		return fmt.Errorf("read the size %q: %w", growth.Size, err)
	}
	var options []client.PatchOption
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	requests := map[string]any{"requests": map[string]any{"storage": size.String()}}
	return c.merge(ctx, claimNamed(growth.Claim), map[string]any{
		"metadata": map[string]any{"uid": growth.UID, "resourceVersion": growth.Version}, "spec": map[string]any{"resources": requests},
	}, options...)
}

func (c cluster) Discard(ctx context.Context, claim Growth) error {
	object := c.named(claimNamed(claim.Claim))
	err := c.writer.Delete(ctx, object, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.Version})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err //nolint:wrapcheck // as above
}

// named returns an object of the Collector's namespace, without content.
func (c cluster) named(what live.Reference) client.Object {
	object := cache.New(what.Kind())
	object.SetNamespace(c.collector.GetNamespace())
	object.SetName(what.Name())
	return object
}
