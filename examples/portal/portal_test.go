package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// valid is what the tests change, with a configuration of several lines.
func valid() wanted {
	return wanted{
		Collector: "opentelemetry-collector", Version: "0.150.0", Cluster: "prod-eu-1",
		Configuration: "exporters:\n  debug: {} # " + secret + "\n",
		Tenant:        "acme", TenantID: "1042",
	}
}

// call asks the portal for something, and returns the code and the text of its answer.
func call(t *testing.T, method, path string, body any, header ...string) (code int, answer string) {
	t.Helper()
	return callText(t, method, path, encoded(t, body), header...)
}

func callText(t *testing.T, method, path, body string, header ...string) (code int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, portalURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	request.Host = cmp.Or(request.Header.Get("Host"), request.Host)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err = textOf(response)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(answer)
}

func textOf(response *http.Response) (string, error) {
	all, err := io.ReadAll(response.Body)
	return string(all), err
}

func encoded(t *testing.T, body any) string {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// put creates or changes a Collector through the portal, and removes it when the test ends.
func put(t *testing.T, name string, c wanted) {
	t.Helper()
	code, answer := call(t, http.MethodPut, "/collectors/"+tenant+"/"+name, c)
	if code != http.StatusNoContent {
		t.Fatalf("PUT %s: %d %s", name, code, answer)
	}
	t.Cleanup(func() { _ = admin.Delete(context.Background(), named(name)) })
}

func named(name string) *v1alpha1.Collector {
	return &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name}}
}

// get reads the Collector gateway as the administrator.
func get(t *testing.T) *v1alpha1.Collector {
	t.Helper()
	collector := named("gateway")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(collector), collector); err != nil {
		t.Fatal(err)
	}
	return collector
}

func TestACollectorIsWhatThePortalWasAskedFor(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	created := get(t)
	g.Expect(created.Spec).To(Equal(v1alpha1.CollectorSpec{
		Collector: v1alpha1.CollectorConfig{
			Name: "opentelemetry-collector", Version: "0.150.0", ConfigurationText: v1alpha1.FileText(valid().Configuration),
		},
		Tenant: v1alpha1.Tenant{ID: "1042", Reference: "acme"}, Cluster: "prod-eu-1",
	}))
	g.Expect(created.ManagedFields).To(HaveLen(1))
	g.Expect(created.ManagedFields[0].Manager).To(Equal("portal"))

	changed := valid()
	changed.Version = "0.151.0"
	put(t, "gateway", changed)
	g.Expect(get(t).Spec.Collector.Version).To(Equal("0.151.0"))

	t.Run("and asking for the same again changes nothing", func(t *testing.T) {
		before := get(t).ResourceVersion
		put(t, "gateway", changed)
		NewWithT(t).Expect(get(t).ResourceVersion).To(Equal(before))
	})
}

func TestThePortalTakesItsFieldsBackAndLeavesTheRest(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	edited := get(t)
	edited.Spec.Replicas = new(int32(3))
	edited.Spec.Collector.Version = "0.149.0"
	g.Expect(admin.Update(t.Context(), edited, client.FieldOwner("somebody"))).To(Succeed())

	put(t, "gateway", valid())
	g.Expect(get(t).Spec.Collector.Version).To(Equal("0.150.0"))
	g.Expect(get(t).Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
}

func TestAConfigurationInBase64StaysInBase64(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	edited := get(t)
	edited.Spec.Collector.Configuration, edited.Spec.Collector.ConfigurationText = []byte("a: b\n"), ""
	g.Expect(admin.Update(t.Context(), edited, client.FieldOwner("somebody"))).To(Succeed())

	put(t, "gateway", valid())
	config := get(t).Spec.Collector
	g.Expect(string(config.Configuration)).To(Equal(valid().Configuration))
	g.Expect(config.ConfigurationText).To(BeEmpty())
}

func TestConfigurationsAreListedOnRequest(t *testing.T) {
	put(t, "gateway", valid())
	put(t, "edge", valid())
	for path, want := range map[string]string{"": "", "?configuration=true": valid().Configuration} {
		code, answer := call(t, http.MethodGet, "/collectors/"+tenant+path, nil)
		var list []shown
		if err := json.Unmarshal([]byte(answer), &list); err != nil || code != http.StatusOK {
			t.Fatalf("GET: %d %s: %v", code, answer, err)
		}
		c := valid()
		c.Configuration = want
		g := NewWithT(t)
		for i, name := range []string{"edge", "gateway"} {
			g.Expect(list[i].Since).To(BeTemporally("~", time.Now(), time.Minute))
			list[i].Since = time.Time{}
			g.Expect(list[i]).To(Equal(shown{Namespace: tenant, Name: name, wanted: c, Ready: "Unknown", State: isChanging, Cause: unobserved}))
		}
		g.Expect(list).To(HaveLen(2))
	}
}

func TestACollectorNeedsNoConfiguration(t *testing.T) {
	without := valid()
	without.Configuration = ""
	put(t, "gateway", without)
	config := get(t).Spec.Collector
	g := NewWithT(t)
	g.Expect(config.Configuration).To(BeEmpty())
	g.Expect(config.ConfigurationText).To(BeEmpty())
	g.Expect(config.Name).To(Equal("opentelemetry-collector"))
}

func TestAPausedCollectorStaysPausedWhenItIsChanged(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	observe(t, corev1.ConditionUnknown, v1alpha1.ReasonPaused)
	changed := valid()
	changed.Version = "0.151.0"
	put(t, "gateway", changed)
	g.Expect(show(get(t)).Reason).To(Equal(v1alpha1.ReasonPaused))
	g.Expect(aboutGateway(t)).To(And(ContainSubstring(">Paused</span>"), Not(ContainSubstring("Waiting for the operator"))))
}

func TestBrowsersLoadAndKeepNothingElse(t *testing.T) {
	put(t, "gateway", valid())
	for _, path := range []string{"/", "/page/", "/page/page.js", "/about/" + tenant + "/gateway", "/collectors/" + tenant + "?configuration=true",
		"/collectors/" + tenant + "/events", manifests + "/gateway", "/nothing"} {
		t.Run(path, func(t *testing.T) {
			g := NewWithT(t)
			response, err := http.Get(portalURL + path) //nolint:noctx // the test's server ends it
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Body.Close()).To(Succeed())
			g.Expect(response.Header).To(And(
				HaveKeyWithValue("Content-Security-Policy", []string{contentPolicy}), HaveKeyWithValue("Cache-Control", []string{"no-store"}),
				HaveKeyWithValue("X-Content-Type-Options", []string{"nosniff"})))
		})
	}
}
