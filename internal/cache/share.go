package cache

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

// StripCollectors returns what leaves of Collectors what the informer cache is for: all but who has written them, and a spec within its
// limits. Texts that many of them have, such as names of fields, are there once: docs/explanation/performance.md has what that saves. The
// package unique would forget a text that is unused for a moment. It is for cache.ByObject.
func StripCollectors() toolscache.TransformFunc {
	var mutex sync.Mutex
	known := map[string]any{}
	return func(in any) (any, error) {
		collector, ok := in.(*unstructured.Unstructured)
		if !ok {
			return in, nil // the last known state of a deleted Collector
		}
		bound(collector)
		mutex.Lock()
		defer mutex.Unlock()
		collector.Object, _ = share(collector.Object, known).(map[string]any)
		return collector, nil
	}
}

// share returns value with known texts in place of equal ones. It changes lists in place. Maps are new ones: a map of 8 entries, such as a
// status, takes more than twice the memory once one of them is written again.
func share(value any, known map[string]any) any {
	switch value := value.(type) {
	case map[string]any:
		shared := make(map[string]any, len(value))
		for key, item := range value {
			key, _ := share(key, known).(string)
			shared[key] = share(item, known)
		}
		return shared
	case []any:
		for i := range value {
			value[i] = share(value[i], known)
		}
	case string:
		if text, isKnown := known[value]; isKnown {
			return text
		}
		if len(known) < manyTexts && len(value) <= longText {
			known[value] = value
		}
	}
	return value
}
