package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/redact"
)

const (
	// maxRecord is how many bytes of a release a Secret holds, with room for its metadata.
	maxRecord = corev1.MaxSecretSize - 16<<10

	// maxRevision is more than is ever deployed. Another client can write a higher one, and the next one must still be a number.
	maxRevision = 1_000_000_000

	// maxHistory is how many revisions the history tells of while a policy keeps the operator from deleting their records.
	maxHistory = 50

	tooLarge = "deployed by kube8-operator; too large to record "

	// generationLabel on a record has the Collector's generation. Helm keeps labels that are not its own.
	generationLabel = "generation"
)

// Records are those of one Collector.
type Records struct {
	// Cluster writes, and Live reads from the API server.
	Cluster client.Client
	Live    client.Reader

	Collector client.Object
	Chart     *helm.Chart

	// Deployed is the last accepted revision, by the status. 0 says that there is none.
	Deployed int

	// Limit is how many revisions are kept, see LimitOf.
	Limit int

	// History are the revisions that are recorded and were accepted, by their number, as the status has them. Nil says that it is not known.
	History []v1alpha1.RecordedRevision
}

// Prepare lists which revisions are recorded, unless the history has the deployed one. It reads no content. A record with another owner
// is a *live.ConflictError, unless the Collector is being deleted.
func (r *Records) Prepare(ctx context.Context) error {
	isDeployed := func(known v1alpha1.RecordedRevision) bool { return known.Revision == int64(r.Deployed) }
	if r.History != nil && (r.Deployed == 0 || slices.ContainsFunc(r.History, isDeployed)) {
		return nil
	}
	found, err := r.list(ctx)
	if err == nil && r.Deployed > 0 { // what is later was not accepted
		found = slices.DeleteFunc(found, func(known v1alpha1.RecordedRevision) bool { return known.Revision > int64(r.Deployed) })
	}
	if err == nil {
		r.History = found
	}
	return err
}

// list reads from the API server which revisions are recorded.
func (r *Records) list(ctx context.Context) ([]v1alpha1.RecordedRevision, error) {
	list, found := &metav1.PartialObjectMetadataList{}, []v1alpha1.RecordedRevision{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := live.Each(ctx, r.Live, list, func(item runtime.Object) error {
		secret, _ := item.(*metav1.PartialObjectMetadata)
		revision, isRecord := RevisionOf(secret.GetName(), r.Collector.GetName())
		switch {
		case metav1.IsControlledBy(secret, r.Collector) && isRecord:
			found = append(found, recordedIn(secret, revision))
		case r.Collector.GetDeletionTimestamp() == nil && isRecord:
			return r.foreign(secret)
		}
		return nil
	}, client.InNamespace(r.Collector.GetNamespace()), client.MatchingLabels(helm.Selector(r.Collector.GetName())))
	if _, isTooMany := errors.AsType[*live.TooManyError](err); isTooMany && r.Collector.GetDeletionTimestamp() != nil {
		err = nil // the garbage collector deletes the others
	}
	if _, isForeign := errors.AsType[*live.ConflictError](err); err != nil && !isForeign {
		return nil, fmt.Errorf("list the Secrets of release %s: %w", r.Collector.GetName(), err)
	}
	slices.SortFunc(found, func(a, b v1alpha1.RecordedRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return found, err
}

// recordedIn returns which revision a Secret records.
func recordedIn(secret client.Object, revision int) v1alpha1.RecordedRevision {
	generation, _ := strconv.ParseInt(secret.GetLabels()[generationLabel], 10, 64) // 0 without it
	return v1alpha1.RecordedRevision{Revision: int64(revision), UID: secret.GetUID(), Generation: generation}
}

func (r *Records) foreign(secret client.Object) error {
	return &live.ConflictError{Message: fmt.Sprintf(
		"Helm release %q was not made by this operator: Secret %s %s; uninstall it, or rename the Collector",
		r.Collector.GetName(), secret.GetName(), live.OwnerOf(secret, r.Collector))}
}

// secretOf returns the Secret that records a revision, with its name only.
func (r *Records) secretOf(revision int) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.Collector.GetNamespace(), Name: prefixOf(r.Collector.GetName()) + strconv.Itoa(revision),
	}}
}

// prefixOf returns what the names of a release's Secrets have before the revision.
func prefixOf(release string) string { return helm.RecordPrefix + release + ".v" }

// RevisionOf returns the revision that a Secret records, by the Secret's name.
func RevisionOf(secret, release string) (int, bool) {
	number, found := strings.CutPrefix(secret, prefixOf(release))
	revision, err := strconv.Atoi(number)
	return revision, found && err == nil && revision > 0 && revision <= maxRevision
}

// Kept returns the history, as it is now.
func (r *Records) Kept() []v1alpha1.RecordedRevision { return r.History }

// Begin records a revision that nothing is changed for yet, as the next one. A record of the same content, which an operator created whose
// answer was lost, is as good. If the answer is lost, it returns no more than the number. Without a history, it is the first one.
func (r *Records) Begin(ctx context.Context, content Content) (v1alpha1.RecordedRevision, error) {
	next := 1
	for _, known := range r.History {
		next = max(next, int(known.Revision)+1)
	}
	if r.Deployed <= maxRevision { // its record may have been deleted
		next = max(next, r.Deployed+1)
	}
	begun, err := r.create(ctx, next, content)
	if over := overQuota(err); over > 0 { // it may have room for fewer than stay; the record of what is deployed does
		if keeps := len(r.History) - over - content.Secrets; keeps > 0 && r.forget(ctx, keeps) == nil {
			begun, err = r.create(ctx, next, content)
		}
	}
	for taken := 0; apierrors.IsAlreadyExists(err); taken++ {
		secret, unread := r.get(ctx, next)
		if apierrors.IsNotFound(unread) { // a webhook has said so
			break
		}
		if unread != nil {
			return begun, unread
		}
		if rel, err := helm.Unpack(secret.Data["release"]); err == nil && rel.Manifest == content.Manifest {
			begun = recordedIn(secret, next)
			begun.Hash = content.Hash
			return begun, nil
		}
		if r.History == nil && taken == 0 { // an operator has begun it before its end, and nothing was accepted
			if err := r.forgetOne(ctx, recordedIn(secret, next)); err != nil {
				return begun, err
			}
		} else {
			next += 1 << max(0, taken-2) // who takes many names costs few requests
		}
		begun, err = r.create(ctx, next, content)
	}
	if err == nil && r.History == nil {
		r.History = []v1alpha1.RecordedRevision{} // there is no other
	}
	return begun, err
}

// Accept adds a revision that was begun to the history, notes that the one before is superseded, and forgets the oldest. A refusal of that
// is no reason to fail.
func (r *Records) Accept(ctx context.Context, begun v1alpha1.RecordedRevision) {
	r.drop(begun)
	if n := len(r.History); n > 0 {
		if err := r.supersede(ctx, r.History[n-1]); err != nil {
			log.FromContext(ctx).Info("could not note that a revision is superseded", "revision", r.History[n-1].Revision, "because", err.Error())
		}
	}
	r.History = append(r.History, begun)
	if err := r.forget(ctx, r.Limit); err != nil {
		log.FromContext(ctx).Info("could not delete the records of old revisions", "because", err.Error())
	}
	r.History = r.History[max(0, len(r.History)-maxHistory):]
}

// Withdraw deletes the record of a revision that was begun.
func (r *Records) Withdraw(ctx context.Context, begun v1alpha1.RecordedRevision) error {
	err := r.forgetOne(ctx, begun)
	if err == nil {
		r.drop(begun)
	}
	return err
}

// drop takes a revision out of the history. A list may have brought one there that was only begun.
func (r *Records) drop(revision v1alpha1.RecordedRevision) {
	isIt := func(known v1alpha1.RecordedRevision) bool { return known.Revision == revision.Revision }
	r.History = slices.DeleteFunc(slices.Clone(r.History), isIt)
}

// create creates the record of a revision.
func (r *Records) create(ctx context.Context, revision int, of Content) (created v1alpha1.RecordedRevision, err error) {
	created.Revision = int64(revision) // all that is known of it if the answer is lost
	rel := &helm.Release{
		Name: r.Collector.GetName(), Namespace: r.Collector.GetNamespace(), Version: revision,
		Chart:  &helm.Chart{Metadata: r.Chart.Metadata, Values: r.Chart.Values},
		Config: of.Values, Manifest: of.Manifest,
		Info: &helm.Info{
			FirstDeployed: helm.Time{Time: r.Collector.GetCreationTimestamp().Time}, LastDeployed: helm.Time{Time: time.Now()},
			Description: description(of.ChangedBy),
		},
	}
	content, err := contentOf(rel)
	if err != nil {
		return created, fmt.Errorf("pack the record of revision %d: %w", revision, err)
	}
	secret := r.secretOf(revision)
	secret.Type, secret.Data = helm.RecordType, content
	secret.Labels = helm.LabelsOf(rel)
	secret.Labels[generationLabel] = strconv.FormatInt(of.Generation, 10)
	owner := metav1.NewControllerRef(r.Collector, r.Collector.GetObjectKind().GroupVersionKind())
	secret.OwnerReferences = []metav1.OwnerReference{*owner}
	if err := r.Cluster.Create(ctx, secret); err != nil {
		return created, fmt.Errorf("record revision %d: %w", revision, redact.Refusal(err))
	}
	created = recordedIn(secret, revision)
	created.Hash = of.Hash
	return created, nil
}

// get reads the record of a revision, if it is the Collector's.
func (r *Records) get(ctx context.Context, revision int) (*corev1.Secret, error) {
	secret := r.secretOf(revision)
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return nil, fmt.Errorf("read the record of revision %d: %w", revision, err)
	}
	if !metav1.IsControlledBy(secret, r.Collector) {
		return nil, r.foreign(secret)
	}
	return secret, nil
}

// supersede notes in a record that there is a later one. The Secret has had the text for that since it was
// created, so nothing is read. Where it has none, only its label says so: in a very large record, and a damaged one.
func (r *Records) supersede(ctx context.Context, known v1alpha1.RecordedRevision) error {
	secret, status := r.secretOf(int(known.Revision)), helm.Superseded.String()
	note := fmt.Sprintf(`{"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": %q},
		{"op": "add", "path": "/metadata/labels/status", "value": %q},
		{"op": "add", "path": "/metadata/labels/modifiedAt", "value": "%d"}`, r.Collector.GetUID(), status, time.Now().Unix())
	var err error
	for _, text := range []string{fmt.Sprintf(`, {"op": "move", "from": "/data/%s", "path": "/data/release"}`, status), ""} {
		err = r.Cluster.Patch(ctx, secret, client.RawPatch(types.JSONPatchType, []byte("["+note+text+"]")))
		if !apierrors.IsInvalid(err) {
			break
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the record of revision %d: %w", known.Revision, redact.Refusal(err))
	}
	return nil
}
