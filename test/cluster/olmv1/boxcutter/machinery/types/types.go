// Package types has what is said of revisions.
package types

import "sigs.k8s.io/controller-runtime/pkg/client"

const ProbeStatusTrue = "True"

type Revision interface{ GetPhases() []Phase }

type Phase interface{ GetObjects() []client.Object }

type (
	RevisionReconcileOption struct{}
	RevisionTeardownOption  struct{}
)

type ProbeResult struct {
	Status   string
	Messages []string
}
