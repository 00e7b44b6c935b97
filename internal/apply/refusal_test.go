package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// The owner reference says that it is the Collector's, but the operator has not created it.
func TestAWorkloadThatSelectsOtherPodsIsRefusedWithAFix(t *testing.T) {
	selector := invalid(metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.selector", Message: "field is immutable"})
	cluster := &script{refuse: onlyWhen(func(Request) bool { return true }, selector)}
	applier := &Applier{Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently}
	err := applier.Do(t.Context(), [][]Step{{stepOf(Change, "Deployment", "1")}})
	if err == nil || !strings.HasSuffix(err.Error(), "delete it, and the operator creates it again") {
		t.Errorf("got error %v", err)
	}
}

func TestAWebhooksCodeDoesNotSayThatAKindHasGone(t *testing.T) {
	for text, want := range map[string]bool{"the server could not find the requested resource": true, "admission webhook \"w\" denied the request: no": false} {
		err := apierrors.NewNotFound(schema.GroupResource{Resource: "x"}, "c")
		err.ErrStatus.Message = text
		if _, hasGone := errors.AsType[*GoneError](gone(err)); hasGone != want {
			t.Errorf("%s: gone %t", text, hasGone)
		}
	}
}

// The informer cache has not shown it. It may serve, and the decision to create it says nothing about that.
func TestAnObjectThatIsThereAsAnotherRevisionHasItIsAdoptedAndNotChanged(t *testing.T) {
	claim := objectOf("PersistentVolumeClaim", "1", true)
	claim.SetAnnotations(map[string]string{v1alpha1.AppliedAnnotation: "of another revision"})
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "c", errors.New("it is there"))
	cluster := &script{
		live:   map[live.Reference]*unstructured.Unstructured{refTo("PersistentVolumeClaim"): claim},
		refuse: onlyWhen(func(request Request) bool { return request.UID == "" }, conflict),
	}
	var noted []Action
	applier := &Applier{
		Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently,
		Note: func(step Step, after *live.Object) {
			if after.Version == "9" {
				noted = append(noted, step.Action)
			}
		},
	}
	err := applier.Do(t.Context(), [][]Step{{stepOf(Create, "PersistentVolumeClaim", "")}, {stepOf(Change, "Deployment", "2")}})
	if !HasAdopted(err) || !slices.Equal(noted, []Action{Adopt}) {
		t.Errorf("error %v, noted %v", err, noted)
	}
	want := []string{
		"apply PersistentVolumeClaim/c", "read PersistentVolumeClaim/c", "apply PersistentVolumeClaim/c of 1 by kube8-operator-adopt",
	}
	if diff := cmp.Diff(want, cluster.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestTheStatusSaysWhichObjectWasRefused(t *testing.T) {
	deployment, service, ingress := stepOf(Change, "Deployment", "1"), stepOf(Change, "Service", "1"), stepOf(Create, "Ingress", "")
	for name, row := range map[string]struct {
		err  error
		want live.Reference
	}{
		"nothing was refused":                {nil, live.Reference{}},
		"the record was refused":             {errors.New("record revision 2: no"), live.Reference{}},
		"one of them was":                    {refusalOf(t, deployment), deployment.Ref},
		"another one was":                    {refusalOf(t, service), service.Ref},
		"one was, of which more is said":     {fmt.Errorf("repair revision 2 meanwhile: %w", refusalOf(t, service)), service.Ref},
		"one was that is not wanted anymore": {refusalOf(t, ingress), live.Reference{}},
	} {
		collector := &unstructured.Unstructured{Object: map[string]any{}}
		if told := RefusedIn(row.err); told != nil {
			collector.Object["status"] = map[string]any{"refusedObject": map[string]any{"kind": told.Kind, "name": told.Name}}
		}
		if got := ReportedRefusal(collector, []render.Object{*deployment.Object, *service.Object}); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

// refusalOf returns the refusal of a step.
func refusalOf(t *testing.T, step Step) error {
	t.Helper()
	cluster := &script{refuse: onlyWhen(func(Request) bool { return true }, invalid(metav1.StatusCause{Message: "denied"}))}
	applier := &Applier{Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently}
	return applier.Do(t.Context(), [][]Step{{step}})
}

func TestAllImmutableObjectsOfAGroupAreLearnedTogether(t *testing.T) {
	first, second := stepOf(Change, "Secret", "1").Ref, stepOf(Change, "StatefulSet", "1").Ref
	known := Immutables{}
	none := func(live.Reference) (*render.Object, error) { return nil, nil }
	refused := errors.Join(&immutableError{Ref: first}, errors.New("denied"), fmt.Errorf("try: %w", &immutableError{Ref: second}))
	for _, isNews := range []bool{true, false} {
		if got, err := known.Learn(t.Context(), &script{}, none, refused); got != isNews || err != nil || len(known) != 2 {
			t.Errorf("news %t, error %v, known %v; want news %t of both", got, err, known, isNews)
		}
	}
}

func TestWhatNobodyCanChangeIsToldFromWhatIsWrong(t *testing.T) {
	forbidden := func(field string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: field}
	}
	wrong := func(field string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field}
	}
	for name, row := range map[string]struct {
		kind   string
		causes []metav1.StatusCause
		want   bool
	}{
		"a StatefulSet's claim templates, until Kubernetes 1.36": {"StatefulSet", []metav1.StatusCause{forbidden("spec")}, true},
		"a StatefulSet's claim templates, since Kubernetes 1.37": {"StatefulSet", []metav1.StatusCause{wrong("spec.volumeClaimTemplates")}, true},
		"two fields of a StatefulSet, since Kubernetes 1.37": {
			"StatefulSet", []metav1.StatusCause{wrong("spec.serviceName"), wrong("spec.podManagementPolicy")}, true,
		},
		"claim templates, and a wrong value": {
			"StatefulSet", []metav1.StatusCause{wrong("spec.volumeClaimTemplates"), wrong("spec.updateStrategy")}, false,
		},
		"one claim template":              {"StatefulSet", []metav1.StatusCause{wrong("spec.volumeClaimTemplates[0].spec")}, false},
		"a policy":                        {"StatefulSet", []metav1.StatusCause{{Message: "denied"}}, false},
		"the data of an immutable Secret": {"Secret", []metav1.StatusCause{forbidden("data")}, true},
		"a claim that shrinks":            {"PersistentVolumeClaim", []metav1.StatusCause{forbidden("spec.resources.requests.storage")}, true},
		"the spec of a claim":             {"PersistentVolumeClaim", []metav1.StatusCause{forbidden("spec")}, false},
		"a Deployment":                    {"Deployment", []metav1.StatusCause{forbidden("spec")}, false},
		"nothing":                         {"StatefulSet", nil, false},
	} {
		if got := isImmutable(invalid(row.causes...), row.kind); got != row.want {
			t.Errorf("%s: %t, want %t", name, got, row.want)
		}
	}
}
