package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/internal/inventory"
)

// Forget deletes all records. Prepare has been called.
func (r *Records) Forget(ctx context.Context) error { return r.forget(ctx, math.MaxInt) }

// tryForget is forget for a new revision: a record that stays is no reason to fail, and the next revision has another chance.
func (r *Records) tryForget(ctx context.Context, last int) {
	if err := r.forget(ctx, last); err != nil {
		log.FromContext(ctx).Info("could not delete the records of old revisions", "because", err.Error())
	}
}

// forget deletes the records of all revisions up to one.
func (r *Records) forget(ctx context.Context, last int) error {
	for _, known := range slices.Clone(r.records) {
		if known.revision > last || known.uid == "" {
			continue
		}
		if known.isTold && !r.isThere(ctx, &known) {
			continue
		}
		err := r.Cluster.Delete(ctx, r.secretOf(known.revision), client.Preconditions{UID: &known.uid})
		switch {
		case apierrors.IsConflict(err): // somebody has recreated it; the next revision has another chance
			r.isThere(ctx, &known)
		case err != nil && !apierrors.IsNotFound(err):
			return fmt.Errorf("delete the record of revision %d: %w", known.revision, err)
		default:
			r.drop(known)
		}
	}
	return nil
}

// isThere tells whether a record is there, and is the Collector's. It notes what it has found.
func (r *Records) isThere(ctx context.Context, known *recorded) bool {
	found, err := r.get(ctx, known.revision)
	_, isForeign := errors.AsType[*inventory.ConflictError](err)
	switch {
	case err == nil:
		*known = recordedIn(found, known.revision)
		r.add(*known)
	case isForeign, apierrors.IsNotFound(err):
		r.drop(*known)
	}
	return err == nil
}

func (k *Known) drop(record recorded) {
	k.records = slices.DeleteFunc(k.records, func(other recorded) bool { return other == record })
}
