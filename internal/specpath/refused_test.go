package specpath_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube8/kube8-operator/internal/specpath"
)

func TestExplain(t *testing.T) {
	const secret = `hunter2: "is", my password`
	container := field.NewPath("spec", "template", "spec", "containers").Index(0)
	tests := map[string]struct {
		refused field.ErrorList
		want    string
	}{
		"a value is not told": {
			refused: field.ErrorList{field.Invalid(container.Child("env").Index(2).Child("name"), secret, "no '=': please")},
			want:    "spec.env[1].name: Invalid value: no '=': please",
		},
		"nor an object": {
			refused: field.ErrorList{field.Invalid(container.Child("resources"), map[string]string{"a": secret}, "wrong: all of it")},
			want:    "spec.resources: Invalid value: wrong: all of it",
		},
		"nor a number, nor a value without a detail": {
			refused: field.ErrorList{
				field.Invalid(field.NewPath("spec", "replicas"), -1, "too few"), field.Invalid(container.Child("args"), secret, ""),
			},
			want: "spec.args: Invalid value; spec.replicas: Invalid value: too few",
		},
		"nor one that cannot be told from the detail": {
			refused: field.ErrorList{field.Invalid(container.Child("args"), func() {}, secret)},
			want:    "spec.args: Invalid value",
		},
		"nor an object that is there twice": {
			refused: field.ErrorList{field.Duplicate(container.Child("args"), map[string]string{"a": secret})},
			want:    "spec.args: Duplicate value",
		},
		"a name is told": {
			refused: field.ErrorList{
				field.NotFound(container.Child("volumeMounts").Index(2).Child("name"), "data"),
				field.NotSupported(container.Child("imagePullPolicy"), "Often", []string{"Always", "Never"}),
			},
			want: `spec.extraVolumeMounts[0].name: Not found: "data"; ` +
				`spec.image.pullPolicy: Unsupported value: "Often": supported values: "Always", "Never"`,
		},
		"the key of a label is told, because the path does not say it": {
			refused: field.ErrorList{field.Invalid(field.NewPath("spec", "template", "labels"), "a b", "no space")},
			want:    `spec.podLabels: Invalid value: "a b": no space`,
		},
		"what has no value is told as it is, once, in an order that does not change": {
			refused: field.ErrorList{
				field.TooLong(field.NewPath("spec", "template", "annotations"), secret, 9), field.Required(container.Child("env"), ""),
				field.Forbidden(container.Child("env"), "not now: or ever"), field.Required(container.Child("env"), ""),
			},
			want: "spec.env: Forbidden: not now: or ever; spec.env: Required value; spec.podAnnotations: Too long: may not be more than 9 bytes",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			refusal := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "gateway", test.refused)
			err := specpath.Explain(fmt.Errorf("create: %w", refusal), parse(t, collector), rendered(t, "Deployment"))
			if err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if !apierrors.IsInvalid(err) {
				t.Error("the API server's refusal is not wrapped")
			}
		})
	}
}

func TestExplainTellsWhatAPolicySays(t *testing.T) {
	const says = "ValidatingAdmissionPolicy 'limits' with binding 'limits' denied request: "
	for name, row := range map[string]struct{ message, want string }{
		"by the object, because it names no field": {"no latest", `Deployment "gateway": ` + says + "no latest"},
		"and no more than 500 characters of it": {
			strings.Repeat("é", 600), `Deployment "gateway": ` + says + strings.Repeat("é", 500-len(says)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			refusal := &apierrors.StatusError{ErrStatus: metav1.Status{
				Reason: metav1.StatusReasonInvalid, Message: `deployments.apps "gateway" is forbidden: ` + says + row.message,
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: says + row.message}}},
			}}
			err := specpath.Explain(fmt.Errorf("create: %w", refusal), parse(t, collector), rendered(t, "Deployment"))
			if err.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

func TestExplainLeavesOtherErrorsAlone(t *testing.T) {
	for _, err := range []error{
		nil,
		errors.New("connection refused"),
		apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "gateway", errors.New("exceeded quota")),
		apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "gateway", nil),
	} {
		if got := specpath.Explain(err, parse(t, collector), rendered(t, "Deployment")); !errors.Is(got, err) || strings.Contains(fmt.Sprintf("%T", got), "Refused") {
			t.Errorf("got %v for %v", got, err)
		}
	}
}
