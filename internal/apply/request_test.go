package apply

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNothingIsDoneAfterARefusal(t *testing.T) {
	cluster := &script{refuse: func(Request) error { return errors.New("no") }}
	applier := &Applier{Cluster: cluster, Collector: objectOf("Collector", collectorUID, false), Together: Concurrently}
	err := applier.Do(t.Context(), [][]Step{{stepOf(Create, "Service", "")}, {stepOf(Create, "Deployment", "")}})
	if err == nil || len(cluster.asked) != 1 {
		t.Errorf("error %v, asked %q", err, cluster.asked)
	}
	applier.Before = func() error { return errors.New("not ours any more") }
	if err := applier.Do(t.Context(), [][]Step{{stepOf(Create, "Service", "")}}); err == nil || len(cluster.asked) != 1 {
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
		err  error
		want bool
	}{
		"a policy":         {invalid(), false},
		"a quota":          {apierrors.NewForbidden(schema.GroupResource{}, "c", nil), false},
		"a webhook":        {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"no answer":        {context.DeadlineExceeded, true},
		"a late answer":    {apierrors.NewTimeoutError("try again", 1), true},
		"no network":       {&url.Error{Op: "Patch", Err: errors.New("connection refused")}, true},
		"a busy API":       {apierrors.NewTooManyRequests("slow down", 1), true},
		"the end of a run": {context.Canceled, true},
	} {
		if got := IsLost(fmt.Errorf("apply: %w", row.err)); got != row.want {
			t.Errorf("%s: lost %t", name, got)
		}
	}
}
