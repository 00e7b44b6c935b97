package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestThePageByClick(t *testing.T) {
	kept := named("kept")
	kept.Spec = v1alpha1.CollectorSpec{
		Collector: v1alpha1.CollectorConfig{
			Name: "opentelemetry-collector", Version: "0.150.0",
			ConfigurationSecret: &v1alpha1.ConfigurationSecret{Name: "kept", Key: "config.yaml"},
		},
		Tenant: v1alpha1.Tenant{ID: "1042", Reference: "acme"}, Cluster: "prod-eu-1", Flow: &v1alpha1.Flow{},
	}
	if err := admin.Create(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.DeleteAllOf(context.Background(), kept, client.InNamespace(tenant)) })
	create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "kept", Labels: map[string]string{v1alpha1.CollectorLabel: "kept"}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "otlp", Port: 4317, AppProtocol: new("grpc")}, {Name: "otlp-http", Port: 4318, AppProtocol: new("http")},
		}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	observed := make(chan struct{})
	go func() { defer close(observed); observeAll(ctx) }()
	t.Cleanup(func() { cancel(); <-observed })
	test := exec.CommandContext(t.Context(), "go", "test", "-tags=e2e", "-count=1", "./browser")
	test.Env = append(os.Environ(), "PORTAL_URL="+portalURL+"/?namespace=tenant-acme,tenant-initech", "NAMESPACES=tenant-acme,tenant-initech")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// observeAll plays the operator until the context ends. All pods but those of the Collector kept are ready at once.
func observeAll(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var list v1alpha1.CollectorList
		if admin.List(ctx, &list, client.InNamespace(tenant)) != nil {
			continue
		}
		for _, c := range list.Items {
			if c.Status.ObservedGeneration != c.Generation {
				c.Status.ObservedGeneration = c.Generation
				ready := v1alpha1.Condition{Type: "Ready", Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonAvailable, Message: strings.Repeat("as-long-as-the-name-of-an-image/", 20)}
				if c.Name == "kept" {
					ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, v1alpha1.ReasonPodsNotReady, "0/1 updated; pod kept-1: CrashLoopBackOff, exit code 1"
				}
				c.Status.Conditions = []v1alpha1.Condition{ready}
				if c.Spec.Flow != nil {
					c.Status.Conditions = append(c.Status.Conditions, v1alpha1.Condition{
						Type: v1alpha1.DataFlowing, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonAllDropped, Message: "data comes in, and none goes out",
					})
				}
				_ = admin.Status().Update(ctx, &c) // a conflict is tried again
			}
		}
	}
}

func TestThePageOffersTheNamespacesThatTheAccountMaySee(t *testing.T) {
	g := NewWithT(t)
	code, answer := call(t, http.MethodGet, "/namespaces", nil)
	g.Expect(code).To(Equal(http.StatusOK))
	g.Expect(answer).To(Equal(`["tenant-acme","tenant-initech"]`))
}

func TestThePageOfACollectorHasItsStatusAndItsEvents(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	collector := get(t)
	collector.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonPodsNotReady, Message: "<b>exit code 1</b>"}}
	g.Expect(admin.Status().Update(t.Context(), collector)).To(Succeed())
	for i, reason := range []string{"Older", "Newer"} {
		g.Expect(admin.Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "gateway-" + string(rune('a'+i))}, Reason: reason, Count: 1,
			InvolvedObject: corev1.ObjectReference{Kind: "Collector", Namespace: tenant, Name: "gateway", UID: collector.UID},
			LastTimestamp:  metav1.NewTime(time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)),
		})).To(Succeed())
	}
	_, answer := call(t, http.MethodGet, "/about/"+tenant+"/gateway", nil)
	g.Expect(answer).To(And(ContainSubstring("&lt;b&gt;exit code 1&lt;/b&gt;"), Not(ContainSubstring(secret))))
	g.Expect(aboutGateway(t, historyTab)).To(And(MatchRegexp(`(?s)01:00:00Z.*Newer.*00:00:00Z.*Older`), Not(ContainSubstring(secret))))
	code, _ := call(t, http.MethodGet, "/about/"+tenant+"/gateway?tab=nothing", nil)
	g.Expect(code).To(Equal(http.StatusBadRequest))
	code, _ = call(t, http.MethodGet, "/about/tenant-globex/gateway", nil)
	g.Expect(code).To(Equal(http.StatusForbidden))
}
