package integration

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/test/kustomize"
)

// The control plane has accepted the policies of config/default, and no network here enforces them. So this test reads
// them as a network does: what no policy that selects the pod allows is refused.
func TestTheOperatorsTrafficIsRefusedUnlessAPolicyAllowsIt(t *testing.T) {
	t.Parallel()
	const in, out = networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	prometheus, tenant := labels.Set{"metrics": "enabled"}, labels.Set{}
	collector := labels.Set{"kube8.dev/collector": "gateway"}
	for folder, metrics := range map[string]bool{"config/default": true, "config/namespaced": false, "config/namespaced/several": false} {
		policies := policiesOfTheOperator(t, folder)
		for _, row := range []struct {
			name      string
			direction networkingv1.PolicyType
			peer      labels.Set // of its namespace
			protocol  corev1.Protocol
			port      int32
			want      bool
		}{
			{"Prometheus reads metrics", in, prometheus, "TCP", 8443, metrics},
			{"a tenant reads metrics", in, tenant, "TCP", 8443, false},
			{"Prometheus reads the metrics of the namespaced install, which are the pod's own", in, prometheus, "TCP", 8080, false},
			{"the kubelet probes", in, tenant, "TCP", 8081, true},
			{"somebody reaches another port", in, prometheus, "TCP", 80, false},
			{"the operator asks the API server at its Service", out, tenant, "TCP", 443, true},
			{"the operator asks the API server at its own port", out, tenant, "TCP", 6443, true},
			{"the operator asks the API server of minikube", out, tenant, "TCP", 8443, true},
			{"the operator asks for a name", out, tenant, "UDP", 53, true},
			{"the operator asks for a name whose answer is long", out, tenant, "TCP", 53, true},
			{"the operator asks for a name on OpenShift", out, tenant, "UDP", 5353, true},
			{"the operator reads the metrics of a collector", out, collector, "TCP", 8888, true},
			{"the operator sends a collector UDP", out, collector, "UDP", 8125, false},
			{"the operator reaches another pod", out, tenant, "TCP", 8888, false},
			{"the operator reaches the cloud's metadata", out, tenant, "TCP", 80, false},
		} {
			if got := allow(t, policies, row.direction, row.peer, row.protocol, row.port); got != row.want {
				t.Errorf("%s: %s: allowed is %v, want %v", folder, row.name, got, row.want)
			}
		}
	}
}

// policiesOfTheOperator returns the policies of a folder, after having checked that each selects the operator's pod.
func policiesOfTheOperator(t *testing.T, folder string) (policies []networkingv1.NetworkPolicy) {
	t.Helper()
	objects, err := kustomize.Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	for _, object := range objects {
		var policy networkingv1.NetworkPolicy
		switch object.GetKind() {
		case "NetworkPolicy":
			err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &policy, true)
			policies = append(policies, policy)
		case "Deployment":
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, policy := range policies {
		if policy.Namespace != deployment.Namespace || !selects(t, &policy.Spec.PodSelector, deployment.Spec.Template.Labels) {
			t.Errorf("%s: NetworkPolicy %s does not select the operator's pod", folder, policy.Name)
		}
	}
	return policies
}

// allow says whether traffic from or to a namespace and pod with some labels is allowed.
func allow(
	t *testing.T, policies []networkingv1.NetworkPolicy, direction networkingv1.PolicyType, peer labels.Set, protocol corev1.Protocol, port int32,
) bool {
	t.Helper()
	matches := func(p networkingv1.NetworkPolicyPort) bool {
		return *p.Protocol == protocol && (p.Port.IntVal == port || p.EndPort != nil && p.Port.IntVal <= port && port <= *p.EndPort)
	}
	isFrom := func(p networkingv1.NetworkPolicyPeer) bool {
		return selects(t, p.NamespaceSelector, peer) && (p.PodSelector == nil || selects(t, p.PodSelector, peer))
	}
	limited := false
	for _, policy := range policies {
		if !slices.Contains(policy.Spec.PolicyTypes, direction) {
			continue
		}
		limited = true
		for _, rule := range policy.Spec.Ingress {
			if direction == networkingv1.PolicyTypeIngress && slices.ContainsFunc(rule.Ports, matches) &&
				(len(rule.From) == 0 || slices.ContainsFunc(rule.From, isFrom)) {
				return true
			}
		}
		for _, rule := range policy.Spec.Egress {
			if direction == networkingv1.PolicyTypeEgress && slices.ContainsFunc(rule.Ports, matches) &&
				(len(rule.To) == 0 || slices.ContainsFunc(rule.To, isFrom)) {
				return true
			}
		}
	}
	return !limited
}

func selects(t *testing.T, selector *metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return chosen.Matches(labels.Set(set))
}
