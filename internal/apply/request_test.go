package apply

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

func held(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetFinalizers([]string{"example.com/hold"})
	return object
}

func TestNothingIsDoneAfterARefusal(t *testing.T) {
	cluster := &script{refuse: func(Request) error { return errors.New("no") }}
	applier := &Applier{Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently}
	err := applier.Do(t.Context(), [][]Step{{stepOf(Create, "Service", "")}, {stepOf(Create, "Deployment", "")}})
	if err == nil || len(cluster.asked) != 1 {
		t.Errorf("error %v, asked %q", err, cluster.asked)
	}
}

func TestAPanicOfAStepIsAnErrorThatQuotesNothing(t *testing.T) {
	cluster := &script{refuse: func(Request) error { panic("hunter2") }}
	applier := &Applier{Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently}
	err := applier.Do(t.Context(), [][]Step{{stepOf(Create, "Service", "")}})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), `create Service "c"`) {
		t.Errorf("error %v", err)
	}
}

func TestARequestIsPinned(t *testing.T) {
	content := objectOf("Deployment", "", true)
	for name, row := range map[string]struct {
		request Request
		want    map[string]any
	}{
		"a creation changes nothing that is there": {Request{}, map[string]any{"resourceVersion": "1"}},
		"a change is of one object":                {Request{UID: "u"}, map[string]any{"uid": "u"}},
		"and of one version":                       {Request{UID: "u", Version: "8"}, map[string]any{"uid": "u", "resourceVersion": "8"}},
		"a dry run can have another name":          {Request{Name: "d"}, map[string]any{"resourceVersion": "1", "name": "d"}},
	} {
		content.SetResourceVersion("")
		row.request.Content = content
		got, _ := row.request.body()["metadata"].(map[string]any)
		for _, field := range []string{"uid", "resourceVersion", "name"} {
			want := row.want[field]
			if field == "name" && want == nil {
				want = "c"
			}
			if value := got[field]; value != want {
				t.Errorf("%s: %s is %v, want %v", name, field, value, want)
			}
		}
	}
	body := Request{Content: content, Replicas: 6}.body()
	if replicas, _, _ := unstructured.NestedInt64(body, "spec", "replicas"); replicas != 6 {
		t.Errorf("replicas %d", replicas)
	}
	if replicas, _, _ := unstructured.NestedInt64(content.Object, "spec", "replicas"); replicas != 4 {
		t.Errorf("the content has changed: replicas %d", replicas)
	}
}

func TestALostAnswerIsToldFromARefusal(t *testing.T) {
	for name, row := range map[string]struct {
		err             error
		isLost, passing bool
	}{
		"nothing":                 {nil, false, false},
		"a policy":                {invalid(), false, false},
		"a quota":                 {apierrors.NewForbidden(schema.GroupResource{}, "c", nil), false, false},
		"a webhook that is down":  {apierrors.NewInternalError(errors.New("failed calling webhook")), false, true},
		"a webhook's own code":    {apierrors.NewInternalError(errors.New("denied the request")), false, false},
		"an API server that ends": {apierrors.NewServiceUnavailable("shutting down"), false, true},
		"no answer":               {context.DeadlineExceeded, true, true},
		"a late answer":           {apierrors.NewTimeoutError("try again", 1), true, true},
		"an answer that is cut":   {errors.New("unexpected error when reading response body. Please retry: unexpected EOF"), true, true},
		"no network":              {&url.Error{Op: "Patch", Err: errors.New("connection refused")}, true, true},
		"a busy API":              {apierrors.NewTooManyRequests("slow down", 1), true, true},
		"the end of a run":        {context.Canceled, true, true},
	} {
		err := row.err
		if err != nil {
			err = fmt.Errorf("apply: %w", err)
		}
		if IsLost(err) != row.isLost || IsPassing(err) != row.passing {
			t.Errorf("%s: lost %t, passing %t", name, IsLost(err), IsPassing(err))
		}
	}
}

func TestALostAnswerIsTold(t *testing.T) {
	cluster := &script{refuse: func(Request) error { return context.DeadlineExceeded }}
	var lost []string
	applier := &Applier{
		Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently,
		Lost: func(step Step) { lost = append(lost, step.Ref.Use()) },
	}
	if err := applier.Do(t.Context(), [][]Step{{stepOf(Change, "Service", "1")}}); !IsLost(err) || len(lost) != 1 || lost[0] != "Service/c" {
		t.Errorf("error %v, lost %q", err, lost)
	}
}

func TestAWorkloadThatHasGotAsManyPodsDoesNotRise(t *testing.T) {
	cluster := &script{live: map[live.Reference]*unstructured.Unstructured{}}
	for _, object := range []*unstructured.Unstructured{objectOf("Deployment", "2", true), objectOf("StatefulSet", "1", true)} {
		cluster.live[live.ReferenceTo(object)] = object // of 4 pods each
	}
	step := stepOf(Change, "StatefulSet", "1")
	step.ScalesUp, step.Replicas, step.Predecessor = true, 2, refTo("Deployment")
	applier := &Applier{
		Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently, Note: func(Step, *live.Object) {},
	}
	if err := applier.Do(t.Context(), [][]Step{{step}}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"read Deployment/c", "read StatefulSet/c", "read StatefulSet/c", "apply StatefulSet/c of 1 at 7 by " + managedfields.Handover,
		"apply StatefulSet/c of 1",
	}
	if diff := cmp.Diff(want, cluster.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
