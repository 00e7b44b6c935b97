package integration

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/test/simulation"
)

// refusedWords are in the messages of all that refuses writes in a schedule.
var refusedWords = []string{"not in this schedule", "exceeded quota: limit", "delete or rename it", "cannot shrink", "failed calling webhook"}

// isOfOperator is an expression that holds for requests of the operator alone: schedules are never refused anything by it.
const isOfOperator = "request.userInfo.username.startsWith('system:serviceaccount:" + systemNamespace + ":')"

// startRefusing has the API server refuse writes as labels of the namespace say, until the test ends: such as policy-Service. The
// label epoch tells how often they have changed. A ConfigMap is refused with its value, which shows that the API server knows it.
func startRefusing(t *testing.T) {
	t.Helper()
	if err := client.IgnoreAlreadyExists(plane.client.Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "example.com/disk", AllowVolumeExpansion: new(true),
	})); err != nil {
		t.Fatal(err)
	}
	rules := []registrationv1.NamedRuleWithOperations{{RuleWithOperations: writesOf("", "v1", "configmaps")}}
	for kind, resource := range simulatedKinds {
		rules = append(rules, registrationv1.NamedRuleWithOperations{RuleWithOperations: writesOf(kind.Group, kind.Version, resource)})
	}
	name := metav1.ObjectMeta{Name: "simulation"}
	register(t, &registrationv1.ValidatingAdmissionPolicy{ObjectMeta: name, Spec: registrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &registrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"simulation": "true"}}, ResourceRules: rules,
		},
		Validations: []registrationv1.Validation{
			{
				Expression: "!(" + isOfOperator + " && ('policy-' + request.kind.kind) in namespaceObject.metadata.labels)",
				Message:    "not in this schedule",
			},
			{
				Expression:        "request.kind.kind != 'ConfigMap'",
				MessageExpression: "'epoch ' + namespaceObject.metadata.labels['epoch']",
			},
		},
	}})
	register(t, &registrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name, Spec: registrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name.Name, ValidationActions: []registrationv1.ValidationAction{registrationv1.Deny},
	}})
	config := serveReviews(t, review)
	hooks := &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: name}
	add := func(how, resource string, kinds registrationv1.RuleWithOperations, selected metav1.LabelSelector) {
		hooks.Webhooks = append(hooks.Webhooks, registrationv1.ValidatingWebhook{
			Name: how + "." + resource + ".example.com", SideEffects: new(registrationv1.SideEffectClassNone),
			ClientConfig: registrationv1.WebhookClientConfig{URL: new(*config.URL + "/" + how), CABundle: config.CABundle},
			Rules:        []registrationv1.RuleWithOperations{kinds}, NamespaceSelector: &selected, AdmissionReviewVersions: []string{"v1"},
			MatchConditions: []registrationv1.MatchCondition{{Name: "operator", Expression: isOfOperator}},
		})
	}
	for kind, resource := range simulatedKinds {
		for _, how := range append([]string{simulation.Webhook}, simulation.Blind...) {
			how = labelled(how)
			add(how, resource, writesOf(kind.Group, kind.Version, resource), metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: how + "-" + kind.Kind, Operator: metav1.LabelSelectorOpExists}},
			})
		}
	}
	simulated := metav1.LabelSelector{MatchLabels: map[string]string{"simulation": "true"}}
	add("keda", "scaledobjects", writesOf("keda.sh", "v1alpha1", "scaledobjects"), simulated)
	register(t, hooks)
}

// labelled returns a way to refuse as labels have it.
func labelled(how string) string { return strings.ReplaceAll(how, " ", "-") }

func writesOf(group, version, resource string) registrationv1.RuleWithOperations {
	return registrationv1.RuleWithOperations{
		Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
		Rule:       registrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}},
	}
}

// review answers as the webhook of a path. The API server does not take a webhook that says of itself that it does not support dry
// runs, so a blind one says so when it is asked.
func review(r *http.Request, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	answer := &admissionv1.AdmissionResponse{Allowed: true}
	refuse := func(code int32, reason metav1.StatusReason, message string) {
		answer.Allowed, answer.Result = false, &metav1.Status{Code: code, Reason: reason, Message: message}
	}
	key := types.NamespacedName{Namespace: request.Namespace, Name: "c"}
	switch how := strings.TrimPrefix(r.URL.Path, "/"); {
	case how == "keda":
		if plane.client.Get(r.Context(), key, &autoscalingv2.HorizontalPodAutoscaler{}) == nil {
			refuse(http.StatusForbidden, metav1.StatusReasonForbidden,
				"the workload 'c' of type 'apps/v1.Deployment' is already managed by the hpa 'c'")
		}
	case how != "webhook" && *request.DryRun:
		refuse(http.StatusBadRequest, metav1.StatusReasonBadRequest, "it does not support dry runs")
	case how == "broken-webhook":
		panic(http.ErrAbortHandler) // breaks the connection
	case how != "silent-webhook":
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "not in this schedule")
	}
	return answer
}

// isTold tells whether an error says something.
func isTold(err error, what string) bool { return err != nil && strings.Contains(err.Error(), what) }

// calm ends all that disturbs a Collector.
func (s *space) calm(ctx context.Context) error {
	s.mutex.Lock()
	s.countdown = 0
	s.mutex.Unlock()
	err := errors.Join(s.allow(ctx), s.release(ctx, ""))
	for _, object := range s.history.now() {
		isKept := object.GetKind() == "Namespace" || object.GetKind() == "Collector" || object.GetName() == "team-config"
		if !isKept && object.GetLabels()["owner"] != "helm" && metav1.GetControllerOf(object) == nil {
			err = errors.Join(err, s.remove(ctx, object))
		}
	}
	for _, field := range []string{"paused", "rollout"} {
		err = errors.Join(err, s.mark(ctx, simulation.Event{Field: field}))
	}
	return err
}

// losesAnswers is a fault that loses the answer to the request of a space whose turn it is.
func (p *proxy) losesAnswers(spaceOf func(namespace string) *space) fault {
	return func(w http.ResponseWriter, r *http.Request) string {
		_, path, _ := strings.Cut(r.URL.Path, "/namespaces/")
		namespace, _, _ := strings.Cut(path, "/")
		s := spaceOf(namespace)
		if s == nil || r.URL.Query().Has("watch") {
			return ""
		}
		s.mutex.Lock()
		s.countdown--
		isDue, how := s.countdown == 0, s.timeout
		s.mutex.Unlock()
		if !isDue {
			return ""
		}
		if how == "after" {
			p.forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		answerError(w, http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
		return "504 " + how + " the request"
	}
}
