package redact

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestARefusalOfASecretRepeatsNoData(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte("receivers:\n  otlp:\n    password: grün und geheim\n"))
	binary := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\x00\x9c", 70)))
	for said, want := range map[string]string{
		`not by me: {"data":{"config.yaml":"` + data + `"},"kind":"Secret"}`:                              `not by me: {"data":{"config.yaml":"(hidden)"},"kind":"Secret"}`,
		"it has " + data[:41] + "…":                                                                       "it has (hidden)…",
		"it has " + binary:                                                                                "it has (hidden)",
		"ValidatingAdmissionPolicy 'no-secrets' denied request: ask the team":                             "",
		"no kind \"Secret\" in admissionregistration/v1/ValidatingAdmissionHook":                          "",
		"the label averylongnameofonecollectorandmore of Secret \"gateway-config-d3c255b0e2\" is missing": "",
	} {
		if want == "" {
			want = said
		}
		invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "c", nil)
		invalid.ErrStatus.Message = said
		invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: said}}
		told := Refusal(invalid)
		status, is := errors.AsType[*apierrors.StatusError](told)
		if !is || told.Error() != want || status.ErrStatus.Details.Causes[0].Message != want {
			t.Errorf("%v, want %s", told, want)
		}
		if invalid.ErrStatus.Message != said {
			t.Error("the answer itself is changed")
		}
	}
	if other := errors.New("cut off"); !errors.Is(Refusal(other), other) || Refusal(nil) != nil {
		t.Error("another error is changed")
	}
}

func TestARefusalOfACollectorRepeatsNoConfiguration(t *testing.T) {
	spec := `{"kind":"Collector","metadata":{"managedFields":[` + strings.Repeat("{},", 200) + `]},"spec":{"configurationText":"password: hunter2"}}`
	for said, isTold := range map[string]bool{"not by me: " + spec: false, "ask the team first": true} {
		told := RefusalOfCollector(apierrors.NewForbidden(schema.GroupResource{Resource: "collectors"}, "c", errors.New(said)))
		if !apierrors.IsForbidden(told) || strings.Contains(told.Error(), "hunter2") || strings.HasSuffix(told.Error(), said) != isTold {
			t.Errorf("got error %v", told)
		}
	}
}
