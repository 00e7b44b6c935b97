//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"regexp"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scenario 1: what `make deploy` installs.

func TestTheOperatorRunsUnderPodSecurityRestricted(t *testing.T) {
	namespace := &corev1.Namespace{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Name: systemNamespace}, namespace); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Expect(namespace.Labels).To(HaveKeyWithValue(enforceLabel, "restricted"))
	g.Expect(isReady(operatorPod(t))).To(BeTrue())

	// Or the label would mean nothing on this cluster.
	err := cluster.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, GenerateName: "unrestricted-"},
		Spec:       corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "any", Image: "any"}}},
	}, client.DryRunAll)
	g.Expect(err).To(Satisfy(apierrors.IsForbidden), "an unrestricted pod beside the operator")
}

func TestTheOperatorServesProbes(t *testing.T) {
	pod := operatorPod(t)
	for _, path := range []string{"healthz", "readyz"} {
		answer, err := cluster.CoreV1().Pods(pod.Namespace).ProxyGet("http", pod.Name, "8081", path, nil).DoRaw(t.Context())
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), path)
		g.Expect(string(answer)).To(Equal("ok"), path)
	}
	container := pod.Spec.Containers[0]
	NewWithT(t).Expect([]any{container.LivenessProbe, container.ReadinessProbe}).NotTo(ContainElement(BeNil()))
}

func TestTheOperatorServesMetricsToThoseWhoMayReadThem(t *testing.T) {
	namespace := newNamespace(t, "restricted")
	metrics := "https://" + forward(t, operatorPod(t), "8443") + "/metrics"
	reader, stranger := newAccount(t, namespace, "prometheus"), newAccount(t, namespace, "stranger")
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kube8-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "prometheus"}},
	}
	create(t, binding)
	t.Cleanup(func() {
		if err := cluster.Delete(context.Background(), binding); err != nil {
			t.Error(err)
		}
	})

	for name, row := range map[string]struct {
		token    string
		want     int
		contains string
	}{
		"with a token that is bound to the role":             {reader, http.StatusOK, "controller_runtime_reconcile_total"},
		"with a token that is not bound to the role":         {stranger, http.StatusForbidden, ""},
		"with a token that the API server did not give away": {"hunter2", http.StatusUnauthorized, ""},
		"without a token": {"", http.StatusUnauthorized, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			// The API server's authorizer may not have seen the binding yet.
			g.Eventually(func() int { status, _ := scrape(t, metrics, row.token); return status }).Should(Equal(row.want))
			_, body := scrape(t, metrics, row.token)
			g.Expect(body).To(ContainSubstring(row.contains))
		})
	}
}

// operatorPod returns the pod in which the operator runs.
func operatorPod(t *testing.T) corev1.Pod {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: operatorName}, deployment); err != nil {
		t.Fatal(err)
	}
	var running []corev1.Pod
	NewWithT(t).Eventually(func() []corev1.Pod {
		running = nil
		for _, pod := range podsWith(t, systemNamespace, "control-plane", "controller-manager") {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				running = append(running, pod)
			}
		}
		return running
	}).Should(HaveLen(1), "running pods of the operator")
	return running[0]
}

// newAccount creates a ServiceAccount and returns a token of it.
func newAccount(t *testing.T, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	create(t, account)
	token := &authenticationv1.TokenRequest{}
	if err := cluster.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// scraper keeps its connection: kubectl port-forward ends when one is reset. The operator makes its own certificate, so
// there is no authority to check it against.
var scraper = &http.Client{
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	Timeout:   10 * time.Second,
}

// scrape gets a URL.
func scrape(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := scraper.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

var forwarding = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+)`)

// forward opens a port of a pod on this machine until the test ends, and returns its address. The API server's proxy would
// not do: it keeps the Authorization header to itself.
func forward(t *testing.T, pod corev1.Pod, port string) string {
	t.Helper()
	cmd := kubectlCommand(context.Background(), "port-forward", "-n", pod.Namespace, pod.Name, ":"+port)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it ends because it was told to
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	found := forwarding.FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("kubectl port-forward: %q, %v", line, err)
	}
	return found[1]
}
