package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// asked is how many pods a spec asks for. The zero value asks for none: it is missed by no number.
type asked struct {
	field   string // that says it
	number  int64
	isLeast bool // there may be more
}

// askedBy returns how many pods a Collector's spec asks for. It leaves out what others decide: the number of nodes, KEDA, and an autoscaler
// of the user. Without replicas in the spec, the number of the chart is a field of the workload like any other.
func askedBy(collector *unstructured.Unstructured) asked {
	mode, _, _ := unstructured.NestedString(collector.Object, "spec", "mode")
	scaling, _, _ := unstructured.NestedMap(collector.Object, "spec", "autoscaling")
	switch {
	case mode == string(v1alpha1.ModeDaemonSet), scaling["external"] == true, scaling["enabled"] == true && scaling["keda"] != nil:
		return asked{}
	case scaling["enabled"] == true:
		least, isSet, _ := unstructured.NestedInt64(scaling, "minReplicas")
		if !isSet {
			least = 1 // the chart's default
		}
		return asked{"autoscaling.minReplicas", least, true}
	}
	if number, isSet, _ := unstructured.NestedInt64(collector.Object, "spec", "replicas"); isSet {
		return asked{"replicas", number, false}
	}
	return asked{}
}

// missedBy says that a workload is to have another number of pods than the spec asks for, or returns nothing.
func (a asked) missedBy(wanted int32) string {
	switch number := int64(wanted); {
	case a.field == "", number == a.number, a.isLeast && number > a.number:
		return ""
	case a.isLeast && number == 0:
		return fmt.Sprintf("%s is %d, but an autoscaler does nothing for a workload that was scaled to 0; scale it to %[2]d", a.field, a.number)
	}
	return fmt.Sprintf("%s is %d", a.field, a.number)
}
