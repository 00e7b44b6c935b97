// Package crds names the modules that have the CRDs of other projects, of which the integration tests read the files. It is a
// module of its own, so that those projects have no say in what the operator is built from.
package crds

import (
	_ "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	_ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	_ "sigs.k8s.io/gateway-api/apis/v1"
)
