package status_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/internal/status"
)

func TestUpdateOfADeletedCollectorIsDropped(t *testing.T) {
	cluster := fake.NewClientBuilder().Build()
	c := status.NewClient(cluster, cluster, outcome{}, flows{}, record.NewFakeRecorder(0))
	if err := c.Status().Update(t.Context(), collector(t, `conditions: []`)); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestTheEndOfACollectorIsToldButNotWritten(t *testing.T) {
	deleted := collector(t, `conditions: [{type: Deployed, status: "False", reason: UninstallSuccessful}]`)
	deleted.SetDeletionTimestamp(new(metav1.Now()))
	deleted.SetFinalizers([]string{"uninstall"})
	events := record.NewFakeRecorder(1)
	c := fake.NewClientBuilder().WithObjects(collector(t, steady)).Build()
	if err := status.NewClient(c, c, outcome{}, flows{}, events).Status().Update(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	if got, want := <-events.Events, "Normal Uninstalled all objects of the Collector are gone"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}
