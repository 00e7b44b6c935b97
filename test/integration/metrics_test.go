package integration

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMetricsAreServedToThoseWhoMayReadThem(t *testing.T) {
	t.Parallel()
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	// An operator that has nothing else to do.
	serving := &operator{
		binary: shared.binary, account: shared.account, watchNamespace: newNamespace(t),
		args: []string{"--metrics-bind-address=" + address},
	}
	if err := serving.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := serving.stop(); err != nil {
			t.Error(err)
		}
	})

	namespace := newNamespace(t)
	allowed, other := scraperToken(t, namespace), token(t, namespace, "other")

	for _, row := range []struct {
		name, authorization string
		status              int
		body                string
	}{
		{"without a token", "", http.StatusUnauthorized, "Unauthorized\n"},
		{"with an empty token", "Bearer ", http.StatusUnauthorized, "Unauthorized\n"},
		{"with a token of nobody", "Bearer nobody", http.StatusUnauthorized, "Unauthorized\n"},
		{"with the token of one who may not", "Bearer " + other, http.StatusForbidden, "Forbidden\n"},
		{"with the token of one who may", "Bearer " + allowed, http.StatusOK, "controller_runtime_reconcile_total"},
	} {
		t.Run(row.name, func(t *testing.T) {
			// Until the metrics server has started and the binding is known, requests fail.
			NewWithT(t).Eventually(func(g Gomega) {
				status, body := scrape(t, address, row.authorization)
				g.Expect(status).To(Equal(row.status))
				g.Expect(body).To(ContainSubstring(row.body))
			}).Should(Succeed())
		})
	}
}

// scraperToken creates the ServiceAccount scraper, which may read metrics, and returns a token of it.
func scraperToken(t *testing.T, namespace string) string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kube8-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "scraper"}},
	}
	if err := plane.client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	return token(t, namespace, "scraper")
}

// token creates a ServiceAccount and returns a token of it.
func token(t *testing.T, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := plane.client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := plane.client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// scrape gets the metrics. Their certificate is one that the operator signed itself.
func scrape(t *testing.T, address, authorization string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	unverified := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := unverified.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
