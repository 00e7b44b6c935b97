package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAWorkloadThatIsScaledTo0GetsItsPodsBackWhileAChangeIsRefused(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t, func(c *v1alpha1.Collector) {
		c.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MinReplicas: new(int32(2)), MaxReplicas: new(int32(9))}
	})
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("- refused") })
	awaitFailed(t, collector, "not a YAML mapping")
	toNone := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": 0}}`))
	g.Expect(plane.client.Patch(t.Context(), get(t, collector, "", &appsv1.Deployment{}), toNone, client.FieldOwner("kubectl"))).To(Succeed())
	g.Eventually(func() int32 { return *get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas }).Should(Equal(int32(2)))
}

func TestARefusalWithALongTextIsInTheStatus(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	refusal := denied
	refusal.Message = "not by me: " + strings.Repeat("because\n", 200_000)
	refuseAs(t, collector.Namespace, "apps", "deployments", refusal, func(*admissionv1.AdmissionRequest) bool { return true })
	awaitDenied(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, "not by me")
	for _, condition := range get(t, collector, "", &v1alpha1.Collector{}).Status.Conditions {
		g.Expect(len(condition.Message)).To(BeNumerically("<", 5000), condition.Type)
	}
}

// A quota that was lowered: no deletion of records makes room for another one.
func TestAQuotaThatRefusesAChangeKeepsTheHistory(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	for _, version := range []string{"0.151.0", "0.152.0", "0.153.0"} {
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = version })
	}
	before := statusesOfRevisions(t, collector)
	limit := quota(t, collector.Namespace, "count/secrets")
	limit.Spec.Hard = corev1.ResourceList{"count/secrets": resource.MustParse("3")}
	g.Expect(plane.client.Update(t.Context(), limit)).To(Succeed())
	limit.Status = corev1.ResourceQuotaStatus{Hard: limit.Spec.Hard, Used: corev1.ResourceList{"count/secrets": resource.MustParse("7")}}
	g.Expect(plane.client.Status().Update(t.Context(), limit)).To(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.170.0" })
	awaitFailed(t, collector, "exceeded quota")
	g.Expect(statusesOfRevisions(t, collector)).To(Equal(before))
}

// The record of the change takes the last place, and its configuration has none.
func TestAQuotaWithRoomForTheRecordOnlyTakesAnOldRevision(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	configured := func(number int) func(*v1alpha1.Collector) {
		return func(c *v1alpha1.Collector) {
			c.Spec.Collector.Configuration = fmt.Appendf(nil, "%s\n# %d", otherConfig, number)
		}
	}
	for number := range 3 {
		upgrade(t, collector, configured(number))
	}
	limit, secrets := quota(t, collector.Namespace, "count/secrets"), &corev1.SecretList{}
	count := func() resource.Quantity {
		g.Expect(plane.client.List(t.Context(), secrets, client.InNamespace(collector.Namespace))).To(Succeed())
		return *resource.NewQuantity(int64(len(secrets.Items)), resource.DecimalSI)
	}
	hard := count()
	hard.Add(resource.MustParse("1"))
	limit.Spec.Hard = corev1.ResourceList{"count/secrets": hard}
	g.Expect(plane.client.Update(t.Context(), limit)).To(Succeed())
	limit.Status = corev1.ResourceQuotaStatus{Hard: limit.Spec.Hard, Used: corev1.ResourceList{"count/secrets": count()}}
	g.Expect(plane.client.Status().Update(t.Context(), limit)).To(Succeed())
	change(t, collector, configured(9))
	awaitFailed(t, collector, "exceeded quota")
	g.Eventually(func() (int, error) { // the controller of quotas counts what is there
		if err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(limit), limit); err != nil {
			return 0, err
		}
		limit.Status.Used = corev1.ResourceList{"count/secrets": count()}
		err := plane.client.Status().Update(t.Context(), limit)
		return deployedRevision(t, collector), err
	}).Should(Equal(5))
	g.Expect(statusesOfRevisions(t, collector)).To(HaveLen(4), "as many as before, with the new one")
}

// A webhook may take 30 seconds. The operator waits longer, or it would not know which webhook hung, and whether to mend what serves.
func TestAWebhookThatHangsIsNamedAndLeavesNothingHalfApplied(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	becomeReady(t, collector)
	ports := get(t, collector, "", &corev1.Service{}).Spec.Ports
	var asked atomic.Bool
	validateBy(t, collector.Namespace, serveReviews(t, func(r *http.Request, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		asked.Store(true)
		if !*request.DryRun && strings.HasPrefix(request.UserInfo.Username, "system:serviceaccount:"+systemNamespace) {
			<-r.Context().Done()
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	}))
	g.Eventually(func() bool {
		_ = plane.client.Create(t.Context(), deploymentIn(collector.Namespace), client.DryRunAll)
		return asked.Load()
	}).Should(BeTrue())
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Version, c.Spec.Ports = "0.151.0", map[string]v1alpha1.Port{"syslog": {Port: 5514}}
	})
	g.Eventually(func() []corev1.ServicePort { return get(t, collector, "", &corev1.Service{}).Spec.Ports }).
		ShouldNot(Equal(ports), "the change is on its way")
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).WithTimeout(time.Minute).
		Should(ContainSubstring(`failed calling webhook "validate.example.com"`))
	g.Expect(get(t, collector, "", &corev1.Service{}).Spec.Ports).To(Equal(ports))
}

// An apply removes fields that the operator owned, and a merge in its place keeps them. With these, the API server accepts what it refuses.
func TestWhatTheAPIServerRefusesForAFieldThatGoesIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		object  client.Object
		before  func(*v1alpha1.CollectorSpec)
		after   func(*v1alpha1.CollectorSpec)
		refused string
	}{
		"the time to end of a pod with a hook that takes longer than the default": {
			&appsv1.Deployment{},
			func(spec *v1alpha1.CollectorSpec) {
				spec.TerminationGracePeriodSeconds = new(int64(120))
				spec.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 60}}}
			},
			func(spec *v1alpha1.CollectorSpec) {
				spec.Collector.Version, spec.TerminationGracePeriodSeconds = "0.151.0", nil
			},
			"terminationGracePeriodSeconds",
		},
		"the class of a load balancer": {
			&corev1.Service{},
			func(spec *v1alpha1.CollectorSpec) {
				spec.Service = &v1alpha1.Service{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: "example.com/a"}
			},
			func(spec *v1alpha1.CollectorSpec) {
				spec.Service.LoadBalancerClass, spec.Ports = "", map[string]v1alpha1.Port{"syslog": {Port: 5514}}
			},
			"loadBalancerClass",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), install(t, func(c *v1alpha1.Collector) { row.before(&c.Spec) })
			becomeReady(t, collector)
			before, since := get(t, collector, "", row.object).GetResourceVersion(), shared.log.mark()
			change(t, collector, func(c *v1alpha1.Collector) { row.after(&c.Spec) })
			awaitFailed(t, collector, row.refused)
			awaitFailures(t, since, collector, 2)
			g.Expect(get(t, collector, "", row.object).GetResourceVersion()).To(Equal(before))
		})
	}
}
