package history

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/redact"
)

// Forget deletes all records, and tells whether there were any. It lists them if the history may not have all: it is not known, or a
// revision may have begun, also by another operator.
func (r *Records) Forget(ctx context.Context, mayHaveBegun bool) (found bool, err error) {
	if mayHaveBegun || r.History == nil {
		if r.History, err = r.list(ctx); err != nil {
			return false, err
		}
	}
	return len(r.History) > 0, r.forget(ctx, 0)
}

// ofSecrets is what the API server says of a quota (k8s.io/apiserver, pkg/admission/plugin/resourcequota).
var ofSecrets = regexp.MustCompile(`exceeded quota: .* used: \S*?secrets=(\d+).* limited: \S*?secrets=(\d+)`)

// overQuota returns how many Secrets have to go before there is room for one more, or 0 if no quota on Secrets refuses it.
func overQuota(refusal error) int {
	if !apierrors.IsForbidden(refusal) {
		return 0
	}
	numbers := ofSecrets.FindStringSubmatch(refusal.Error())
	if numbers == nil {
		return 0
	}
	used, err := strconv.Atoi(numbers[1])
	limited, limitErr := strconv.Atoi(numbers[2])
	if errors.Join(err, limitErr) != nil {
		return 0
	}
	return used + 1 - limited
}

// MakeRoom forgets as many of the oldest revisions as a quota on Secrets asks for that has refused another Secret, so that the next attempt
// has room: a record that was created before may have taken the last place. The deployed one stays.
func (r *Records) MakeRoom(ctx context.Context, refusal error) {
	over := overQuota(refusal)
	if over == 0 || r.Prepare(ctx) != nil || len(r.History) <= over {
		return
	}
	if err := r.forget(ctx, len(r.History)-over); err != nil {
		log.FromContext(ctx).Info("could not delete the records of old revisions", "because", err.Error())
	}
}

// forget deletes all records but some of the last revisions.
func (r *Records) forget(ctx context.Context, keeps int) error {
	for len(r.History) > keeps {
		if err := r.forgetOne(ctx, r.History[0]); err != nil {
			return err
		}
		r.History = r.History[1:]
	}
	return nil
}

// forgetOne deletes a record, if it is the Collector's. It reads one whose UID is not known, or that was created again meanwhile.
func (r *Records) forgetOne(ctx context.Context, known v1alpha1.RecordedRevision) error {
	var err error
	remove := func(uid types.UID) error {
		return client.IgnoreNotFound(r.Cluster.Delete(ctx, r.secretOf(int(known.Revision)), client.Preconditions{UID: &uid}))
	}
	if known.UID != "" {
		err = remove(known.UID)
	}
	if known.UID == "" || apierrors.IsConflict(err) {
		again, unread := r.get(ctx, int(known.Revision))
		_, isForeign := errors.AsType[*live.ConflictError](unread)
		switch {
		case isForeign, apierrors.IsNotFound(unread):
			return nil
		case unread != nil:
			return unread
		}
		err = remove(again.UID)
	}
	if err != nil {
		return fmt.Errorf("delete the record of revision %d: %w", known.Revision, redact.Refusal(err))
	}
	return nil
}
