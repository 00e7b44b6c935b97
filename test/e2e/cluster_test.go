//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	systemNamespace = "kube8-operator-system"
	operatorName    = "kube8-operator-controller-manager"

	// suiteLabel is on every namespace that the tests create.
	suiteLabel = "e2e.kube8.dev/suite"

	enforceLabel = "pod-security.kubernetes.io/enforce"
)

// cluster is the cluster of $KUBECONFIG.
var cluster *access

type access struct {
	client.WithWatch
	kubernetes.Interface // for what is not an object: logs and proxies
}

func connect() (*access, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	objects, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	paths, err := kubernetes.NewForConfig(config)
	return &access{WithWatch: objects, Interface: paths}, err
}

// kubectl runs kubectl and returns what it printed.
func kubectl(ctx context.Context, args ...string) (string, error) {
	out, err := kubectlCommand(ctx, args...).CombinedOutput()
	return string(out), err
}

func kubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, cmp.Or(os.Getenv("KUBECTL"), "kubectl"), args...)
}

// makeTarget makes a target of the Makefile and returns what it printed.
func makeTarget(ctx context.Context, target string) (string, error) {
	out, err := exec.CommandContext(ctx, "make", "--no-print-directory", target).CombinedOutput()
	return string(out), err
}

// newNamespace creates a namespace with a Pod Security level for one test. When the test ends it says what went wrong in
// there and removes it.
func newNamespace(t *testing.T, level string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-", Labels: map[string]string{suiteLabel: "", enforceLabel: level},
	}}
	create(t, namespace)
	// Kubernetes puts them there, and pods need them.
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "kube-root-ca.crt"}},
	} {
		NewWithT(t).Eventually(func() error {
			return cluster.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		}).Should(Succeed())
	}
	endsWithTest(t, namespace)
	return namespace.Name
}

// endsWithTest removes a namespace when the test ends. If the test has failed, it says what went wrong in there before.
func endsWithTest(t *testing.T, namespace *corev1.Namespace) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			dump(t, namespace.Name)
		}
		removeCollectors(t, namespace.Name)
		if err := cluster.Delete(context.Background(), namespace); err != nil {
			t.Error(err)
		}
	})
}

// removeCollectors deletes the Collectors in a namespace and waits until they are gone: in a namespace that is being
// deleted, the operator could not say what keeps it.
func removeCollectors(t *testing.T, namespace string) {
	t.Helper()
	ctx := context.Background()
	if err := cluster.DeleteAllOf(ctx, &v1alpha1.Collector{}, client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
	left := func() ([]v1alpha1.Collector, error) {
		var list v1alpha1.CollectorList
		err := cluster.List(ctx, &list, client.InNamespace(namespace))
		return list.Items, err
	}
	if !NewGomega(func(message string, _ ...int) { t.Error(message) }).Eventually(left).Should(BeEmpty(), "deleted Collectors") {
		t.Log(operatorState(ctx))
	}
}

// create creates an object.
func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := cluster.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// get reads an object with the namespace and name of another.
func get[T client.Object](t *testing.T, of client.Object, object T) T {
	t.Helper()
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(of), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// awaitGone waits until an object is gone.
func awaitGone(t *testing.T, object client.Object) {
	t.Helper()
	key := client.ObjectKeyFromObject(object)
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(cluster.Get(t.Context(), key, object))
	}).Should(BeTrue(), "%T %s is gone", object, key)
}

// podsWith returns the pods in a namespace that have a label, those that end included.
func podsWith(t *testing.T, namespace, key, value string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := cluster.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{key: value}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func isReady(pod corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// logs returns what a pod has printed.
func logs(ctx context.Context, pod corev1.Pod) (string, error) {
	text, err := cluster.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	return string(text), err
}

// dump logs what there is to know about a namespace and about the operator.
func dump(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	t.Log(show(ctx, "get", "events", "-n", namespace, "--sort-by=.metadata.creationTimestamp"),
		show(ctx, "describe", "-n", namespace, "collectors,deployments,daemonsets,statefulsets,pods,persistentvolumeclaims"),
		show(ctx, "logs", "-n", namespace, "-l", collectorLabel, "--prefix", "--tail=40", "--max-log-requests=50"),
		show(ctx, "logs", "-n", namespace, "-l", collectorLabel, "--prefix", "--tail=40", "--max-log-requests=50", "--previous"),
		operatorState(ctx))
}

// operatorState is what there is to know about the operator.
func operatorState(ctx context.Context) string {
	return show(ctx, "get", "events", "-n", systemNamespace, "--sort-by=.metadata.creationTimestamp") +
		show(ctx, "describe", "-n", systemNamespace, "deployments,pods,leases") +
		show(ctx, "logs", "-n", systemNamespace, "deployment/"+operatorName, "--tail=100")
}

func show(ctx context.Context, args ...string) string {
	out, err := kubectl(ctx, args...)
	if err != nil {
		out += err.Error()
	}
	return fmt.Sprintf("\n--- kubectl %s\n%s", strings.Join(args, " "), out)
}
