package kubectl

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/specpath"
)

func TestOnlyADecisionIsARefusal(t *testing.T) {
	conflict := &live.ConflictError{Message: "Service exists"}
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusTeapot, Message: `admission webhook "policy.example.com" denied the request: no`,
	}}
	for name, row := range map[string]struct {
		err  error
		want int
	}{
		"the API server is not there":          {apierrors.NewServiceUnavailable("no"), exitError},
		"a login has ended":                    {apierrors.NewUnauthorized("no"), exitError},
		"the API server has not answered":      {apierrors.NewTimeoutError("no", 1), exitError},
		"a webhook has not answered":           {apierrors.NewInternalError(errors.New(`failed calling webhook "policy"`)), exitError},
		"the user has ended it":                {context.Canceled, exitError},
		"an object has another owner":          {conflict, exitRefused},
		"one of several has another owner":     {errors.Join(apierrors.NewServiceUnavailable("no"), conflict), exitRefused},
		"the operator refuses a field":         {specpath.Refuse("mode", "no"), exitRefused},
		"the API server refuses a field":       {apierrors.NewInvalid(schema.GroupKind{}, "a", field.ErrorList{}), exitRefused},
		"a quota refuses it":                   {apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("exceeded quota")), exitRefused},
		"a webhook refuses it with any number": {webhook, exitRefused},
	} {
		fails := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return row.err
		}}
		if apierrors.IsForbidden(row.err) { // of an object, this only means that its owner is not known
			fails.Get = func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
				if _, isClaim := object.(*corev1.PersistentVolumeClaim); isClaim {
					return row.err
				}
				return apierrors.NewNotFound(schema.GroupResource{}, "gateway")
			}
		}
		collector := func(size string) *unstructured.Unstructured {
			claim := map[string]any{
				"metadata": map[string]any{"name": "queue"}, "spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size}}},
			}
			return &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"namespace": "acme", "name": "gateway"}, "spec": map[string]any{"volumeClaims": []any{claim}},
			}}
		}
		service := &unstructured.Unstructured{}
		service.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		service.SetName("gateway")
		s := &session{client: interceptor.NewClient(nil, fails), namespace: "acme"}
		err := foresee(t.Context(), s, io.Discard, collector("1Gi"), collector("2Gi"), []*unstructured.Unstructured{service})
		if err == nil || ExitCode(err) != row.want {
			t.Errorf("%s: exit code %d, want %d: %v", name, ExitCode(err), row.want, err)
		}
	}
}
