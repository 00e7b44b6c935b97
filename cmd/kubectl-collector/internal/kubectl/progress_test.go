package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAContinueCountsForARingThatEndedInTheSameSecond(t *testing.T) {
	ended := time.Now()
	namespace := &corev1.Namespace{}
	_, err := continueAll(namespace)
	continued, parseErr := time.Parse(time.RFC3339, namespace.Annotations[v1alpha1.ContinuedAnnotation]) // as the operator reads it
	if err != nil || parseErr != nil || continued.Before(ended) {
		t.Errorf("continued at %s, and the ring ended at %s (%v, %v)", continued, ended, err, parseErr)
	}
}

func TestWhetherChangesArePausedIsSaidByThoseWhoMayKnow(t *testing.T) {
	const paused, unknown = "Changes are paused; ", "It is not known whether changes are paused"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "", errors.New("no"))
	unavailable := apierrors.NewServiceUnavailable("the API server is not there")
	for name, row := range map[string]struct {
		list, get               error
		operators               string
		text, json, ring, fails string
	}{
		"an account that may list namespaces":           {operators: "system", text: paused, json: `"isPaused":true,"isGated":false`, ring: "0"},
		"one that may read the operator's alone":        {list: forbidden, operators: "system", text: paused, json: `"isPaused":true`, ring: "unknown"},
		"one that may read none":                        {list: forbidden, get: forbidden, operators: "system", text: unknown, ring: "unknown"},
		"one that names another namespace":              {operators: "moon", text: unknown, ring: "0"},
		"a list that fails":                             {list: unavailable, operators: "system", fails: "the API server is not there"},
		"a namespace that cannot be read at the moment": {list: forbidden, get: unavailable, operators: "system", fails: "the API server is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			_ = clientgoscheme.AddToScheme(scheme)
			_ = v1alpha1.AddToScheme(scheme)
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system", Labels: map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold}}},
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme", Labels: map[string]string{v1alpha1.RingLabel: "0"}}},
				&v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway"}},
			).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if _, is := list.(*corev1.NamespaceList); is && row.list != nil {
						return row.list
					}
					return c.List(ctx, list, options...)
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if _, is := object.(*corev1.Namespace); is && row.get != nil {
						return row.get
					}
					return c.Get(ctx, key, object, options...)
				},
			}).Build()
			told, err := (&session{client: c}).progress(t.Context(), row.operators, time.Now())
			if err != nil || row.fails != "" {
				if err == nil || row.fails == "" || !strings.Contains(err.Error(), row.fails) {
					t.Errorf("got error %v, want %q", err, row.fails)
				}
				return
			}
			var out strings.Builder
			forPrograms, jsonErr := json.Marshal(told)
			if err := errors.Join(told.print(&out), jsonErr); err != nil {
				t.Fatal(err)
			}
			isSaid := strings.Contains(string(forPrograms), "isPaused") || strings.Contains(string(forPrograms), "isGated")
			if !strings.HasPrefix(out.String(), row.text) || !strings.Contains(string(forPrograms), row.json) || isSaid != (row.json != "") {
				t.Errorf("it says %s\n%s", out.String(), forPrograms)
			}
			if told.Rings[row.ring]["up to date"] != 1 {
				t.Errorf("the Collector is in %v, want ring %s", told.Rings, row.ring)
			}
		})
	}
}
