package inventory

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
)

const (
	// manyTexts is how many texts Collectors share. That is far more than their kind has fields, reasons and messages.
	manyTexts = 1000

	// longText is how many bytes a text may have that Collectors share.
	longText = 64
)

// StripCollectors returns what leaves of Collectors what the informer cache is for: all but who has written them. Texts that
// many of them have, such as names of fields, are there once. A text that one Collector has several times, such as a time, is
// there once too. That saves memory. It is for cache.ByObject.
func StripCollectors() toolscache.TransformFunc {
	texts := &texts{known: map[string]any{}}
	return func(in any) (any, error) {
		collector, ok := in.(*unstructured.Unstructured)
		if !ok {
			return in, nil // the last known state of a deleted Collector
		}
		collector.SetManagedFields(nil)
		texts.mutex.Lock()
		defer texts.mutex.Unlock()
		texts.own = map[string]any{}
		texts.share(collector.Object)
		return collector, nil
	}
}

// texts are those that objects share: the first that were seen. The package unique, which shares the texts of one Collector's
// objects, takes more memory for each, and forgets a text when garbage is collected.
type texts struct {
	mutex sync.Mutex
	known map[string]any
	own   map[string]any // further ones of one object
}

// share returns value with the shared texts in place of equal ones. It changes maps and lists in place.
func (t *texts) share(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			key, _ := t.share(key).(string)
			value[key] = t.share(item)
		}
	case []any:
		for i := range value {
			value[i] = t.share(value[i])
		}
	case string:
		if len(value) > longText {
			return value
		}
		if known, isKnown := t.known[value]; isKnown {
			return known
		}
		if known, isKnown := t.own[value]; isKnown {
			return known
		}
		texts := t.own
		if len(t.known) < manyTexts {
			texts = t.known
		}
		texts[value] = value
		return texts[value]
	}
	return value
}
