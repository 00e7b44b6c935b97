package integration

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// versionsOf watches a Collector's Deployment until the test ends. It returns the versions of the image that the Deployment has had
// since then, in order.
func versionsOf(t *testing.T, collector *v1alpha1.Collector) func() []string {
	t.Helper()
	watching, err := client.NewWithWatch(plane.env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	deployments, err := watching.Watch(t.Context(), &appsv1.DeploymentList{}, client.InNamespace(collector.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(deployments.Stop)
	var mutex sync.Mutex
	var seen []string
	go func() {
		for event := range deployments.ResultChan() {
			deployment, isDeployment := event.Object.(*appsv1.Deployment)
			if !isDeployment {
				continue
			}
			image := deployment.Spec.Template.Spec.Containers[0].Image
			version := image[strings.LastIndex(image, ":")+1:]
			mutex.Lock()
			if len(seen) == 0 || seen[len(seen)-1] != version {
				seen = append(seen, version)
			}
			mutex.Unlock()
		}
	}()
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		return append([]string{}, seen...)
	}
}

// forbidDeletion has a policy refuse that objects are deleted for which an expression is false. It waits until the policy refuses that for
// one of them.
func forbidDeletion(t *testing.T, object client.Object, group, resources, expression string) (allow func()) {
	t.Helper()
	withdraw := forbid(t, object.GetNamespace(), group, resources, expression, registrationv1.Delete)
	try := func() error { return plane.client.Delete(t.Context(), object, client.DryRunAll) }
	g := NewWithT(t)
	g.Eventually(try).Should(MatchError(ContainSubstring("not in this test")))
	return func() {
		withdraw()
		g.Eventually(try).Should(Succeed())
	}
}

func TestARefusedDeletionDoesNotRollThePodsBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		// forbids keeps an object from being deleted that the change does not need.
		forbids func(*testing.T, *v1alpha1.Collector) (unneeded client.Object, allow func())
		change  func(*v1alpha1.Collector)
		message string
	}{
		"of a NetworkPolicy": {
			func(t *testing.T, collector *v1alpha1.Collector) (client.Object, func()) {
				t.Helper()
				upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true} })
				policy := get(t, collector, "", &networkingv1.NetworkPolicy{})
				return policy, forbidDeletion(t, policy, "networking.k8s.io", "networkpolicies", "false")
			},
			func(c *v1alpha1.Collector) { c.Spec.NetworkPolicy = nil },
			`delete NetworkPolicy "gateway"`,
		},
		"of the Secret of an old configuration": {
			func(t *testing.T, collector *v1alpha1.Collector) (client.Object, func()) {
				t.Helper()
				for _, text := range []string{"second: {}", "third: {}"} {
					configure(t, collector, text)
					becomeReady(t, collector)
				}
				first := get(t, collector, filesOf(config), &corev1.Secret{})
				return first, forbidDeletion(t, first, "", "secrets", "!oldObject.metadata.name.startsWith('gateway-config')")
			},
			func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("fourth: {}") },
			`delete Secret "gateway` + filesOf(config) + `"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t, keepsThree)
			serve(t, collector, 1)
			unneeded, allow := row.forbids(t, collector)
			versions := versionsOf(t, collector)
			NewWithT(t).Eventually(versions).ShouldNot(BeEmpty())
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Collector.Version = "0.151.0"
				row.change(c)
			})
			g := NewWithT(t)
			g.Eventually(versions).Should(HaveLen(2))
			serve(t, collector, 1) // or earlier pods may come back, and need what they mount
			awaitFailed(t, collector, row.message)
			g.Consistently(versions, 5*time.Second).Should(Equal([]string{"0.150.0", "0.151.0"}))
			g.Expect(condition(t, collector, "Ready").Message).To(ContainSubstring(row.message))

			allow()
			serve(t, collector, 1)
			touch(t, collector)
			g.Eventually(func() error {
				return plane.client.Get(t.Context(), client.ObjectKeyFromObject(unneeded), unneeded)
			}).Should(MatchError(apierrors.IsNotFound, "not found"))
			awaitReady(t, collector, "True", "Available", "")
			g.Expect(versions()).To(Equal([]string{"0.150.0", "0.151.0"}))
		})
	}
}

func TestADeletionThatIsRefusedAsAConflictIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	create(t, collector)
	var allowed atomic.Bool
	refuseAs(t, collector.Namespace, "networking.k8s.io", "networkpolicies", conflict, func(r *admissionv1.AdmissionRequest) bool {
		return r.Operation == admissionv1.Delete && !allowed.Load()
	})
	policy := get(t, collector, "", &networkingv1.NetworkPolicy{})
	g := NewWithT(t)
	g.Eventually(func() error { return plane.client.Delete(t.Context(), policy, client.DryRunAll) }).
		Should(MatchError(ContainSubstring("not by me")))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.NetworkPolicy = nil })
	awaitRevision(t, collector, 2)
	serve(t, collector, 1)
	awaitFailed(t, collector, "not by me")
	g.Consistently(func() corev1.ConditionStatus { return condition(t, collector, "Ready").Status }, 5*time.Second).
		ShouldNot(Equal(corev1.ConditionTrue), "while the NetworkPolicy is there")
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Succeed())

	allowed.Store(true)
	touch(t, collector)
	awaitReady(t, collector, "True", "Available", "")
	g.Expect(names(contents(t, collector.Namespace))).NotTo(ContainElement("NetworkPolicy/gateway"))
}

func TestADeletionThatIsRefusedAsNotFoundIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	create(t, collector)
	var allowed atomic.Bool
	refuseAs(t, collector.Namespace, "networking.k8s.io", "networkpolicies", notFound, func(r *admissionv1.AdmissionRequest) bool {
		return r.Operation == admissionv1.Delete && !allowed.Load()
	})
	policy := get(t, collector, "", &networkingv1.NetworkPolicy{})
	g := NewWithT(t)
	g.Eventually(func() error { return plane.client.Delete(t.Context(), policy, client.DryRunAll) }).
		Should(MatchError(ContainSubstring("not by me")))
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.NetworkPolicy = nil })
	awaitRevision(t, collector, 2)
	serve(t, collector, 1)
	awaitFailed(t, collector, "not by me")
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Succeed())

	allowed.Store(true)
	touch(t, collector)
	awaitReady(t, collector, "True", "Available", "")
	g.Expect(names(contents(t, collector.Namespace))).NotTo(ContainElement("NetworkPolicy/gateway"))
}

func TestALeftoverThatNobodyMayDeleteDoesNotKeepAValidChangeAway(t *testing.T) {
	t.Parallel()
	collector := install(t)
	allow := refuse(t, collector, registrationv1.Update)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("refused: {}") })
	awaitFailed(t, collector, "not in this test")
	withdraw := forbidDeletion(t, get(t, collector, filesOf(config), &corev1.Secret{}), "", "secrets", "false")
	allow()
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("valid: {}") })
	NewWithT(t).Expect(mounts(t, collector)).To(HaveSuffix(filesOf("valid: {}")))
	withdraw()
}

func TestARecordThatNobodyMayDeleteDoesNotKeepAValidChangeAway(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), install(t)
	becomeReady(t, collector)
	allow := forbidDeletion(t, record(t, collector), "", "secrets", "!oldObject.metadata.name.startsWith('sh.helm')")
	var isOver atomic.Bool
	refuseAs(t, collector.Namespace, "apps", "deployments", denied, func(r *admissionv1.AdmissionRequest) bool { return !*r.DryRun && !isOver.Load() })
	awaitDenied(t, collector)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitFailed(t, collector, "not by me")
	isOver.Store(true)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.152.0" })
	g.Expect(deployedRevision(t, collector)).To(Equal(3))
	g.Eventually(func() []string { return statusesOfRevisions(t, collector) }).Should(Equal([]string{"1 superseded", "2 deployed", "3 deployed"}))
	allow()
}

func TestRecordsThatNobodyMayDeleteDoNotPileUp(t *testing.T) {
	t.Parallel()
	collector := install(t, keepsThree)
	allow := forbidDeletion(t, record(t, collector), "", "secrets", "!oldObject.metadata.name.startsWith('sh.helm')")
	for i := range 3 { // the operator keeps three records, so the first one is the oldest of four
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = fmt.Sprintf("0.151.%d", i) })
	}
	serve(t, collector, 1)
	g := NewWithT(t)
	g.Eventually(func() v1alpha1.Condition { return condition(t, collector, "Ready") }).Should(
		Or(HaveField("Status", corev1.ConditionTrue), HaveField("Message", ContainSubstring("delete the record of revision 1"))))
	g.Consistently(func() []string { return statusesOfRevisions(t, collector) }, 5*time.Second).Should(
		Equal([]string{"1 superseded", "2 superseded", "3 superseded", "4 deployed"}))

	allow()
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.152.0" })
	g.Eventually(func() []string { return statusesOfRevisions(t, collector) }).Should(
		Equal([]string{"3 superseded", "4 superseded", "5 deployed"}))
}
