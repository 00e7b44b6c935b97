package inventory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// silent has no answer about a kind, as an informer whose first list fails, until it is told to answer.
type silent struct {
	client.Reader
	kind    string
	answers bool
}

func (s *silent) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if list.GetObjectKind().GroupVersionKind().Kind != s.kind+"List" || s.answers {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestAKindWhoseAPIDoesNotAnswerDelaysOneLookOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		autoscalers := schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}
		cache := &silent{kind: autoscalers.Kind}
		reader := &Reader{Cache: cache}
		look := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			_, err := reader.Of(t.Context(), &metav1.PartialObjectMetadata{}, nil, []schema.GroupVersionKind{autoscalers})
			if took := time.Since(began); err != nil || took != want {
				t.Errorf("it took %s, want %s; %v", took, want, err)
			}
		}
		look(CacheDelay)
		look(time.Millisecond)
		cache.answers = true
		look(0)
		cache.answers = false
		look(CacheDelay)
	})
}
