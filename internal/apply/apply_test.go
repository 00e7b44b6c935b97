package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

const collectorUID = "a-b-c"

// objectOf returns an object of a Collector, or of no owner.
func objectOf(kind, uid string, owned bool) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(4)}}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	object.SetNamespace("acme")
	object.SetName("c")
	object.SetUID(types.UID(uid))
	object.SetResourceVersion("7")
	if owned {
		object.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Collector", Name: "c", UID: collectorUID, Controller: new(true)}})
	}
	return object
}

func refTo(kind string) live.Reference {
	return live.NewReference(schema.GroupVersionKind{Version: "v1", Kind: kind}, "c")
}

func stepOf(action Action, kind, uid string) Step {
	content := objectOf(kind, "", true)
	unstructured.RemoveNestedField(content.Object, "spec", "replicas")
	return Step{Action: action, Ref: refTo(kind), UID: types.UID(uid), Object: &render.Object{Ref: refTo(kind), Content: content}}
}

func invalid(causes ...metav1.StatusCause) error {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "X"}, "c", nil)
	err.ErrStatus.Details.Causes = causes
	return err
}

func onlyWhen(isRefused func(Request) bool, err error) func(Request) error {
	return func(request Request) error {
		if isRefused(request) {
			return err
		}
		return nil
	}
}

func TestSteps(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "c-dry-run-old", errors.New("exceeded quota"))
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "c", errors.New("it is there"))
	policy := invalid(metav1.StatusCause{Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"})
	otherUID := invalid(metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid", Message: "field is immutable"})
	immutableSpec := invalid(metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: "spec", Message: "Forbidden: updates are forbidden"})
	lists := invalid(metav1.StatusCause{Type: metav1.CauseTypeFieldValueDuplicate, Field: "spec.ports[1].name", Message: "Duplicate value"})
	keda := apierrors.NewBadRequest("admission webhook \"vscaledobject.kb.io\" denied the request: " +
		"the workload 'c' of type 'apps/v1.Deployment' is already managed by the hpa 'c'")
	noDryRun := apierrors.NewBadRequest("admission webhook \"x\" does not support dry run")
	replace := stepOf(Replace, "StatefulSet", "old")
	replace.Old = &Old{Ref: replace.Ref, UID: "old", Orphan: true, Grow: []Growth{{Claim: "queue-c-0", Size: "2Gi"}}}
	const triesExchange = "delete HorizontalPodAutoscaler/c of old orphan false dry run true"
	const triesToDelete = "delete StatefulSet/c of old orphan true dry run true"
	replaceOnly := replace
	replaceOnly.Old = &Old{Ref: replace.Ref, UID: "old", Orphan: true}
	exchange := stepOf(Replace, "ScaledObject", "")
	exchange.Old = &Old{Ref: refTo("HorizontalPodAutoscaler"), UID: "old"}
	tryExchange := exchange
	tryExchange.Action = Try
	handsOver := stepOf(Change, "Deployment", "1")
	handsOver.HandsOver = true
	begins, scalesUp := stepOf(Create, "StatefulSet", ""), stepOf(Change, "StatefulSet", "1")
	begins.Replicas, begins.Predecessor = 2, refTo("Deployment")
	scalesUp.ScalesUp, scalesUp.Replicas, scalesUp.Predecessor = true, 2, refTo("Deployment")

	isReal := func(request Request) bool { return !request.DryRun }
	for name, row := range map[string]struct {
		step      Step
		live      []*unstructured.Unstructured
		refuse    func(Request) error
		keeps     error
		want      []string
		wantError string
	}{
		"a creation": {step: stepOf(Create, "Service", ""), want: []string{"apply Service/c"}},
		"a change is of the object that was seen": {step: stepOf(Change, "Service", "1"), want: []string{"apply Service/c of 1"}},
		"a workload begins with as many pods as the one before": {
			step: begins, live: []*unstructured.Unstructured{objectOf("Deployment", "1", true)},
			want: []string{"read Deployment/c", "apply StatefulSet/c with 4 pods", "read StatefulSet/c", "apply StatefulSet/c of new"},
		},
		"a workload that is there scales up to as many pods as the one before, and hands the number over": {
			step: scalesUp, live: []*unstructured.Unstructured{objectOf("Deployment", "2", true)},
			want: []string{"read Deployment/c", "read StatefulSet/c", "apply StatefulSet/c of 1 with 4 pods", "read StatefulSet/c", "apply StatefulSet/c of new"},
		},
		"a workload that is refused does not rise": {
			step: scalesUp, refuse: onlyWhen(isReal, policy), wantError: "denied request",
			want: []string{"read Deployment/c", "read StatefulSet/c", "apply StatefulSet/c of 1 with 2 pods"},
		},
		"an object that is there, and the Collector's, is changed": {
			step: stepOf(Create, "Service", ""), live: []*unstructured.Unstructured{objectOf("Service", "2", true)},
			refuse: onlyWhen(func(r Request) bool { return r.UID == "" }, conflict),
			want:   []string{"apply Service/c", "read Service/c", "apply Service/c of 2"},
		},
		"an object of another owner is left alone": {
			step: stepOf(Create, "Service", ""), live: []*unstructured.Unstructured{objectOf("Service", "2", false)},
			refuse: onlyWhen(isReal, conflict), want: []string{"apply Service/c", "read Service/c"}, wantError: `Service "c" exists and has no owner`,
		},
		"an object that has gone is created": {
			step: stepOf(Change, "Service", "1"), refuse: onlyWhen(func(r Request) bool { return r.UID != "" }, conflict),
			want: []string{"apply Service/c of 1", "read Service/c", "apply Service/c"},
		},
		"another object of that name is changed if it is the Collector's": {
			step: stepOf(Change, "Service", "1"), live: []*unstructured.Unstructured{objectOf("Service", "2", true)},
			refuse: onlyWhen(func(r Request) bool { return r.UID == "1" }, otherUID),
			want:   []string{"apply Service/c of 1", "read Service/c", "apply Service/c of 2"},
		},
		"something that replaces an object again and again is an error": {
			step: stepOf(Change, "Service", "1"), live: []*unstructured.Unstructured{objectOf("Service", "2", true)}, refuse: onlyWhen(isReal, otherUID),
			want:      []string{"apply Service/c of 1", "read Service/c", "apply Service/c of 2", "read Service/c", "apply Service/c of 2", "read Service/c"},
			wantError: "something replaces it, or refuses it as a conflict, again and again: ",
		},
		"lists that are invalid together are replaced once": {
			step: stepOf(Change, "Service", "1"), refuse: onlyWhen(isReal, lists),
			want:      []string{"apply Service/c of 1", "rewrite Service/c", "apply Service/c of 1"},
			wantError: "spec.ports: Duplicate value",
		},
		"a policy's refusal is no reason to do anything else": {
			step: stepOf(Change, "Secret", "1"), refuse: onlyWhen(isReal, policy), want: []string{"apply Secret/c of 1"}, wantError: "denied request",
		},
		"a refusal of a StatefulSet's immutable fields is told as such": {
			step: stepOf(Change, "StatefulSet", "1"), refuse: onlyWhen(isReal, immutableSpec), want: []string{"apply StatefulSet/c of 1"},
			wantError: `apply StatefulSet "c": `,
		},
		"a dry run that a webhook refuses as a conflict is refused": {
			step: stepOf(Try, "Service", "1"), live: []*unstructured.Unstructured{objectOf("Service", "1", true)},
			refuse: onlyWhen(func(Request) bool { return true }, conflict),
			want:   []string{"try Service/c of 1", "read Service/c", "try Service/c of 1", "read Service/c"}, wantError: "apply Service",
		},
		"the number of pods is handed over with the version that was read": {
			step: handsOver, live: []*unstructured.Unstructured{objectOf("Deployment", "1", true)},
			want: []string{"read Deployment/c", "apply Deployment/c of 1 at 7 by kube8-operator-handover", "apply Deployment/c of 1"},
		},
		"a dry run is nothing else": {step: stepOf(Try, "Service", "1"), want: []string{"try Service/c of 1"}},
		"a webhook without dry runs has no say in one": {
			step: stepOf(Try, "Service", "1"), refuse: onlyWhen(func(Request) bool { return true }, noDryRun), want: []string{"try Service/c of 1"},
		},
		"a dry run finds what is in the way": {
			step: stepOf(Try, "Service", ""), live: []*unstructured.Unstructured{objectOf("Service", "2", false)},
			refuse: onlyWhen(func(Request) bool { return true }, conflict), want: []string{"try Service/c", "read Service/c"}, wantError: "has no owner",
		},
		"a StatefulSet is replaced when its successor is accepted, with the pods that it has": {
			step: replace, live: []*unstructured.Unstructured{objectOf("StatefulSet", "old", true)},
			want: []string{
				triesToDelete, "grow queue-c-0, dry run true", "try StatefulSet/c as c-dry-run-old", "read StatefulSet/c", "grow queue-c-0, dry run false", "delete StatefulSet/c of old orphan true dry run false",
				"read StatefulSet/c", "apply StatefulSet/c with 4 pods", "read StatefulSet/c", "apply StatefulSet/c of new",
			},
		},
		"a StatefulSet that a finalizer would hold stays": {
			step: replace, live: []*unstructured.Unstructured{held(objectOf("StatefulSet", "old", true))},
			want: []string{triesToDelete, "grow queue-c-0, dry run true", "try StatefulSet/c as c-dry-run-old", "read StatefulSet/c"}, wantError: "finalizers example.com/hold would keep the operator",
		},
		"a StatefulSet whose successor is refused stays": {
			step: replace, live: []*unstructured.Unstructured{objectOf("StatefulSet", "old", true)}, refuse: onlyWhen(func(r Request) bool { return r.DryRun }, forbidden),
			want: []string{triesToDelete, "grow queue-c-0, dry run true", "try StatefulSet/c as c-dry-run-old"}, wantError: `"c" is forbidden: exceeded quota`,
		},
		"a StatefulSet whose successor is refused after all is there again": {
			step: replace, live: []*unstructured.Unstructured{objectOf("StatefulSet", "old", true)}, refuse: onlyWhen(isReal, forbidden),
			want: []string{
				triesToDelete, "grow queue-c-0, dry run true", "try StatefulSet/c as c-dry-run-old", "read StatefulSet/c", "grow queue-c-0, dry run false", "delete StatefulSet/c of old orphan true dry run false",
				"read StatefulSet/c", "apply StatefulSet/c with 4 pods", "restore StatefulSet/c",
			}, wantError: "exceeded quota",
		},
		"another StatefulSet of that name is left alone": {
			step: replace, live: []*unstructured.Unstructured{objectOf("StatefulSet", "other", true)},
			want: []string{triesToDelete, "grow queue-c-0, dry run true", "try StatefulSet/c as c-dry-run-old", "read StatefulSet/c", "apply StatefulSet/c"},
		},
		"an autoscaler goes that is all that the webhook of the next one names": {
			step: exchange, live: []*unstructured.Unstructured{objectOf("HorizontalPodAutoscaler", "old", true)},
			refuse: onlyWhen(func(r Request) bool { return r.DryRun }, keda),
			want: []string{
				triesExchange, "try ScaledObject/c", "read HorizontalPodAutoscaler/c", "delete HorizontalPodAutoscaler/c of old orphan false dry run false",
				"apply ScaledObject/c",
			},
		},
		"a dry run of an autoscaler may name the one that goes": {
			step: tryExchange, refuse: onlyWhen(func(Request) bool { return true }, keda), want: []string{triesExchange, "try ScaledObject/c"},
		},
		"an autoscaler that may not go stays, and is told by a dry run": {
			step: tryExchange, keeps: forbidden, want: []string{triesExchange}, wantError: "is forbidden",
		},
		"a StatefulSet that may not go stays": {
			step: replaceOnly, live: []*unstructured.Unstructured{objectOf("StatefulSet", "old", true)}, keeps: forbidden, wantError: "is forbidden",
			want: []string{"try StatefulSet/c as c-dry-run-old", "read StatefulSet/c", "delete StatefulSet/c of old orphan true dry run false"},
		},
		"an autoscaler stays whose successor is refused for anything else": {
			step: exchange, live: []*unstructured.Unstructured{objectOf("HorizontalPodAutoscaler", "old", true)},
			refuse: onlyWhen(func(Request) bool { return true }, policy), want: []string{triesExchange, "try ScaledObject/c"}, wantError: "denied request",
		},
		"an object that stays is labelled": {
			step: Step{Action: Adopt, Ref: refTo("Secret"), UID: "1"}, live: []*unstructured.Unstructured{objectOf("Secret", "1", true)},
			want: []string{"read Secret/c", "apply Secret/c of 1 by kube8-operator-adopt"},
		},
		"an object that has gone meanwhile is not labelled": {step: Step{Action: Adopt, Ref: refTo("Secret"), UID: "1"}, want: []string{"read Secret/c"}},
		"a deletion":                    {step: Step{Action: Delete, Ref: refTo("Secret"), UID: "1"}, want: []string{"delete Secret/c of 1 orphan false dry run false"}},
		"what is no action is an error": {step: Step{Action: "dance", Ref: refTo("Secret")}, wantError: "there is no such step"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &script{live: map[live.Reference]*unstructured.Unstructured{}, refuse: row.refuse, keeps: row.keeps}
			for _, object := range row.live {
				cluster.live[live.ReferenceTo(object)] = object
			}
			collector := objectOf("Collector", collectorUID, false)
			var noted []Action
			applier := &Applier{
				Cluster: cluster, Collector: collector, Together: Concurrently,
				Note: func(step Step, _ *live.Object) { noted = append(noted, step.Action) },
				Lost: func(Step) { t.Error("an answer is lost") },
			}
			err := applier.Do(t.Context(), [][]Step{{row.step}, {}})
			if row.wantError == "" && err != nil || row.wantError != "" && (err == nil || !strings.Contains(err.Error(), row.wantError)) {
				t.Errorf("error %v, want %q", err, row.wantError)
			}
			_, isConflict := errors.AsType[*live.ConflictError](err)
			isOfCode := isConflict || len(immutablesIn(err)) > 0 || row.step.Action == Try || row.step.Action == "dance"
			if err != nil && !isOfCode && (RefusedIn(err) == nil || RefusedIn(err).Kind != row.step.Ref.Kind().Kind) {
				t.Errorf("%v does not say which object is refused, so the next attempt does not begin with it", err)
			}
			if diff := cmp.Diff(row.want, cluster.asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if writes := row.step.Action != Try && row.wantError == ""; writes != slices.Contains(noted, row.step.Action) {
				t.Errorf("noted %v", noted)
			}
		})
	}
}
