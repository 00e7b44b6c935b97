package release

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// simEvents drops events.
type simEvents struct{}

func (simEvents) Event(_ runtime.Object, _, _, _ string)                                          {}
func (simEvents) Eventf(_ runtime.Object, _, _, _ string, _ ...any)                               {}
func (simEvents) AnnotatedEventf(_ runtime.Object, _ map[string]string, _, _, _ string, _ ...any) {}
