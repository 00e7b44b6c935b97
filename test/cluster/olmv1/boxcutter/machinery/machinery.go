// Package machinery has the engine of revisions, which does nothing here.
package machinery

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
	"pkg.package-operator.run/boxcutter/managedcache"
	"pkg.package-operator.run/boxcutter/validation"
)

const ActionCollision = "Collision"

type RevisionResult interface {
	GetPhases() []PhaseResult
	GetValidationError() error
	InTransition() bool
	IsComplete() bool
	String() string
}

type PhaseResult interface {
	GetObjects() []ObjectResult
	GetValidationError() error
	IsComplete() bool
}

type ObjectResult interface {
	Action() string
	Object() client.Object
	ProbeResults() map[string]types.ProbeResult
	String() string
}

type RevisionTeardownResult interface{ IsComplete() bool }

type RevisionEngine struct{}

var errNone = errors.New("revisions are not part of this build: do not turn the feature BoxcutterRuntime on")

func (RevisionEngine) Reconcile(context.Context, types.Revision, ...types.RevisionReconcileOption) (RevisionResult, error) {
	return nil, errNone
}

func (RevisionEngine) Teardown(context.Context, types.Revision, ...types.RevisionTeardownOption) (RevisionTeardownResult, error) {
	return nil, errNone
}

type (
	Comparator   struct{}
	ObjectEngine struct{}
	PhaseEngine  struct{}
)

func NewComparator(discovery.CachedDiscoveryInterface, *runtime.Scheme, string) (none Comparator) {
	return none
}

func NewObjectEngine(
	*runtime.Scheme, managedcache.TrackingCache, client.Client, Comparator, string, string, string, client.Client,
) (none ObjectEngine) {
	return none
}

func NewPhaseEngine(ObjectEngine, validation.ClusterPhaseValidator) (none PhaseEngine) { return none }

func NewRevisionEngine(PhaseEngine, validation.RevisionValidator, client.Client) (none RevisionEngine) {
	return none
}
