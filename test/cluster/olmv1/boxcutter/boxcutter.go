// Package boxcutter stands in for the module of this name, which cannot be had from the Go proxy: operator-controller is not compiled
// without it. What operator-controller uses of it by default, the tracking cache, works. The rest belongs to its feature
// BoxcutterRuntime, which is off by default: here it has types, and does nothing.
package boxcutter

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"pkg.package-operator.run/boxcutter/machinery/types"
	"pkg.package-operator.run/boxcutter/ownerhandling"
	"pkg.package-operator.run/boxcutter/probing"
)

const ProgressProbeType = "Progress"

type (
	Phase                   = types.Phase
	RevisionBuilder         = types.Revision
	RevisionReconcileOption = types.RevisionReconcileOption
	WithCollisionProtection string
)

func NewPhase(string, []client.Object) Phase { return nil }

func NewRevisionWithOwner(string, int64, []Phase, client.Object, ownerhandling.Native) RevisionBuilder {
	return nil
}

func WithAggregatePhaseReconcileErrors() (none RevisionReconcileOption) { return none }

func WithObjectReconcileOptions(runtime.Object, WithCollisionProtection) (none RevisionReconcileOption) {
	return none
}

func WithProbe(string, probing.Prober) (none RevisionReconcileOption) { return none }

func WithSiblingOwners([]client.Object) (none RevisionReconcileOption) { return none }
