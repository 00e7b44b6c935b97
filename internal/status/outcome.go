package status

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/plan"
)

// Outcome is how the last reconcile of a Collector ended.
type Outcome struct {
	// Verdict is what was decided.
	Verdict plan.Verdict

	// Deployed is the release. It is zero if none was deployed since the operator started.
	Deployed history.Deployed

	// InOrder says that the informer cache has every object as it should be.
	InOrder bool

	// Message says what keeps objects from being as they should, or is empty.
	Message string

	// Checking says which Job has not accepted a change yet, or is empty.
	Checking string

	// SlowCheck is that Job once it takes long, or empty.
	SlowCheck types.UID

	// Canary is the change that canary pods prove or have failed to prove, or nil. Proof says how far that is, or is empty.
	// Proven tells that they have proven what is deployed.
	Canary *v1alpha1.CanaryStatus
	Proof  string
	Proven bool

	// Update says that a change by the operator is not deployed yet, or is nil.
	Update *v1alpha1.Condition

	// Refused says which bases are refused and stay as they are deployed, or is empty.
	Refused string

	// Err is the error that ended the reconcile, or nil.
	Err error

	// Fast says that there was nothing to do by what is remembered.
	Fast bool

	// Requeue is when to reconcile again although nothing happens; 0 leaves it to the period.
	Requeue time.Duration
}

// isRefused tells whether Err is the refusal of the operator's change: what the spec asks for is deployed.
func (o Outcome) isRefused() bool {
	return o.Update != nil && o.Update.Reason == v1alpha1.ReasonRefused
}

// obstructed returns the Job of a check whose pod may be kept from running, or nothing.
func (o Outcome) obstructed() types.UID {
	if failed, is := errors.AsType[*plan.CheckError](o.Err); is && !o.isRefused() {
		return failed.Job
	}
	return o.SlowCheck
}
