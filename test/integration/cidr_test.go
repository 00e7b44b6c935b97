package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Since version 1.36, the API server refuses a new NetworkPolicy of 10.0.0.1/8, and keeps one that is there. A Collector that has such a
// block can be changed further: the rule is for changed lists.
func TestACollectorWithABlockOfMoreBitsSaysSoAndCanBeChanged(t *testing.T) {
	g := NewWithT(t)
	restore := withSpecSchema(t, func(spec map[string]any) map[string]any { // as a version had it that did not know the rule yet
		unstructured.RemoveNestedField(spec, "properties", "networkPolicy", "properties", "ingressFrom", "items", "x-kubernetes-validations")
		return spec
	})
	block := func(cidr string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}
	}
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true, IngressFrom: []networkingv1.NetworkPolicyPeer{block("10.0.0.1/8")}}
	g.Eventually(func() error { return plane.client.Create(t.Context(), collector.DeepCopy(), client.DryRunAll) }).Should(Succeed())
	isRefused := minorOfAPIServer(t) >= 36
	if isRefused {
		createRefused(t, collector)
	} else {
		create(t, collector)
	}
	restore()
	g.Eventually(func() error { return plane.client.Create(t.Context(), newCollectorLike(collector), client.DryRunAll) }).
		Should(MatchError(ContainSubstring(moreBits)), "another Collector")

	if isRefused {
		const told = "spec.networkPolicy.ingressFrom[0].ipBlock.cidr: Invalid value: must not have bits set beyond the prefix length"
		g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring(told))
		g.Expect(pluginIn(t, collector.Namespace).run("why", "gateway")).To(ContainSubstring("Write 10.0.0.0/8, or 10.0.0.1/32"))
	}

	edit := func(edit func(*v1alpha1.Collector)) error {
		changed := get(t, collector, "", &v1alpha1.Collector{})
		before := changed.DeepCopy()
		edit(changed)
		return plane.client.Patch(t.Context(), changed, client.MergeFrom(before))
	}
	g.Expect(edit(func(c *v1alpha1.Collector) { c.Spec.Cluster = "moved" })).To(Succeed(), "a change of another field")
	g.Expect(edit(func(c *v1alpha1.Collector) {
		c.Spec.NetworkPolicy.IngressFrom = append(c.Spec.NetworkPolicy.IngressFrom, block("192.0.2.0/24"))
	})).To(MatchError(ContainSubstring(moreBits)), "a change of the list")
	g.Expect(edit(func(c *v1alpha1.Collector) { c.Spec.NetworkPolicy.IngressFrom[0] = block("10.0.0.0/8") })).To(Succeed())
	g.Eventually(func() (block string) {
		policy := &networkingv1.NetworkPolicy{}
		if plane.client.Get(t.Context(), client.ObjectKeyFromObject(collector), policy) == nil {
			block = policy.Spec.Ingress[0].From[0].IPBlock.CIDR
		}
		return block
	}).Should(Equal("10.0.0.0/8"))
}

// newCollectorLike returns a Collector with the same spec and another name.
func newCollectorLike(collector *v1alpha1.Collector) *v1alpha1.Collector {
	made := newCollector(collector.Namespace, "other")
	made.Spec = *collector.Spec.DeepCopy()
	return made
}
