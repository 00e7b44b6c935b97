package simulation

import (
	"fmt"
	"slices"
)

// Workloads are the kinds that run pods, by mode.
var Workloads = map[string]string{"deployment": "Deployment", "daemonset": "DaemonSet", "statefulset": "StatefulSet"}

// Expected returns the objects that a Collector of the name c becomes in the end, by kind and name: both levels say the same. Its
// configuration is Secret/c-config here, because each level has names of its own for that. A check's Job goes again, and so is
// left out.
func Expected(spec Spec) []string {
	spec = spec.Effective()
	account := spec.Account
	if account == "" {
		account = "c"
	}
	all := []string{"Secret/c-config", "Service/c", "ServiceAccount/" + account, Workloads[spec.Mode] + "/c"}
	for bit := range 2 {
		if spec.Volumes&(1<<bit) != 0 {
			all = append(all, fmt.Sprintf("PersistentVolumeClaim/c-%d", bit))
		}
	}
	if spec.Policy {
		all = append(all, "NetworkPolicy/c")
	}
	if spec.Budget {
		all = append(all, "PodDisruptionBudget/c")
	}
	switch spec.Autoscaling {
	case "hpa":
		all = append(all, "HorizontalPodAutoscaler/c")
	case "keda":
		all = append(all, "ScaledObject/c")
	}
	slices.Sort(all)
	return all
}
