//go:build e2e

package e2e

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// device is the name of the device of the sample telegraf: as a label, as a taint, and as a resource.
const device = "example.com/capture-card"

// Scenario 8. The sample's program is not built here, so an OpenTelemetry Collector runs in its pods, which also takes OTLP
// at the node's own address. The node has one device, as for the same sample in scenario 10, and so this is not parallel.

func TestTheDeviceAgentRunsOnTheNodesThatHaveWhatItAsksFor(t *testing.T) {
	agent := readSample(t, "config/samples/kube8_v1alpha1_collector_telegraf.yaml")
	agent.Namespace = newNamespace(t, "privileged")
	program := newCollector(agent.Namespace, agent.Name, printing("detailed"))
	agent.Spec.Collector, agent.Spec.Command, agent.Spec.Args = program.Spec.Collector, nil, nil
	agent.Spec.Ports, agent.Spec.LivenessProbe, agent.Spec.Service, agent.Spec.HostNetwork = nil, nil, nil, true
	create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: "registry-credentials"},
		Type:       corev1.SecretTypeDockerConfigJson,
		StringData: map[string]string{corev1.DockerConfigJsonKey: `{"auths": {"registry.example.com": {"auth": "YTpi"}}}`},
	})
	create(t, agent)

	g := NewWithT(t)
	g.Eventually(func() (string, error) { return waitsFor(t.Context(), agent) }).Should(ContainSubstring("observed:true want:0"))
	node := prepareNode(t)
	awaitReady(t, agent)

	g.Expect(podsOf(t, agent)).To(HaveLen(1))
	pod := podsOf(t, agent)[0]
	g.Expect(pod.Spec.NodeName).To(Equal(node))
	g.Expect(pod.Spec.HostNetwork).To(BeTrue())
	g.Expect(pod.Spec.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "registry-credentials"}))
	g.Expect(pod.Spec.Tolerations).To(ContainElement(corev1.Toleration{Key: device, Operator: corev1.TolerationOpExists}))
	g.Expect(pod.Spec.Containers[0].Resources.Limits).To(HaveKey(corev1.ResourceName(device)))
	g.Eventually(func() error { return send(t.Context(), agent, "a-span-for-the-agent") }).Should(Succeed())
}

// prepareNode gives a node the label and the resource by which the sample telegraf knows a node with the device, until
// the test ends.
func prepareNode(t *testing.T) (name string) {
	t.Helper()
	node := &corev1.Node{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Name: operatorPod(t).Spec.NodeName}, node); err != nil {
		t.Fatal(err)
	}
	patch := func(label, quantity string) {
		t.Helper()
		labels := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"`+device+`": `+label+`}}}`))
		capacity := client.RawPatch(types.MergePatchType, []byte(`{"status": {"capacity": {"`+device+`": `+quantity+`}}}`))
		err := cluster.Patch(context.Background(), node, labels)
		if err := errors.Join(err, cluster.Status().Patch(context.Background(), node, capacity)); err != nil {
			t.Error(err)
		}
	}
	patch(`"present"`, `"1"`)
	t.Cleanup(func() { patch("null", "null") })
	return node.Name
}
