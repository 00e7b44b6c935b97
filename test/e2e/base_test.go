//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 23: a base of the platform and a tenant's own file are one configuration.

// sharedPart has all that the tenant's own part lacks: an exporter, and the pipeline.
const sharedPart = `
exporters: {debug: {verbosity: detailed}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}
`

// ownPart alone is no configuration: it has no pipeline.
const ownPart = `
extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
receivers: {otlp: {protocols: {http: {endpoint: "0.0.0.0:4318"}}}}
service: {extensions: [health_check]}
`

func TestABaseAndATenantsFileAreMergedAndAWrongBaseIsRefusedByTheCheck(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newCollector(newNamespace(t, "restricted"), "gateway", ownPart)
	name := collector.Namespace + "-shared"
	base := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name, Labels: map[string]string{v1alpha1.BaseLabel: "first"}},
		Data:       map[string]string{"part.yaml": sharedPart},
	}
	create(t, base)
	t.Cleanup(func() { _ = cluster.Delete(context.Background(), base) })
	collector.Spec.Collector.Bases, collector.Spec.Check = []v1alpha1.Base{{Name: name}}, &v1alpha1.Check{}
	create(t, collector)
	awaitReady(t, collector)
	g.Eventually(func() error { return send(t.Context(), collector, "through-both-parts") }).Should(Succeed())
	awaitPrinted(t, collector, "through-both-parts")
	pods, told := podsOf(t, collector), get(t, collector, &v1alpha1.Collector{}).Status.Bases
	g.Expect(told).To(ConsistOf(HavePrefix(name + "@")))

	rewrite := func(content string) {
		before := base.DeepCopy()
		base.Data["part.yaml"] = content
		g.Expect(cluster.Patch(t.Context(), base, client.MergeFrom(before))).To(Succeed())
	}
	rewrite(strings.Replace(sharedPart, "exporters: {debug", "exporters: {no_such_exporter: {}, debug", 1))
	update := func() string { return conditionOf(get(t, collector, &v1alpha1.Collector{}), v1alpha1.UpdatePending) }
	g.Eventually(update).Should(Equal("True Refused"))
	awaitReadySays(t, collector, "True Available")
	g.Expect(uids(podsOf(t, collector))).To(Equal(uids(pods)), "no pod is touched")
	g.Expect(get(t, collector, &v1alpha1.Collector{}).Status.Bases).To(Equal(told), "the bases that the pods have")

	rewrite(sharedPart)
	g.Eventually(update).Should(BeEmpty())
	awaitReady(t, collector)
	g.Expect(uids(podsOf(t, collector))).To(Equal(uids(pods)), "no pod is touched")

	rewrite(strings.Replace(sharedPart, "traces: {", "traces: {processors: [resource], ", 1) +
		"processors: {resource: {attributes: [{key: by, value: the-platform, action: upsert}]}}\n")
	g.Eventually(func() []string { return get(t, collector, &v1alpha1.Collector{}).Status.Bases }).
		Should(And(HaveLen(1), Not(Equal(told))), "a good base is deployed")
	awaitReady(t, collector)
	g.Eventually(func() error { return send(t.Context(), collector, "through-the-changed-base") }).Should(Succeed())
	awaitPrinted(t, collector, "the-platform")
}
