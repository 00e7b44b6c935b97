package render

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
)

func deployment(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "c", "namespace": "acme"}, "spec": spec,
	}}
}

func TestTheHashOfAnObject(t *testing.T) {
	first, err := NewObject(deployment(map[string]any{"paused": true}))
	if err != nil || first.Content.GetAnnotations()[v1alpha1.AppliedAnnotation] != first.Hash || first.Stage != Workloads {
		t.Fatalf("%+v, %v", first, err)
	}
	for name, row := range map[string]struct {
		change func(*unstructured.Unstructured)
		same   bool
	}{
		"is the same for the same":                {func(*unstructured.Unstructured) {}, true},
		"is the same when it is computed again":   {func(o *unstructured.Unstructured) { o.SetAnnotations(first.Content.GetAnnotations()) }, true},
		"does not depend on the owner":            {func(o *unstructured.Unstructured) { o.SetOwnerReferences([]metav1.OwnerReference{{UID: "u"}}) }, true},
		"does not depend on the namespace":        {func(o *unstructured.Unstructured) { o.SetNamespace("globex") }, true},
		"depends on labels":                       {func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }, false},
		"depends on all that the object asks for": {func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{} }, false},
	} {
		other := deployment(map[string]any{"paused": true})
		row.change(other)
		again, err := NewObject(other)
		if err != nil || (again.Hash == first.Hash) != row.same {
			t.Errorf("%s: %s and %s, %v", name, first.Hash, again.Hash, err)
		}
	}
	checked, err := first.Accepted("job")
	if err != nil || checked.Hash == first.Hash || checked.Content.GetAnnotations()[v1alpha1.CheckedAnnotation] != "job" ||
		first.Content.GetAnnotations()[v1alpha1.CheckedAnnotation] != "" {
		t.Errorf("checked %+v, %v", checked, err)
	}
	service := Object{Ref: live.NewReference(schema.GroupVersionKind{Kind: "Service"}, "c")}
	if same, err := service.Accepted("job"); err != nil || same.Hash != service.Hash {
		t.Errorf("%+v, %v", same, err)
	}
}

func TestPodsThatCannotRunBesideOthers(t *testing.T) {
	pod := func(spec map[string]any) map[string]any {
		return map[string]any{"template": map[string]any{"spec": spec}}
	}
	for name, row := range map[string]struct {
		spec map[string]any
		want bool
	}{
		"have the node's network": {pod(map[string]any{"hostNetwork": true}), true},
		"have a port of the node": {pod(map[string]any{"containers": []any{map[string]any{"ports": []any{map[string]any{"hostPort": 4317}}}}}), true},
		"are recreated":           {map[string]any{"strategy": map[string]any{"type": "Recreate"}}, true},
		"are not those with ports of their own": {
			pod(map[string]any{"containers": []any{map[string]any{"ports": []any{map[string]any{"containerPort": 4317}}}}}), false,
		},
	} {
		object, err := NewObject(deployment(row.spec))
		if err != nil || object.Excludes != row.want {
			t.Errorf("%s: %t, %v", name, object.Excludes, err)
		}
	}
	if object, _ := NewObject(deployment(map[string]any{"replicas": int64(2)})); !object.SetsReplicas {
		t.Error("spec.replicas is not seen")
	}
}

// apis answers for some APIs.
type apis struct {
	discovery.DiscoveryInterface
	answers map[string]error
	kinds   map[string][]string
}

func (a *apis) ServerVersion() (*version.Info, error) {
	return &version.Info{Major: "1", Minor: "35", GitVersion: "v1.35.4"}, a.answers["version"]
}

func (a *apis) ServerResourcesForGroupVersion(group string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{}
	for _, kind := range a.kinds[group] {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	return list, a.answers[group]
}

func TestAnAPIThatDoesNotAnswerCountsAsItDidBefore(t *testing.T) {
	const keda, monitoring = "keda.sh/v1alpha1", "monitoring.coreos.com/v1"
	chrt, err := NewChart(chartOf(
		`{{ if .Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject" }}`+"\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n",
		`{{ if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor" }}`+"\napiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\n"))
	if err != nil {
		t.Fatal(err)
	}
	gone := apierrors.NewNotFound(schema.GroupResource{}, "")
	served := map[string][]string{keda: {"ScaledObject"}, monitoring: {"PodMonitor"}}
	client := &apis{kinds: served, answers: map[string]error{"version": errors.New("no network")}}
	var changes int
	var unfollowed error
	c := &Capabilities{
		Client: client, Chart: chrt, Log: logr.Discard(),
		Follow:  func(context.Context, []schema.GroupVersionKind) error { return unfollowed },
		Changed: func(context.Context, []schema.GroupVersionKind) { changes++ },
	}
	if _, err := c.Get(t.Context()); err == nil {
		t.Fatal("nothing is known, and that is no error")
	}
	for _, step := range []struct {
		name       string
		answers    map[string]error
		want       string
		unreadable []string
		changes    int
	}{
		{"at the start it is not known", map[string]error{keda: errors.New("503")}, "monitoring.coreos.com/v1/PodMonitor keda.sh/v1alpha1/ScaledObject?", []string{"keda.sh/v1alpha1/ScaledObject"}, 0},
		{"then it answers", nil, "keda.sh/v1alpha1/ScaledObject monitoring.coreos.com/v1/PodMonitor", nil, 1},
		{"later its last answer counts", map[string]error{keda: errors.New("503")}, "keda.sh/v1alpha1/ScaledObject monitoring.coreos.com/v1/PodMonitor", nil, 1},
		{"one that has gone does not", map[string]error{keda: gone}, "monitoring.coreos.com/v1/PodMonitor", nil, 2},
		{"the last answer is that it has gone", map[string]error{keda: errors.New("503")}, "monitoring.coreos.com/v1/PodMonitor", nil, 2},
		{"one that is back, and cannot be followed, does not count yet", nil, "monitoring.coreos.com/v1/PodMonitor", nil, 2},
		{"without the version nothing changes once it is known", map[string]error{"version": errors.New("no network"), keda: gone}, "monitoring.coreos.com/v1/PodMonitor", nil, 2},
	} {
		client.answers, unfollowed = step.answers, nil
		if strings.Contains(step.name, "cannot be followed") {
			unfollowed = errors.New("503")
		}
		served, err := c.Discover(t.Context())
		if err != nil || served.Version != step.want || len(served.Unreadable) != len(step.unreadable) || changes != step.changes {
			t.Fatalf("%s: %+v, %v, %d changes", step.name, served, err, changes)
		}
		for _, name := range step.unreadable {
			if more := served.With(step.unreadable); !slices.Contains(more.APIVersions, name) || slices.Contains(served.APIVersions, name) {
				t.Errorf("%s: with it %v", step.name, more.APIVersions)
			}
		}
	}
}

func TestARecordedManifestHasTheHashOfWhatWasRendered(t *testing.T) {
	rendered, err := Parse("---\n# Source: a\napiVersion: v1\nkind: Secret\nmetadata: {name: a-1, labels: {b: \"1\"}}\nimmutable: true\ndata: {a: aHVudGVyMg==}\n" +
		"---\n# Source: b\napiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 4317}]}\n")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Parse(rendered.Public())
	if err != nil || recorded.Hash != rendered.Hash || recorded.Public() == "" || len(recorded.Objects) != 2 {
		t.Errorf("hash %s, recorded %s, %v", rendered.Hash, recorded.Hash, err)
	}
}
