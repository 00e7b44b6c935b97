// Package apply does what was decided: steps in, requests out. The API server merges (server-side apply). It is the only
// package that writes what a Collector becomes.
//
// Every write is pinned: a change or a deletion to the UID of the object that the Collector controls, a creation to a name that
// is free. Nothing is deleted to make room before a dry run has accepted what comes in its place.
package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// Action is what a step does.
type Action string

// The actions.
const (
	// Try has the API server accept an apply without doing it.
	Try Action = "try"

	// Create applies an object that is not there.
	Create Action = "create"

	// Change applies an object that is there.
	Change Action = "change"

	// Replace deletes what is in an object's way, and creates the object.
	Replace Action = "replace"

	// Adopt labels an object that has lost its label.
	Adopt Action = "adopt"

	// Delete deletes an object.
	Delete Action = "delete"
)

// Step is what has to be done about one object.
type Step struct {
	Action Action
	Ref    live.Reference
	Reason string

	// Object is what is applied. It is nil for Adopt and Delete.
	Object *render.Object

	// UID is that of the object that is there. It is empty if there is none.
	UID types.UID

	// Replicas is how many pods a new workload begins with, if the object does not say. 0 leaves it to the API server.
	Replicas int32

	// Predecessor is the workload that has so many pods. It is read again, because an autoscaler may have changed that.
	Predecessor live.Reference

	// HandsOver tells that the number of pods was the operator's, and is an autoscaler's from now on.
	HandsOver bool

	// Leaves tells that the change only leaves the number of pods to the autoscaler that has set it.
	Leaves bool

	// CoOwned tells that another field manager owns fields of the object that is there, too.
	CoOwned bool

	// ScalesUp tells that the workload is there, and has fewer pods than its predecessor. It gets as many.
	ScalesUp bool

	// InUse tells that pods use the object that is there, or may.
	InUse bool

	// TakesOver tells that pods are there that the StatefulSet takes over.
	TakesOver bool

	// Retains has the claims of a StatefulSet stay that Delete deletes.
	Retains bool

	// Old is what Replace deletes.
	Old *Old
}

// Old is what makes room for an object.
type Old struct {
	Ref live.Reference
	UID types.UID

	// Orphan leaves its pods alone.
	Orphan bool

	// Grow are claims that are expanded before.
	Grow []Growth

	// Owned are the claims that it owns, and that the object owns afterwards.
	Owned []types.UID
}

// Growth is a claim that is to have another size.
type Growth struct {
	Claim   string
	UID     types.UID
	Version string
	Size    string
}

// String says what the step does, and why.
func (s Step) String() string { return fmt.Sprintf("%s %s (%s)", s.Action, s.Ref, s.Reason) }
