package live

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// News passes over changes that concern neither what the operator applied, nor whose an object is, nor the end of a check.
var News = predicate.Funcs{
	CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := Of(e.ObjectOld), Of(e.ObjectNew)
		return before.Digest != after.Digest || before.Deleting != after.Deleting || before.Ended.Type != after.Ended.Type ||
			ownerOf(e.ObjectOld) != ownerOf(e.ObjectNew)
	},
}

func ownerOf(object client.Object) string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return string(owner.UID)
	}
	return ""
}
