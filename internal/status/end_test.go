package status_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/internal/status"
)

func TestUpdateOfADeletedCollectorIsDropped(t *testing.T) {
	cluster := fake.NewClientBuilder().Build()
	c := status.NewClient(cluster, cluster, outcome{}, flows{}, record.NewFakeRecorder(0))
	if err := c.Status().Update(t.Context(), collector(t, `conditions: []`)); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestTheEndOfACollectorIsNotWritten(t *testing.T) {
	deleted := collector(t, `conditions: [{type: Deployed, status: "False", reason: UninstallSuccessful}]`)
	deleted.SetDeletionTimestamp(new(metav1.Now()))
	deleted.SetFinalizers([]string{"uninstall"})
	c := fake.NewClientBuilder().WithObjects(collector(t, steady)).Build()
	if err := status.NewClient(c, c, outcome{}, flows{}, record.NewFakeRecorder(0)).Status().Update(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
}

// The event is the only one that can: the reconciler writes no status before it has its finalizer, and none when it has taken that away.
func TestAnEventTellsHowTheFinalizersAreWritten(t *testing.T) {
	const gone = "Normal Uninstalled the operator has requested the deletion of all objects that the Collector controlled"
	refusal := errors.New("a policy refuses it")
	for name, row := range map[string]struct {
		isGoing bool
		refusal error
		want    string
	}{
		"of a new one":                                 {},
		"of a new one, which is refused":               {refusal: refusal, want: "Warning FinalizerRefused the operator cannot write the Collector's finalizers, so it does nothing: a policy refuses it"},
		"of one that goes":                             {isGoing: true, want: gone},
		"of one that goes, which is refused":           {isGoing: true, refusal: refusal, want: "Warning FinalizerRefused the operator cannot write the Collector's finalizers, so it cannot let the Collector go: a policy refuses it"},
		"of a new one that somebody changes meanwhile": {refusal: apierrors.NewConflict(schema.GroupResource{}, "gateway", refusal)},
	} {
		t.Run(name, func(t *testing.T) {
			stored, events := collector(t, steady), record.NewFakeRecorder(1)
			c := interceptor.NewClient(fake.NewClientBuilder().WithObjects(stored).Build(), interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return row.refusal
				},
			})
			if row.isGoing {
				stored.SetDeletionTimestamp(new(metav1.Now()))
			}
			if err := status.NewClient(c, c, outcome{}, flows{}, events).Update(t.Context(), stored); !errors.Is(err, row.refusal) {
				t.Errorf("got error %v, want %v", err, row.refusal)
			}
			close(events.Events)
			if got := <-events.Events; got != row.want {
				t.Errorf("event %q, want %q", got, row.want)
			}
		})
	}
}

// Pods are a list in the informer cache, and what keeps pods of a StatefulSet from coming is a list of the API server.
func TestPodsAreListedOnlyIfReadyDependsOnThem(t *testing.T) {
	waiting := served(t)
	if err := unstructured.SetNestedField(waiting.Object, int64(0), "status", "availableReplicas"); err != nil {
		t.Fatal(err)
	}
	const failed, paused = `{type: Irreconcilable, status: "True", reason: ReconcileError}`, `{type: Paused, status: "True"}`
	for name, row := range map[string]struct {
		conditions string
		ended      outcome
		lists      bool
	}{
		"not of a Collector that cannot be deployed": {failed, outcome{Err: errors.New("refused")}, false},
		"not while a change is checked":              {"", outcome{Checking: "Job checks it"}, false},
		"while its pods do not serve":                {"", outcome{Deployed: deployed}, true},
		"of a paused Collector, also if it failed":   {failed + "," + paused, outcome{Err: errors.New("refused")}, true},
	} {
		lists := false
		cluster := fake.NewClientBuilder().WithObjects(collector(t, "{}"), waiting).WithInterceptorFuncs(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				lists = true
				return nil
			},
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return nil
			},
		}).Build()
		writer := status.NewClient(cluster, cluster, row.ended, flows{}, record.NewFakeRecorder(9)).Status()
		if err := writer.Update(t.Context(), collector(t, "conditions: ["+row.conditions+"]")); err != nil {
			t.Fatal(err)
		}
		if lists != row.lists {
			t.Errorf("%s: lists %t, want %t", name, lists, row.lists)
		}
	}
}
