// Package validation has what is checked of revisions.
package validation

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type (
	ClusterPhaseValidator struct{}
	RevisionValidator     struct{}
)

func NewClusterPhaseValidator(meta.RESTMapper, client.Client) (none ClusterPhaseValidator) {
	return none
}

func NewRevisionValidator() (none RevisionValidator) { return none }
