package integration

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
	"github.com/kube8/kube8-operator/test/kustomize"
)

// Not parallel: it takes away what the API server gives to all ServiceAccounts, and with it to the operator.
func TestAFloodOfOthersDoesNotStopTheOperator(t *testing.T) {
	g := NewWithT(t)
	install(t) // so the operator leads
	restrict(t, "workload-low")
	flood(t)
	const others = `flow_schema="service-accounts",priority_level="workload-low"`
	queued := func() float64 {
		return ofAPIServer(t, plane.env.Config, "apiserver_flowcontrol_current_inqueue_requests{"+others+"}")
	}
	g.Eventually(queued).Should(BeNumerically(">", 5))

	collector := newCollector(newNamespace(t), "gateway")
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	deployed := func() *v1alpha1.DeployedRelease {
		return get(t, collector, "", &v1alpha1.Collector{}).Status.DeployedRelease
	}
	g.Consistently(deployed).WithTimeout(3*time.Second).Should(BeNil(), "the operator is in one queue with the flood")

	t.Cleanup(func() { withdraw(t, "config/flow-control") })
	script, err := docs.Script("docs/how-to/install.md", "The operator's own traffic")
	runScript(t, "", script, err)
	g.Eventually(func() *v1alpha1.DeployedRelease {
		revive(t) // because it ends when it cannot renew its Lease
		return deployed()
	}).ShouldNot(BeNil())
	g.Eventually(queued).Should(BeNumerically(">", 5), "the flood must still be there")
	for schema, level := range map[string]string{"kube8-operator": "kube8-operator", "kube8-operator-leader-election": "leader-election"} {
		g.Eventually(func() float64 {
			return ofAPIServer(t, plane.env.Config, fmt.Sprintf("apiserver_flowcontrol_dispatched_requests_total{flow_schema=%q,priority_level=%q}", schema, level))
		}).Should(BeNumerically(">", 0), schema)
	}
	// The other way round: the operator cannot take what others need.
	seats := func(which string) float64 {
		return ofAPIServer(t, plane.env.Config, "apiserver_flowcontrol_"+which+`_limit_seats{priority_level="kube8-operator"}`)
	}
	g.Expect(seats("upper")).To(And(BeNumerically(">", 0), BeNumerically("<=", 2*seats("nominal"))))
}

// ofAPIServer reads a metric of an API server. One that it does not have is 0.
func ofAPIServer(t *testing.T, server *rest.Config, series string) float64 {
	t.Helper()
	text, err := kubernetes.NewForConfigOrDie(server).RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, found, _ := strings.Cut(string(text), "\n"+series+" ")
	number, _, _ := strings.Cut(found, "\n")
	value, _ := strconv.ParseFloat(number, 64)
	return value
}

// withdraw deletes the objects of a folder of config/.
func withdraw(t *testing.T, folder string) {
	t.Helper()
	objects, err := kustomize.Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if err := plane.client.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

// restrict leaves one of Kubernetes' priority levels a few requests at a time, until the test ends.
func restrict(t *testing.T, name string) {
	t.Helper()
	set := func(automatic string, spec func(*flowcontrolv1.LimitedPriorityLevelConfiguration)) {
		level := &flowcontrolv1.PriorityLevelConfiguration{}
		if err := plane.client.Get(context.Background(), client.ObjectKey{Name: name}, level); err != nil {
			t.Fatal(err)
		}
		metav1.SetMetaDataAnnotation(&level.ObjectMeta, flowcontrolv1.AutoUpdateAnnotationKey, automatic) // or it is set back
		spec(level.Spec.Limited)
		if err := plane.client.Update(context.Background(), level); err != nil {
			t.Fatal(err)
		}
	}
	var before flowcontrolv1.LimitedPriorityLevelConfiguration
	set("false", func(now *flowcontrolv1.LimitedPriorityLevelConfiguration) {
		before = *now.DeepCopy()
		now.NominalConcurrencyShares, now.BorrowingLimitPercent = new(int32(1)), new(int32(0))
	})
	t.Cleanup(func() {
		set("true", func(now *flowcontrolv1.LimitedPriorityLevelConfiguration) { *now = before })
	})
}

// flood has another ServiceAccount make requests, until the test ends, that a webhook never answers.
func flood(t *testing.T) {
	t.Helper()
	namespace, released := newNamespace(t), make(chan struct{})
	validate(t, namespace, func() bool { <-released; return false })
	config := rest.AnonymousClientConfig(plane.env.Config)
	config.BearerToken, config.QPS = token(t, namespace, "flood"), -1
	for _, object := range []client.Object{
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "flood"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create"}}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "flood"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "flood"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "flood"}},
		},
	} {
		if err := plane.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{"app": "flood"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "flood"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1"}},
		}},
	}}
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace)
	ctx, cancel := context.WithCancel(context.Background())
	var flooding sync.WaitGroup
	for range 40 {
		flooding.Go(func() {
			wait.UntilWithContext(ctx, func(ctx context.Context) {
				_, _ = deployments.Create(ctx, deployment, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}) // it never succeeds
			}, time.Millisecond)
		})
	}
	t.Cleanup(func() { close(released); cancel(); flooding.Wait() })
}
