package kubectl

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/operator"
)

func TestAPreflightJudgesNothingButTheVersion(t *testing.T) {
	renderer, err := offline.New(operator.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const spec = "{cluster: prod, tenant: {id: acme, reference: acme}, collector: {name: opentelemetry-collector, version: v0.150.0, configurationText: 'a: b'}}"
	for name, row := range map[string]struct{ old, new, version, reason string }{
		"another version":                        {version: "0.151.0"},
		"the same version without its v":         {version: "0.150.0"},
		"an image that a tag decides":            {old: "cluster: prod", new: "cluster: prod, image: {tag: own}", version: "0.151.0", reason: "spec.image decides"},
		"a Collector that is refused either way": {old: "a: b", new: "a: *nobody", version: "0.151.0", reason: "is refused with its present version, too: Collector acme/gateway: spec.collector.configurationText: "},
	} {
		present := &unstructured.Unstructured{}
		text := "{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {namespace: acme, name: gateway}, spec: " + strings.Replace(spec, row.old, row.new, 1) + "}"
		if err := yaml.Unmarshal([]byte(text), &present.Object); err != nil {
			t.Fatal(err)
		}
		reads := interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			if read, is := object.(*unstructured.Unstructured); is && read.GetKind() == "Collector" {
				read.Object = present.DeepCopy().Object
				return nil
			}
			return apierrors.NewNotFound(schema.GroupResource{}, "gateway")
		}}
		s := &session{client: interceptor.NewClient(nil, reads), namespace: "acme"}
		one := &forecast{Namespace: "acme", Name: "gateway", Verdict: unknown}
		trial := s.prepare(t.Context(), renderer, one, preflight{version: row.version})
		if (trial == nil) != (row.reason != "") || one.Verdict != unknown || !strings.HasPrefix(one.Reason, row.reason) {
			t.Errorf("%s: %+v", name, one)
		}
	}
	for version, want := range map[string]bool{"0.151.0": true, "v1": true, "": false, "a b": false, strings.Repeat("1", 64): false} {
		err := checkVersion(t.Context(), renderer, version)
		if (err == nil) != want || err != nil && !strings.HasPrefix(err.Error(), "--version ") {
			t.Errorf("--version %q: %v", version, err)
		}
	}
}

func TestAnObstacleIsTheNewestWarningAboutJobAndPods(t *testing.T) {
	event := func(about, of, reason, message string, minutes int) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{Name: about, UID: types.UID("uid-" + about)}, Type: of, Reason: reason, Message: message,
			LastTimestamp: metav1.NewTime(time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute)),
		}
	}
	all := []corev1.Event{
		event("job", corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: job-abcde", 1),
		event("job", corev1.EventTypeWarning, "FailedCreate", "quota", 2),
		event("job-abcde", corev1.EventTypeWarning, "Failed", "no image", 3),
		event("job-abcde", corev1.EventTypeNormal, "Pulling", "pulls", 5),
		event("job", corev1.EventTypeWarning, "DeadlineExceeded", "took too long", 6),
		event("job-other", corev1.EventTypeWarning, "Failed", "of somebody else", 7),
	}
	lists := interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		asked := (&client.ListOptions{}).ApplyOptions(options)
		found, isEvents := list.(*corev1.EventList)
		for _, event := range all {
			set := fields.Set{"involvedObject.name": event.InvolvedObject.Name, "involvedObject.uid": string(event.InvolvedObject.UID), "type": event.Type}
			if isEvents && asked.FieldSelector.Matches(set) {
				found.Items = append(found.Items, event)
			}
		}
		for _, need := range asked.FieldSelector.Requirements() {
			if strings.HasPrefix(need.Field, "involvedObject.") {
				return nil
			}
		}
		return errors.New("lists the events of all objects")
	}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "uid-job"}}
	trial := &trial{session: &session{client: interceptor.NewClient(nil, lists), namespace: "acme"}, job: job}
	if got, want := trial.obstacle(t.Context(), "DeadlineExceeded"), "DeadlineExceeded; Failed: no image"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAPreflightSaysWhatItDidNotDelete(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway-preflight-a", UID: "1"}}
	lost := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway-preflight-a"}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a", errors.New("no right"))
	for name, row := range map[string]struct {
		job  *batchv1.Job
		err  error
		want []string
	}{
		"all is deleted":             {job, nil, nil},
		"it is gone":                 {job, apierrors.NewNotFound(schema.GroupResource{}, "a"), nil},
		"the API server is gone":     {job, errors.New("connection\nrefused"), []string{"Job acme/gateway-preflight-a was not deleted: connection refused", "Secret acme/gateway-preflight-a was not deleted"}},
		"there is no right":          {job, forbidden, []string{"Job acme/gateway-preflight-a was not deleted: ", "no right"}},
		"it was not created, either": {lost, forbidden, nil},
	} {
		deletes := interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return row.err }}
		trial := &trial{session: &session{client: interceptor.NewClient(nil, deletes), namespace: "acme"}, job: row.job, secret: &corev1.Secret{}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // as after Ctrl-C
		err := trial.remove(ctx)
		if (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, words := range row.want {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, want %q", name, err, words)
			}
		}
	}
}

func TestAPreflightHasTheBasesOfTheDeployedRevision(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := withHistory(t, "acme", map[int]string{1: "older", 2: "now"})
	s := &session{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), namespace: "acme"}
	for text, want := range map[string]string{
		`{}`: "", `{spec: {collector: {bases: [{name: limits}]}}}`: "now",
		`{status: {bases: [limits@1111]}}`:              "now", // its namespace names it
		`{spec: {collector: {bases: [{name: other}]}}}`: "revision 2 is without base other",
	} {
		collector := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &collector.Object); err != nil {
			t.Fatal(err)
		}
		collector.SetNamespace("acme")
		collector.SetName("gateway")
		collector.SetUID("acme")
		bases, err := s.basesOf(t.Context(), collector)
		got := fmt.Sprint(err)
		if err == nil {
			var contents []byte
			for _, base := range bases {
				content, _ := at(base, "content").(string)
				decoded, _ := base64.StdEncoding.DecodeString(content)
				contents = append(contents, decoded...)
			}
			got = string(contents)
		}
		if got != want {
			t.Errorf("%s has the bases %q, want %q", text, got, want)
		}
	}
}
