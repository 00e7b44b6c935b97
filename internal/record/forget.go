package record

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/inventory"
	"github.com/kube8/kube8-operator/internal/redact"
)

// Forget deletes all records. Prepare has been called.
func (r *Records) Forget(ctx context.Context) error { return r.forget(ctx, 0) }

// tryForget is forget for a new revision: a record that stays is no reason to fail, and the next revision has another chance.
func (r *Records) tryForget(ctx context.Context, keeps int) {
	if err := r.forget(ctx, keeps); err != nil {
		log.FromContext(ctx).Info("could not delete the records of old revisions", "because", err.Error())
	}
}

// forget deletes all records but some of the last revisions.
func (r *Records) forget(ctx context.Context, keeps int) error {
	for _, known := range slices.Clone(r.records[:max(0, len(r.records)-keeps)]) {
		if known.uid == "" {
			continue
		}
		if err := r.forgetOne(ctx, known); err != nil {
			return err
		}
	}
	return nil
}

// forgetOne deletes a record, if it is the Collector's. Before that it reads a record that is known only from the one after it, or that
// somebody has recreated meanwhile.
func (r *Records) forgetOne(ctx context.Context, known recorded) error {
	mustRead := known.isTold
	for {
		if mustRead {
			found, err := r.get(ctx, known.revision)
			if _, isForeign := errors.AsType[*inventory.ConflictError](err); isForeign || apierrors.IsNotFound(err) {
				r.drop(known.revision)
				return nil
			}
			if err != nil {
				return err
			}
			known = recordedIn(found, known.revision)
			r.add(known)
		}
		err := r.Cluster.Delete(ctx, r.secretOf(known.revision), client.Preconditions{UID: &known.uid})
		switch {
		case err == nil, apierrors.IsNotFound(err):
			r.drop(known.revision)
			return nil
		case !apierrors.IsConflict(err) || mustRead:
			return fmt.Errorf("delete the record of revision %d: %w", known.revision, redact.Refusal(err))
		}
		mustRead = true
	}
}

func (k *Known) drop(revision int) {
	k.records = slices.DeleteFunc(k.records, func(known recorded) bool { return known.revision == revision })
}
