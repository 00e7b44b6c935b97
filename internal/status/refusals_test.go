package status_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/internal/status"
)

func TestARefusedStatusIsToldOnce(t *testing.T) {
	collectors := schema.GroupResource{Group: "kube8.dev", Resource: "collectors"}
	forbidden := func(message string) error { return apierrors.NewForbidden(collectors, "gateway", errors.New(message)) }
	one, another := forbidden("policy one says no"), forbidden("policy another says no")
	tell := func(message string) string {
		return `Warning StatusRefused the API server refuses the Collector's status, so the status is not up to date: ` +
			`collectors.kube8.dev "gateway" is forbidden: ` + message + `; let the operator's ServiceAccount patch collectors/status`
	}
	broken, long, data := errors.New("broken"), strings.Repeat("long ", 100), "cGFzc3dvcmQ9aHVudGVyMi1pcy1sb25n"
	first, second := tell("policy one says no"), tell("policy another says no")
	begin := long[:250-len(`collectors.kube8.dev "gateway" is forbidden: `)] + "…"
	for name, row := range map[string]struct {
		answers []error
		after   time.Duration // from one to the next
		isNew   bool          // the second Collector has the same name
		want    []string
	}{
		"which is accepted":                       {answers: []error{nil}},
		"which a policy refuses again and again":  {answers: []error{one, one, one}, after: 2 * time.Minute, want: []string{first}},
		"also when it was accepted meanwhile":     {answers: []error{one, nil, one}, want: []string{first}},
		"and once more when the event is gone":    {answers: []error{one, one}, after: time.Hour, want: []string{first, first}},
		"with each reason":                        {answers: []error{one, another}, want: []string{first, second}},
		"of each Collector":                       {answers: []error{one, one}, isNew: true, want: []string{first, first}},
		"if the answer was not lost":              {answers: []error{&url.Error{Err: broken}, apierrors.NewTooManyRequests("later", 1)}},
		"if the Collector was not changed":        {answers: []error{apierrors.NewConflict(collectors, "gateway", broken)}},
		"if the Collector has not gone":           {answers: []error{apierrors.NewNotFound(collectors, "gateway")}},
		"of which an answer may quote the begin":  {answers: []error{forbidden(long)}, want: []string{tell(begin)}},
		"of which an answer may not quote base64": {answers: []error{forbidden(data)}, want: []string{tell("(hidden)")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events, answers := record.NewFakeRecorder(9), row.answers
				c := interceptor.NewClient(fake.NewClientBuilder().WithObjects(collector(t, steady), served(t)).Build(), interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
						err := c.Get(ctx, key, object, options...)
						if row.isNew && object.GetObjectKind().GroupVersionKind().Kind == "Collector" {
							object.SetUID(uidOf(answers))
						}
						return err
					},
					SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
						return answers[0]
					},
				})
				writer := status.NewClient(c, c, outcome{}, flows{}, events).Status()
				for ; len(answers) > 0; answers = answers[1:] {
					updated := collector(t, `conditions: [{type: Initialized, status: "True"}]`)
					if row.isNew {
						updated.SetUID(uidOf(answers))
					}
					if err := writer.Update(t.Context(), updated); (err == nil) != (answers[0] == nil) {
						t.Errorf("got error %v, want one for %v", err, answers[0])
					}
					time.Sleep(row.after) //nolint:forbidigo // of the bubble's clock
				}
				close(events.Events)
				var got []string
				for event := range events.Events {
					got = append(got, event)
				}
				if strings.Join(got, "\n") != strings.Join(row.want, "\n") {
					t.Errorf("got  %q\nwant %q", got, row.want)
				}
			})
		})
	}
}

// uidOf returns the UID of the Collector that has the name while some answers are to come.
func uidOf(answers []error) types.UID { return types.UID(strings.Repeat("1", len(answers))) }

func TestAStatusIsNotWrittenToAnotherCollectorOfTheName(t *testing.T) {
	var written *unstructured.Unstructured
	stored, updated := collector(t, steady), collector(t, `conditions: [{type: Initialized, status: "True"}]`)
	stored.SetUID("2")
	updated.SetUID("1")
	c := fake.NewClientBuilder().WithObjects(stored, served(t)).WithInterceptorFuncs(receiving(t, &written)).Build()
	err := status.NewClient(c, c, outcome{}, flows{}, record.NewFakeRecorder(9)).Status().Update(t.Context(), updated)
	if err != nil || written != nil {
		t.Errorf("written %v, error %v", written, err)
	}
}
