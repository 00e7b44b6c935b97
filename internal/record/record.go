// Package record keeps a Helm release Secret for each deployed revision, as Helm does, for `helm list|status|history|get`.
//
// One thing is read back: the manifest of the last accepted revision, to repair it while a newer one is refused or waits. Its hash
// is in the Collector's status, so nobody who may write Secrets decides what the operator applies.
package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/redact"
)

const (
	// maxRecord is how many bytes of a release a Secret holds, with room for its metadata.
	maxRecord = corev1.MaxSecretSize - 16<<10

	// maxRevision is more than anybody deploys. Somebody may write a higher one, and the next one must still be a number.
	maxRevision = 1_000_000_000

	tooLarge = "deployed by kube8-operator; too large to record "

	// earlierAnnotation on a record has the revisions before it and the UIDs of their records, such as "2=UID,1=UID", so that an
	// operator that has just started need not list them.
	earlierAnnotation = "kube8.dev/earlier"

	// generationLabel on a record has the Collector's generation. Helm keeps labels that are not its own.
	generationLabel = "generation"
)

// Known is what is remembered of a Collector's records. The zero value knows nothing.
type Known struct {
	listed  bool
	records []recorded // by revision
	last    int        // the last revision, although somebody may have deleted its record: no number is used twice
}

type recorded struct {
	revision   int
	uid        types.UID // empty if it is not known
	superseded bool
	isTold     bool // by the annotation of another record, which somebody may have edited
}

// Records are those of one Collector.
type Records struct {
	*Known

	// Cluster writes, and Live reads from the API server.
	Cluster client.Client
	Live    client.Reader

	Collector client.Object
	Chart     *chart.Chart

	// Limit is how many revisions are kept, see LimitOf.
	Limit int

	// Alone says that no other operator works on the same Collector.
	Alone bool
}

// Prepare finds out which revisions are recorded. deployed is the last one by the Collector's status: with it nothing is asked, and
// the others are known when Add has written to its record. With 0 all are known. Prepare reads no content. A record of somebody else
// is a *inventory.ConflictError, unless the Collector is being deleted.
func (r *Records) Prepare(ctx context.Context, deployed int) error {
	if deployed <= maxRevision {
		r.last = max(r.last, deployed)
	}
	if !r.Alone || !r.listed && deployed == 0 {
		return r.list(ctx)
	}
	isDeployed := func(known recorded) bool { return known.revision == deployed }
	if !r.listed && !slices.ContainsFunc(r.records, isDeployed) {
		r.add(recorded{revision: deployed})
	}
	return nil
}

// list reads from the API server which revisions are recorded.
func (r *Records) list(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	known := Known{last: r.last}
	err := inventory.Each(ctx, r.Live, list, func(item runtime.Object) error {
		secret, _ := item.(*metav1.PartialObjectMetadata)
		revision, found := RevisionOf(secret.GetName(), r.Collector.GetName())
		switch {
		case metav1.IsControlledBy(secret, r.Collector) && found:
			known.add(recordedIn(secret, revision))
		case r.Collector.GetDeletionTimestamp() == nil && found:
			return r.foreign(secret)
		}
		return nil
	}, client.InNamespace(r.Collector.GetNamespace()), client.MatchingLabels{"owner": "helm", "name": r.Collector.GetName()})
	if _, isForeign := errors.AsType[*inventory.ConflictError](err); err != nil && !isForeign {
		return fmt.Errorf("list the Secrets of release %s: %w", r.Collector.GetName(), err)
	}
	known.listed = err == nil
	*r.Known = known
	return err
}

// Any tells whether there are records. Prepare has been called.
func (r *Records) Any() bool { return len(r.records) > 0 }

func recordedIn(secret client.Object, revision int) recorded {
	return recorded{revision: revision, uid: secret.GetUID(), superseded: secret.GetLabels()["status"] == release.StatusSuperseded.String()}
}

func (k *Known) add(record recorded) {
	k.records = slices.DeleteFunc(k.records, func(known recorded) bool { return known.revision == record.revision })
	k.records, k.last = append(k.records, record), max(k.last, record.revision)
	slices.SortFunc(k.records, func(a, b recorded) int { return a.revision - b.revision })
}

func (r *Records) foreign(secret client.Object) error {
	return &inventory.ConflictError{Message: fmt.Sprintf(
		"Helm release %q was not made by this operator: Secret %s %s; uninstall it, or rename the Collector",
		r.Collector.GetName(), secret.GetName(), inventory.OwnerOf(secret, r.Collector))}
}

// secretOf returns the Secret that records a revision, with its name only.
func (r *Records) secretOf(revision int) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.Collector.GetNamespace(), Name: prefixOf(r.Collector.GetName()) + strconv.Itoa(revision),
	}}
}

// prefixOf returns what the names of a release's Secrets have before the revision.
func prefixOf(release string) string { return inventory.RecordPrefix + release + ".v" }

// RevisionOf returns the revision that a Secret records, by the Secret's name.
func RevisionOf(secret, release string) (int, bool) {
	number, found := strings.CutPrefix(secret, prefixOf(release))
	revision, err := strconv.Atoi(number)
	return revision, found && err == nil && revision > 0 && revision <= maxRevision
}

// Begin records a revision that nothing is changed for yet. A record of an operator that was killed may have it already. It returns the
// number of the revision.
func (r *Records) Begin(ctx context.Context, content Content) (int, error) {
	next := r.last + 1
	err := r.create(ctx, next, content)
	// A quota may have room for fewer than stay. The record of what is deployed stays.
	for keeps := r.Limit / 2; apierrors.IsForbidden(err) && keeps > 0; keeps /= 2 {
		if isQuota := strings.Contains(err.Error(), "exceeded quota"); !isQuota || r.forget(ctx, keeps) != nil {
			break
		}
		err = r.create(ctx, next, content)
	}
	for taken := 0; apierrors.IsAlreadyExists(err); taken++ { // an operator that was killed has begun it, or another has just written it
		secret, unread := r.get(ctx, next)
		if apierrors.IsNotFound(unread) { // a webhook has said so
			break
		}
		if unread != nil {
			return 0, unread
		}
		r.add(recordedIn(secret, next))
		if rel, err := Unpack(secret.Data["release"]); err == nil && rel.Manifest == content.Manifest {
			return next, nil
		}
		next += 1 << max(0, taken-2) // who takes many names costs few requests
		err = r.create(ctx, next, content)
	}
	if err != nil {
		return 0, err
	}
	return next, nil
}

// Accept notes that the revisions before one are superseded, and forgets the oldest. What is refused of that has another chance with the
// next one.
func (r *Records) Accept(ctx context.Context, number int) {
	for _, known := range slices.Clone(r.records) {
		if known.superseded || known.revision == number {
			continue
		}
		if err := r.supersede(ctx, known); err != nil {
			log.FromContext(ctx).Info("could not note that a revision is superseded", "revision", known.revision, "because", err.Error())
		}
	}
	isUnknown := func(known recorded) bool { return known.uid == "" }
	r.listed = r.listed || !slices.ContainsFunc(r.records, isUnknown) // the record before has told of all others
	r.tryForget(ctx, r.Limit)
}

// Withdraw deletes the record of a revision that was begun.
func (r *Records) Withdraw(ctx context.Context, number int) error {
	i := slices.IndexFunc(r.records, func(known recorded) bool { return known.revision == number })
	if i < 0 {
		return nil
	}
	err := r.forgetOne(ctx, r.records[i])
	if err == nil && r.last == number {
		r.last--
	}
	return err
}

// create creates the record of a revision.
func (r *Records) create(ctx context.Context, revision int, of Content) error {
	rel := &release.Release{
		Name: r.Collector.GetName(), Namespace: r.Collector.GetNamespace(), Version: revision,
		Chart:  &chart.Chart{Metadata: r.Chart.Metadata, Values: r.Chart.Values},
		Config: of.Values, Manifest: of.Manifest,
		Info: &release.Info{
			FirstDeployed: helmtime.Time{Time: r.Collector.GetCreationTimestamp().Time}, LastDeployed: helmtime.Now(),
			Description: description(of.ChangedBy),
		},
	}
	content, err := contentOf(rel)
	if err != nil {
		return fmt.Errorf("pack the record of revision %d: %w", revision, err)
	}
	secret := r.secretOf(revision)
	secret.Type, secret.Data, secret.Annotations = "helm.sh/release.v1", content, r.earlier()
	secret.Labels = map[string]string{
		"name": rel.Name, "owner": "helm", "status": release.StatusDeployed.String(), "version": strconv.Itoa(revision),
		"createdAt": strconv.FormatInt(time.Now().Unix(), 10), generationLabel: strconv.FormatInt(of.Generation, 10),
	}
	owner := metav1.NewControllerRef(r.Collector, r.Collector.GetObjectKind().GroupVersionKind())
	secret.OwnerReferences = []metav1.OwnerReference{*owner}
	if err := r.Cluster.Create(ctx, secret); err != nil {
		return fmt.Errorf("record revision %d: %w", revision, redact.Refusal(err))
	}
	r.add(recorded{revision: revision, uid: secret.UID})
	return nil
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
func (r *Records) supersede(ctx context.Context, known recorded) error {
	secret, status := r.secretOf(known.revision), release.StatusSuperseded.String()
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
	if apierrors.IsNotFound(err) {
		return r.list(ctx) // somebody has deleted it, and perhaps others
	}
	if err != nil {
		return fmt.Errorf("write the record of revision %d: %w", known.revision, redact.Refusal(err))
	}
	told, isTold := secret.Annotations[earlierAnnotation]
	isEdited := strings.Count(told, ",") > 2*r.Limit+10           // no operator tells of so many
	if (!isTold && known.revision > 1 || isEdited) && !r.listed { // an older operator has written it, or somebody has edited it
		return r.list(ctx)
	}
	r.add(recorded{revision: known.revision, uid: secret.UID, superseded: true})
	if isEdited {
		return nil // all are known
	}
	for entry := range strings.SplitSeq(told, ",") {
		number, uid, _ := strings.Cut(entry, "=")
		revision, err := strconv.Atoi(number)
		isNew := !slices.ContainsFunc(r.records, func(known recorded) bool { return known.revision == revision })
		if err == nil && revision > 0 && revision < known.revision && isNew {
			r.add(recorded{revision: revision, uid: types.UID(uid), superseded: true, isTold: true})
		}
	}
	return nil
}
