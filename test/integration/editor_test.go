package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube8/kube8-operator/test/docs"
)

// editorKubeconfig returns a kubeconfig of somebody who has the role collector-editor in a namespace, and nothing else.
func editorKubeconfig(t *testing.T, namespace string) []byte {
	t.Helper()
	return kubeconfigWith(t, namespace, tenantRoles[0])
}

// kubeconfigWith returns a kubeconfig of somebody who has a ClusterRole in a namespace, and nothing else.
func kubeconfigWith(t *testing.T, namespace, role string) []byte {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role + "-of-" + namespace}},
	}
	if err := plane.client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(plane.env.KubeConfig)
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos[current.AuthInfo].Impersonate = binding.Subjects[0].Name
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func TestACollectorEditorReadsWhatTheDocumentsTellItTo(t *testing.T) {
	t.Parallel()
	collector := install(t)
	pod(t, collector, corev1.PodStatus{Phase: corev1.PodPending})
	kubeconfig := editorKubeconfig(t, collector.Namespace)
	NewWithT(t).Eventually(func() error { // until the binding is known
		_, err := kubectlOn(t, kubeconfig, "get", "collectors")
		return err
	}).Should(Succeed())
	const refused = "Forbidden"
	for _, row := range []struct{ name, command, want string }{
		{"its Collectors", "get collectors -o wide", "gateway"},
		{"a Collector with its events", "describe collector gateway", "Installed"},
		{"the pods", "get pods", "Pending"},
		{"the pods with their events", "describe pods -l kube8.dev/collector=gateway", "Status:"},
		{"the events", "get events --sort-by=.lastTimestamp", "Installed"},
		{"the logs", "auth can-i get pods --subresource=log", "yes"},
		{"the pods' usage", "auth can-i --list", "pods.metrics.k8s.io"},
		{"no Secret", "get secrets", refused},
		{"not the Secret of a Collector", "get secret gateway" + filesOf(config), refused},
		{"no ConfigMap", "get configmaps", refused},
		{"no pods of other namespaces", "get pods -n " + systemNamespace, refused},
		{"no pods by deleting them", "delete pods --all", refused},
		{"no status by writing it", "auth can-i patch collectors.kube8.dev --subresource=status", "no"},
		{"nothing in a pod", "auth can-i create pods --subresource=exec", "no"},
		{"nothing that a pod listens for", "auth can-i create pods --subresource=portforward", "no"},
		{"no event by writing it", "auth can-i create events", "no"},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, _ := kubectlOn(t, kubeconfig, strings.Fields(row.command)...)
			g := NewWithT(t)
			g.Expect(out).To(ContainSubstring(row.want))
			if row.want != refused {
				g.Expect(out).NotTo(ContainSubstring(refused))
			}
		})
	}
	t.Run("what the runbooks of collectors' alerts ask for", func(t *testing.T) {
		script, err := docs.Script("docs/runbooks/Collector*.md", "Diagnosis")
		if err != nil {
			t.Fatal(err)
		}
		script = strings.NewReplacer("NAMESPACE", collector.Namespace, "NAME", collector.Name).Replace(script)
		for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
			// Nothing measures pods here.
			out, err := kubectlOn(t, kubeconfig, strings.Fields(strings.ReplaceAll(line, "'", ""))[1:]...)
			if err != nil && !strings.Contains(out, "Metrics API not available") {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	})
}
