package integration

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Not parallel: other tests bring APIs for which the chart tests.
func TestAnUnrelatedCRDWakesNobody(t *testing.T) {
	collector := install(t)
	becomeReady(t, collector) // so the operator has seen all of its objects, and no reconcile is due
	since := shared.log.mark()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}
	if _, err := envtest.InstallCRDs(plane.env.Config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(plane.env.Config, options); err != nil {
			t.Error(err)
		}
	})
	NewWithT(t).Consistently(func() []string { return shared.log.reconciles(since, client.ObjectKeyFromObject(collector)) },
		pollInterval+5*time.Second, time.Second).Should(BeEmpty(), "reconciles")
}

func TestManyCollectorsThatSomebodyElseHoldsHoldNoWorker(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	var held []*v1alpha1.Collector
	for i := range 24 {
		collector := newCollector(namespace, "held-"+strconv.Itoa(i))
		collector.Finalizers = []string{holdFinalizer}
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		held = append(held, collector)
	}
	t.Cleanup(func() {
		for _, collector := range held {
			letGo := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
			if err := plane.client.Patch(context.Background(), collector, letGo); err != nil {
				t.Error(err)
			}
		}
	})
	for _, collector := range held {
		awaitRevision(t, collector, 1)
	}
	deploysIn := func() time.Duration {
		another := newCollector(newNamespace(t), "gateway")
		begin := time.Now()
		if err := plane.client.Create(t.Context(), another); err != nil {
			t.Fatal(err)
		}
		awaitRevision(t, another, 1)
		return time.Since(begin)
	}
	usual := deploysIn()
	for _, collector := range held {
		if err := plane.client.Delete(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
	}
	for _, collector := range held {
		NewWithT(t).Eventually(func() []string { return get(t, collector, "", &v1alpha1.Collector{}).Finalizers }).
			Should(Equal([]string{holdFinalizer}))
	}
	NewWithT(t).Expect(deploysIn()).To(BeNumerically("<", usual+5*time.Second), "until a Collector without finalizers of others is deployed")
}

func TestAStrangerCannotMakeTheOperatorAskWithoutBoundNorKeepOthersFromMetrics(t *testing.T) {
	t.Parallel()
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	startAnother(t, namespace, "--metrics-bind-address="+address)
	g, scraper := NewWithT(t), "Bearer "+scraperToken(t, namespace)
	g.Eventually(func() int { status, _ := scrape(t, address, scraper); return status }).Should(Equal(http.StatusOK))
	begin, reviews := time.Now(), 0
	for i := range 200 {
		if status, _ := scrape(t, address, "Bearer nobody-"+strconv.Itoa(i)); status != http.StatusTooManyRequests {
			g.Expect(status).To(Equal(http.StatusUnauthorized))
			reviews++
		}
		if i%20 == 0 {
			status, _ := scrape(t, address, scraper)
			g.Expect(status).To(Equal(http.StatusOK), "who was allowed before")
		}
	}
	g.Expect(reviews).To(BeNumerically("<=", 15+5*int(time.Since(begin).Seconds())), "reviews of 200 tokens")
}
