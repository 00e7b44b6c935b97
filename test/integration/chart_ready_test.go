package integration

import (
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// restrictedNamespace is where the chart is installed, as a cluster's administrator prepares it.
func restrictedNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: systemNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
}

// command returns the operator's program with the arguments of a container, as the ServiceAccount of its pod, and further arguments.
func (h helmed) command(t *testing.T, pod corev1.PodSpec, args ...string) *exec.Cmd {
	t.Helper()
	own := &controlPlane{client: h.Client, env: h.env, dir: t.TempDir()}
	kubeconfig, err := own.kubeconfig(t.Context(), types.NamespacedName{Namespace: systemNamespace, Name: pod.ServiceAccountName})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), shared.binary, append(pod.Containers[0].Args, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	return cmd
}

// test runs `helm test` and, as a kubelet would, the pod that it creates, with further arguments. It returns what the pod printed.
func (h helmed) test(t *testing.T, args ...string) (printed string, err error) {
	t.Helper()
	test := action.NewReleaseTesting(h.Configuration)
	test.Namespace, test.Timeout = systemNamespace, 2*time.Minute
	ended := make(chan error, 1)
	go func() {
		_, err := test.Run(chartRelease)
		ended <- err
	}()
	pod := &corev1.Pod{}
	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		g.Expect(h.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "kube8-operator-test"}, pod)).To(Succeed())
		g.Expect(pod.Status.Phase).To(Equal(corev1.PodPending), "it is not the one before")
	}).Should(Succeed(), "Pod Security admits it")
	out, err := h.command(t, pod.Spec, args...).CombinedOutput()
	pod.Status.Phase = corev1.PodSucceeded
	if err != nil {
		pod.Status.Phase = corev1.PodFailed
	}
	g.Expect(h.Status().Update(t.Context(), pod)).To(Succeed())
	return string(out), <-ended
}

func TestHelmTestSaysWhetherAnOperatorIsAtWork(t *testing.T) {
	t.Parallel()
	g, h := NewWithT(t), startHelm(t)
	g.Expect(h.Create(t.Context(), restrictedNamespace())).To(Succeed())
	h.install(t, operatorChart(t), map[string]any{"serviceAccount": map[string]any{"name": "named"}})
	g.Eventually(func() error { return h.List(t.Context(), &v1alpha1.CollectorList{}) }).Should(Succeed(), "the CRD is served")
	pod := h.deployment(t).Spec.Template.Spec
	g.Expect(pod.ServiceAccountName).To(Equal("named"))
	test := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "kube8-operator-test"}}

	printed, err := h.test(t, "--timeout=3s")
	g.Expect(err).To(HaveOccurred())
	g.Expect(printed).To(Equal("no operator has renewed the Lease kube8-operator-system/kube8-operator for 3s, look at the operator's pods and logs\n"))
	g.Expect(h.Get(t.Context(), client.ObjectKeyFromObject(test), test)).To(Succeed(), "its log can be read")

	operator := h.command(t, pod, "--leader-election-namespace="+systemNamespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	operator.Stdout, operator.Stderr = t.Output(), t.Output()
	g.Expect(operator.Start()).To(Succeed())
	printed, err = h.test(t)
	g.Expect(err).NotTo(HaveOccurred(), printed)
	g.Expect(printed).To(MatchRegexp("^the operator .+ is at work, and the API server serves Collectors\n$"))
	err = h.Get(t.Context(), client.ObjectKeyFromObject(test), test)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the test leaves nothing: %v", err)

	g.Expect(operator.Process.Kill()).To(Succeed())
	g.Expect(operator.Wait()).NotTo(Succeed())
	printed, err = h.test(t, "--timeout=3s")
	g.Expect(err).To(HaveOccurred(), "the Lease of an operator that was killed proves nothing: %s", printed)
}

func TestHelmInstallsThePoliciesForTenants(t *testing.T) {
	t.Parallel()
	// Older clusters have the policy about changes behind this feature gate.
	g, h := NewWithT(t), startHelm(t, [2]string{"feature-gates", "MutatingAdmissionPolicy=true"},
		[2]string{"runtime-config", "admissionregistration.k8s.io/v1beta1=true"})
	h.install(t, operatorChart(t), nil)
	acme := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	g.Expect(h.Create(t.Context(), acme)).To(Succeed())
	tenancy := func(policies string) map[string]any {
		limits := map[string]any{"modes": "deployment"}
		return map[string]any{"tenancy": map[string]any{"policies": policies, "changedBy": true, "limits": limits}}
	}
	h.upgrade(t, tenancy("cluster"))

	wrong, daemonset := newCollector("acme", "wrong"), newCollector("acme", "daemonset")
	wrong.Spec.Tenant.Reference, daemonset.Spec.Mode = "other", "daemonset"
	try := func(collector client.Object) func() error {
		return func() error {
			return h.Create(t.Context(), collector.DeepCopyObject().(client.Object), client.DryRunAll)
		}
	}
	g.Eventually(try(wrong)).Should(MatchError(ContainSubstring(`in namespace acme it must be "acme"`)))
	g.Eventually(try(daemonset)).Should(MatchError(ContainSubstring("the limit modes is deployment, by ConfigMap kube8-operator-system/collector-limits")))
	g.Eventually(func(g Gomega) {
		right := newCollector("acme", "right")
		g.Expect(h.Create(t.Context(), right, client.DryRunAll)).To(Succeed())
		g.Expect(right.Annotations).To(HaveKeyWithValue(changedBy, "admin"))
	}).Should(Succeed())

	h.upgrade(t, tenancy("cluster-audit"))
	g.Eventually(try(wrong)).Should(Succeed(), "it warns, and refuses nothing")
	h.upgrade(t, map[string]any{"tenancy": map[string]any{"policies": ""}})
	remaining := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{
		APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyList",
	}}
	g.Expect(h.List(t.Context(), remaining)).To(Succeed())
	g.Expect(remaining.Items).To(BeEmpty(), "the policies go with the value")
}
