package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A webhook chooses the code of its refusal. So a code that means something when the API server answers with it means nothing here.
var (
	conflict = metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "not by me"}
	tooMany  = metav1.Status{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "not by me"}
	timeout  = metav1.Status{Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout, Message: "not by me"}
	notFound = metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "not by me"}
	denied   = metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "not by me"}
)

// refuseAs has a webhook refuse some of the writes of some resources in a namespace, with a status.
func refuseAs(
	t *testing.T, namespace, group, resources string, status metav1.Status, refuses func(*admissionv1.AdmissionRequest) bool,
) {
	t.Helper()
	refuseWith(t, namespace, group, resources, func(r *admissionv1.AdmissionRequest) *metav1.Status {
		if refuses(r) {
			return &status
		}
		return nil
	})
}

// awaitDenied waits until the API server knows a webhook that denies writes of a Collector's Deployment.
func awaitDenied(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		deployment := get(t, collector, "", &appsv1.Deployment{})
		metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, "example.com/probe", "any")
		return plane.client.Update(t.Context(), deployment)
	}).Should(MatchError(ContainSubstring("not by me")))
}

// refuseWith has a webhook answer with a status, or allow what has none.
func refuseWith(t *testing.T, namespace, group, resources string, answer func(*admissionv1.AdmissionRequest) *metav1.Status) {
	t.Helper()
	config := answerReviews(t, func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		status := answer(r)
		return &admissionv1.AdmissionResponse{Allowed: status == nil, Result: status}
	})
	register(t, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "refuse-" + namespace},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "refuse.example.com", ClientConfig: config,
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update, registrationv1.Delete},
				Rule:       registrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resources}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:       new(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
}

func TestAWebhookThatRefusesWithACodeOfItsOwnHarmsNothing(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]metav1.Status{"409": conflict, "429": tooMany, "504": timeout, "404": notFound} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			serve(t, collector, 1)
			before := identities(t, collector)
			refuseAs(t, collector.Namespace, "apps", "deployments", status, func(*admissionv1.AdmissionRequest) bool { return true })
			NewWithT(t).Eventually(func() error {
				return plane.client.Update(t.Context(), get(t, collector, "", &appsv1.Deployment{}), client.DryRunAll)
			}).Should(MatchError(ContainSubstring("not by me")))
			since := shared.log.mark()
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Cluster = "prod-eu-2"
				c.Spec.Ports = map[string]v1alpha1.Port{"syslog": {Port: 5514}}
				c.Spec.Collector.Version = "0.151.0"
			})
			awaitFailed(t, collector, "not by me")
			awaitFailures(t, since, collector, 3)
			expectUnharmed(t, collector, before)
			NewWithT(t).Expect(condition(t, collector, "Ready").Message).To(ContainSubstring("not by me"))
		})
	}
}

func TestAWebhookThatRefusesOnlyAfterTheDryRunLeavesTheService(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]metav1.Status{"429": tooMany, "504": timeout, "403": denied} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			before := get(t, collector, "", &corev1.Service{}).Spec.Ports
			refuseAs(t, collector.Namespace, "apps", "deployments", status, func(r *admissionv1.AdmissionRequest) bool { return !*r.DryRun })
			g := NewWithT(t)
			g.Eventually(func() error {
				deployment := get(t, collector, "", &appsv1.Deployment{})
				deployment.Annotations["example.com/probe"] = "any"
				return plane.client.Update(t.Context(), deployment)
			}).Should(MatchError(ContainSubstring("not by me")))
			since := shared.log.mark()
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Ports = map[string]v1alpha1.Port{"syslog": {Port: 5514}} })
			awaitFailed(t, collector, "not by me")
			awaitFailures(t, since, collector, 3)
			// Another try changes the Service for as long as it takes to take that back.
			g.Eventually(func() []corev1.ServicePort { return get(t, collector, "", &corev1.Service{}).Spec.Ports }).
				Should(Equal(before))
		})
	}
}

// Each write of the pod template would begin to replace pods.
func TestAnOperatorThatStartsTriesFirstWhatWasRefusedLate(t *testing.T) {
	collector := newQueued(t, "late", true)
	refuseIngresses(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Version = "0.151.0"
		c.Spec.Ingress = &v1alpha1.Ingress{Enabled: true, Hosts: []v1alpha1.IngressHost{{Host: "otlp.example.com"}}}
	})
	awaitFailed(t, collector, "not by me")
	g := NewWithT(t)
	generation := func() int64 { return get(t, collector, "", &appsv1.StatefulSet{}).Generation }
	g.Eventually(func() string {
		return get(t, collector, "", &appsv1.StatefulSet{}).Spec.Template.Spec.Containers[0].Image
	}).Should(HaveSuffix(":0.150.0"))
	before := generation()
	nextOperator(t, collector, func() {})
	awaitFailed(t, collector, "not by me")
	g.Consistently(generation).WithTimeout(3 * time.Second).Should(Equal(before))
}

func TestAConflictOfItsSuccessorLeavesAStatefulSetWhoseClaimsGrow(t *testing.T) {
	t.Parallel()
	collector := newQueued(t, "grows", true, "queue-gateway-0")
	before := identities(t, collector)
	orphanPods(t.Context(), t, collector)
	refuseAs(t, collector.Namespace, "apps", "statefulsets", conflict, func(r *admissionv1.AdmissionRequest) bool {
		return r.Operation == admissionv1.Create
	})
	NewWithT(t).Eventually(func() error {
		probe := get(t, collector, "", &appsv1.StatefulSet{}).DeepCopy()
		probe.ObjectMeta = metav1.ObjectMeta{Namespace: collector.Namespace, Name: "probe"}
		return plane.client.Create(t.Context(), probe, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not by me")))
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = queueOf("grows", "2Gi") })
	awaitFailed(t, collector, "not by me")
	awaitFailures(t, since, collector, 3)
	expectUnharmed(t, collector, before)
}

func TestAWebhookThatTakesAwayWhatTheOperatorWritesMakesNoLoop(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		patch   string
		isTaken func(*appsv1.Deployment) bool
		writes  int // in 6 s, at most
	}{
		// The operator does not see an object without its label, so it writes the object again, but later each time.
		"its label": {
			`[{"op": "add", "path": "/metadata/labels", "value": {}}]`,
			func(d *appsv1.Deployment) bool { return d.Labels[collectorLabel] == "" }, 20,
		},
		"its annotations": {
			`[{"op": "add", "path": "/metadata/annotations", "value": {}}]`,
			func(d *appsv1.Deployment) bool { return d.Annotations["kube8.dev/applied"] == "" }, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			mutate(t, collector.Namespace, func() []byte { return []byte(row.patch) })
			g := NewWithT(t)
			g.Eventually(func() bool { // once the API server asks the webhook
				deployment := get(t, collector, "", &appsv1.Deployment{})
				deployment.Spec.Paused = !deployment.Spec.Paused
				_ = plane.client.Update(t.Context(), deployment) // again, if somebody was faster
				return row.isTaken(deployment)
			}).Should(BeTrue())
			if row.writes > 0 {
				g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring("again and again"))
			} else {
				touch(t, collector)
			}
			since := plane.audit.mark(t)
			g.Consistently(func() int { return len(plane.audit.writes(t, since, collector.Namespace)) }, 6*time.Second).
				Should(BeNumerically("<=", row.writes), "writes")
		})
	}
}

// A text that is new each time is written into the status each time, and that starts no reconcile.
func TestARefusalInOtherWordsEachTimeIsTriedAgainAsSeldom(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		group, resource string
		refuses         admissionv1.Operation
		probe           func(t *testing.T, collector *v1alpha1.Collector) error
		do              func(t *testing.T, collector *v1alpha1.Collector)
	}{
		"a repair": {
			"", "services", admissionv1.Create,
			func(t *testing.T, collector *v1alpha1.Collector) error {
				t.Helper()
				probe := get(t, collector, "", &corev1.Service{})
				probe.ObjectMeta, probe.Spec.ClusterIP, probe.Spec.ClusterIPs = metav1.ObjectMeta{Namespace: collector.Namespace, Name: "probe"}, "", nil
				return plane.client.Create(t.Context(), probe, client.DryRunAll)
			},
			func(t *testing.T, collector *v1alpha1.Collector) { t.Helper(); deleteService(t, collector) },
		},
		"a deletion": {
			"apps", "deployments", admissionv1.Delete,
			func(t *testing.T, collector *v1alpha1.Collector) error {
				t.Helper()
				return plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.Deployment{}), client.DryRunAll)
			},
			func(t *testing.T, collector *v1alpha1.Collector) {
				t.Helper()
				NewWithT(t).Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			serve(t, collector, 1)
			var answers, isOver atomic.Int64
			refuseWith(t, collector.Namespace, row.group, row.resource, func(r *admissionv1.AdmissionRequest) *metav1.Status {
				if r.Operation != row.refuses || isOver.Load() > 0 {
					return nil
				}
				policies := []string{"keep", "protect"}
				if answers.Add(1)%2 == 0 {
					slices.Reverse(policies)
				}
				status := denied.DeepCopy()
				status.Message = fmt.Sprintf("not by me: %s, trace %s", strings.Join(policies, ", "), uuid.NewUUID())
				return status
			})
			g := NewWithT(t)
			g.Eventually(func() error { return row.probe(t, collector) }).Should(MatchError(ContainSubstring("not by me")))
			row.do(t, collector)
			awaitFailed(t, collector, "not by me")
			before := answers.Load()
			// After 2 s, 4 s and so on.
			g.Consistently(func() int64 { return answers.Load() - before }, 7*time.Second).Should(BeNumerically("<", 12))
			isOver.Store(1)
		})
	}
}
