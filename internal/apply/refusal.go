package apply

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// GoneError says that the cluster does not have a kind any more.
type GoneError struct{ error }

// Unwrap returns what the API server, or the list of its kinds, says.
func (e *GoneError) Unwrap() error { return e.error }

// gone makes err a *GoneError if it says that the cluster does not have the kind.
func gone(err error) error {
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && !isOfWebhook(err) {
		return &GoneError{err}
	}
	return err
}

// RefusedError says which object the API server does not let the operator apply.
type RefusedError struct {
	Err error
	Ref live.Reference
}

// Error names the object.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns what the API server says.
func (e *RefusedError) Unwrap() error { return e.Err }

// refusedFor makes what keeps a step from being done a *RefusedError for the step's object, so that the next attempt begins with it: also
// what keeps another object from being deleted to make room. An error that has a meaning of its own, or may be over soon, stays.
func refusedFor(err error, what live.Reference) error {
	_, isImmutable := errors.AsType[*immutableError](err)
	_, isConflict := errors.AsType[*live.ConflictError](err)
	_, isGone := errors.AsType[*GoneError](err)
	if !Stays(err) || RefusedIn(err) != nil || HasAdopted(err) || isImmutable || isConflict || isGone {
		return err
	}
	return &RefusedError{err, what}
}

// adoptedError says that a step could not create an object, which was there as another revision has it, and has adopted it.
type adoptedError struct{ Ref live.Reference }

// Error says what was adopted.
func (e *adoptedError) Error() string {
	return "create " + e.Ref.String() + ": the Collector has it already; the operator decides again"
}

// HasAdopted tells whether an error is an *adoptedError, or one of several is.
func HasAdopted(err error) bool {
	_, has := errors.AsType[*adoptedError](err)
	return has
}

// RefusedIn returns the object that an error is a refusal of, as a status has it, or nil.
func RefusedIn(err error) *v1alpha1.RefusedObject {
	if refused, is := errors.AsType[*RefusedError](err); is {
		return &v1alpha1.RefusedObject{Kind: refused.Ref.Kind().Kind, Name: refused.Ref.Name()}
	}
	return nil
}

// ReportedRefusal returns which of some objects the status of a Collector says was refused, or an empty reference.
func ReportedRefusal(collector *unstructured.Unstructured, among []render.Object) (refused live.Reference) {
	reported, _, _ := unstructured.NestedStringMap(collector.Object, "status", "refusedObject")
	for i := range among {
		if ref := among[i].Ref; ref.Kind().Kind == reported["kind"] && ref.Name() == reported["name"] {
			return ref
		}
	}
	return refused
}

// immutableError says that immutable fields of an object are to change. Another object has to
// take its place.
type immutableError struct {
	Ref    live.Reference
	Object *render.Object
	cause  error
}

// Error says what the API server refuses.
func (e *immutableError) Error() string { return "apply " + e.Ref.String() + ": " + e.cause.Error() }

// Unwrap returns what the API server says.
func (e *immutableError) Unwrap() error { return e.cause }

// Immutable is what is known of an object whose immutable fields are to change.
type Immutable struct {
	// Err is what the API server says.
	Err error

	// Live and Wanted are a StatefulSet, nil for other kinds. Applied is that of the deployed revision, or nil if that is not known.
	Live, Wanted, Applied *appsv1.StatefulSet

	// TakesBack tells that Wanted is that of the deployed revision, and that another revision has been applied to Live. Proves tells that
	// canary pods have to prove Wanted first: no claim grows before, because none can shrink again.
	TakesBack, Proves bool

	// Superseded tells that Live is of a change that was not accepted, and that is not the wanted one. Nothing tells then what a webhook has
	// completed in its claim templates.
	Superseded bool

	// Claims are those of the namespace, for a StatefulSet and for a claim.
	Claims []corev1.PersistentVolumeClaim

	// Before is a claim as the deployed revision has it, or nil if that is not known.
	Before *render.Object
}

// Has tells whether a revision of a hash is the last one that was applied to the StatefulSet that is there.
func (i *Immutable) Has(hash string) bool {
	return i.Live != nil && i.Live.Annotations[v1alpha1.AppliedAnnotation] == hash
}

// IsCanaryOf tells whether the StatefulSet that is there limits a change, given by its short hash, to canary pods.
func (i *Immutable) IsCanaryOf(hash string) bool {
	return i.Live != nil && i.Live.Annotations[v1alpha1.CanaryAnnotation] == hash
}

// IsOfDeployed tells whether the deployed revision is the last one that was applied to the StatefulSet that is there, or is not known.
func (i *Immutable) IsOfDeployed() bool {
	return i.Applied == nil || i.Has(i.Applied.Annotations[v1alpha1.AppliedAnnotation])
}

// Immutables are the objects with immutable fields that are to change.
type Immutables map[live.Reference]Immutable

// Learn finds out about immutable objects, if err says that there are some, and tells whether that is news. applied returns
// an object as the deployed revision has it, or nil if that has none or is not known.
func (i Immutables) Learn(
	ctx context.Context, cluster Cluster, applied func(live.Reference) (*render.Object, error), err error,
) (isNews bool, failed error) {
	for _, immutable := range immutablesIn(err) {
		if _, isKnown := i[immutable.Ref]; isKnown {
			continue
		}
		found, err := immutable.inspect(ctx, cluster, applied)
		if err != nil {
			return false, err
		}
		i[immutable.Ref], isNews = found, true
	}
	return isNews, nil
}

// immutablesIn returns all immutable objects that an error is about: those of one group of steps are refused together.
func immutablesIn(err error) (all []*immutableError) {
	switch e := err.(type) { //nolint:errorlint // it walks the tree that errors.As would search
	case *immutableError:
		return []*immutableError{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, immutablesIn(one)...)
		}
	case interface{ Unwrap() error }:
		return immutablesIn(e.Unwrap())
	}
	return all
}

// inspect reads a StatefulSet that cannot be changed, and its claims, or a claim.
func (e *immutableError) inspect(
	ctx context.Context, cluster Cluster, applied func(live.Reference) (*render.Object, error),
) (Immutable, error) {
	found := Immutable{Err: e}
	switch e.Ref.Kind().Kind {
	case "PersistentVolumeClaim":
		before, err := applied(e.Ref)
		if err == nil {
			found.Before = before
			found.Claims, err = cluster.Claims(ctx)
		}
		return found, err
	case "Secret":
		return found, nil
	}
	current, err := cluster.Read(ctx, e.Ref)
	if err != nil || current == nil {
		return found, err
	}
	found.Live, found.Wanted = &appsv1.StatefulSet{}, &appsv1.StatefulSet{}
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	before, err := applied(e.Ref)
	if err != nil {
		return found, err
	}
	err = errors.Join(convert(current.Object, found.Live), convert(e.Object.Content.Object, found.Wanted))
	if before != nil {
		found.Applied = &appsv1.StatefulSet{}
		err = errors.Join(err, convert(before.Content.Object, found.Applied))
	}
	if err != nil {
		return found, fmt.Errorf("read %s: %w", e.Ref, err)
	}
	found.Claims, err = cluster.Claims(ctx)
	return found, err
}

// immutableFields are how the API server refuses a change of immutable fields, by kind (k8s.io/kubernetes, pkg/apis/apps/validation
// and pkg/apis/core/validation).
var immutableFields = map[string][]metav1.StatusCause{
	"StatefulSet": {
		{Type: metav1.CauseTypeForbidden, Field: "spec"}, // until Kubernetes 1.36
		{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.volumeClaimTemplates"},
		{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.serviceName"},
		{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.podManagementPolicy"},
	},
	"Secret":                {{Type: metav1.CauseTypeForbidden, Field: "data"}, {Type: metav1.CauseTypeForbidden, Field: "immutable"}},
	"PersistentVolumeClaim": {{Type: metav1.CauseTypeForbidden, Field: "spec.resources.requests.storage"}},
}

// isImmutable tells whether the API server refuses only changes of immutable fields. A policy's refusal is of the same category, and
// names no field.
func isImmutable(err error, kind string) bool {
	all := causes(err)
	return len(all) > 0 && !slices.ContainsFunc(all, func(cause metav1.StatusCause) bool {
		return !slices.ContainsFunc(immutableFields[kind], func(known metav1.StatusCause) bool {
			return cause.Type == known.Type && cause.Field == known.Field
		})
	})
}

// selectsOthers tells whether the API server refuses another selector of pods. No workload that the operator has created needs one.
func selectsOthers(err error) bool {
	return slices.ContainsFunc(causes(err), func(cause metav1.StatusCause) bool { return cause.Field == "spec.selector" })
}

// lacksDryRun tells whether a dry run was refused only because a webhook does not support them.
func lacksDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// isOfLists tells whether the API server's own validation refuses an object, not a policy. Applying merges lists by keys: where
// another client has edited a key, the result can be invalid, such as two ports of one name. A merge in its place would leave immutable
// fields out that are to go, and seem to succeed.
func isOfLists(err error, kind string) bool {
	all := causes(err)
	return len(all) > 0 && !isImmutable(err, kind) && !slices.ContainsFunc(all, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || cause.Type == metav1.CauseTypeForbidden
	})
}

func causes(err error) []metav1.StatusCause {
	var refusal apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refusal) || refusal.Status().Details == nil {
		return nil
	}
	return refusal.Status().Details.Causes
}

// isOtherUID tells whether an object was not changed because it is another one than was meant.
func isOtherUID(err error) bool {
	return slices.ContainsFunc(causes(err), func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// isOfWebhook tells whether a webhook refuses a request. It chooses the code of its answer, which means nothing then.
func isOfWebhook(err error) bool { return strings.Contains(err.Error(), "denied the request") }

// IsLost tells whether the API server's answer was lost, so that what was done is unknown, in contrast to a refusal.
func IsLost(err error) bool {
	var transport *url.Error
	if err == nil || isOfWebhook(err) {
		return false
	}
	isCut := strings.Contains(err.Error(), "reading response body") // client-go has no type for it
	return isCut || errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// Stays tells whether there is an error that is not passing: what it is about has to change first.
func Stays(err error) bool { return err != nil && !IsPassing(err) }

// IsPassing tells whether an error may be over soon: the API server or a webhook has not refused anything, but could not answer. Nothing
// is created of a CRD that is about to go.
func IsPassing(err error) bool {
	return IsLost(err) || err != nil && !isOfWebhook(err) &&
		(apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsMethodNotSupported(err))
}
