package packed

import (
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
)

// together is for how long after each other the objects of one controller come, when all of them come.
const together = time.Minute

// packer packs the objects of one cache.
type packer struct {
	names  sync.Map            // each apiVersion and kind, once
	recent *utilcache.Expiring // the metadata of objects that came lately, by the UID of their controller
}

func newPacker() *packer { return &packer{recent: utilcache.NewExpiring()} }

// share has a packed object use what others have that is equal: names of kinds, and what is the same in the metadata of
// the objects of one controller, which are labels and owners above all. In the cache nothing is changed, and reads copy.
func (p *packer) share(obj *unstructured.Unstructured) {
	for _, name := range []string{"apiVersion", "kind"} {
		if value, ok := obj.Object[name].(string); ok {
			obj.Object[name], _ = p.names.LoadOrStore(value, value)
		}
	}
	metadata, ok := obj.Object["metadata"].(map[string]any)
	controller := metav1.GetControllerOfNoCopy(obj)
	if !ok || controller == nil {
		return
	}
	found, _ := p.recent.Get(controller.UID)
	other, _ := found.(map[string]any)
	for name, value := range metadata {
		if reflect.DeepEqual(value, other[name]) {
			metadata[name] = other[name]
		}
	}
	if !reflect.DeepEqual(metadata["labels"], other["labels"]) {
		p.recent.Set(controller.UID, metadata, together) // last: others read it from now on
	}
}
