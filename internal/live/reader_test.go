package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
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

func TestAWorkloadIsDisownedWithAndWithoutItsLabel(t *testing.T) {
	made := map[string]string{v1alpha1.AppliedAnnotation: "1"}
	workload := func(annotations map[string]string, owners ...metav1.OwnerReference) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: "acme", Name: "gateway", Annotations: annotations, OwnerReferences: owners,
		}}
	}
	owner := metav1.OwnerReference{APIVersion: "kube8.dev/v1alpha1", Kind: "Collector", Name: "gateway", UID: "1", Controller: new(true)}
	collector := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "1"}}
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	for name, row := range map[string]struct {
		cached, live *appsv1.Deployment
		want         int
	}{
		"it has its owner":                         {cached: workload(made, owner), live: workload(made, owner)},
		"it has lost its owner":                    {cached: workload(made), live: workload(made), want: 1},
		"it has lost its label, too":               {live: workload(made), want: 1},
		"it has lost its label, and has its owner": {live: workload(made, owner)},
		"the operator has not made it":             {live: workload(nil)},
		"there is none":                            {},
	} {
		with := func(object *appsv1.Deployment) client.Reader {
			if object == nil {
				return fake.NewClientBuilder().Build()
			}
			return fake.NewClientBuilder().WithObjects(object).Build()
		}
		reader := &Reader{Cache: with(row.cached), Live: with(row.live)}
		found, err := reader.Disowned(t.Context(), collector, []schema.GroupVersionKind{kind})
		if err != nil || len(found) != row.want {
			t.Errorf("%s: disowned %v, %v", name, found, err)
		}
	}
}

func TestAnAutoscalerThatWasMadeForAnObjectOfTheCollectorIsTheCollectors(t *testing.T) {
	workload := NewReference(appsv1.SchemeGroupVersion.WithKind("Deployment"), "gateway")
	own := NewReference(schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}, "gateway")
	collector := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "collector"}}
	for name, row := range map[string]struct {
		owner *metav1.OwnerReference
		want  string
	}{
		"of nothing":                         {nil, `HorizontalPodAutoscaler "keda-hpa"`},
		"of the Collector":                   {&metav1.OwnerReference{Kind: "Collector", UID: "collector"}, ""},
		"of the Collector's ScaledObject":    {&metav1.OwnerReference{Kind: "ScaledObject", Name: "gateway", UID: "own"}, ""},
		"of a ScaledObject of another owner": {&metav1.OwnerReference{Kind: "ScaledObject", Name: "queue", UID: "other"}, `ScaledObject "queue"`},
	} {
		made := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "keda-hpa"}}
		made.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "gateway"}
		if row.owner != nil {
			row.owner.Controller = new(true)
			made.OwnerReferences = []metav1.OwnerReference{*row.owner}
		}
		reader := &Reader{Live: fake.NewClientBuilder().WithObjects(made).Build()}
		got, err := reader.Scaler(t.Context(), collector, workload, map[Reference]Object{own: {UID: "own"}})
		if err != nil || got != row.want {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, row.want)
		}
	}
}
