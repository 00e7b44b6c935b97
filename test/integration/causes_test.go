package integration

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// say writes an event about an object, as a controller does.
func say(t *testing.T, object client.Object, kind, reason, message string) {
	t.Helper()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: object.GetNamespace(), GenerateName: "said-"},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(time.Now().Add(-5 * time.Second)),
	}
	if err := plane.client.Create(t.Context(), event); err != nil {
		t.Fatal(err)
	}
}

// Their controllers say only in events why they make no pods.
func TestADaemonSetAndAStatefulSetSayWhyTheyHaveNoPods(t *testing.T) {
	t.Parallel()
	const account = `error looking up service account team/x: serviceaccount "x" not found`
	for name, mode := range map[string]v1alpha1.Mode{
		"DaemonSet": v1alpha1.ModeDaemonSet, "StatefulSet": v1alpha1.ModeStatefulSet, "DaemonSet that surges": v1alpha1.ModeDaemonSet,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Mode = mode
			create(t, collector)
			awaitRevision(t, collector, 1)
			var object client.Object
			switch mode {
			case v1alpha1.ModeDaemonSet:
				set := get(t, collector, "", &appsv1.DaemonSet{})
				set.Status = appsv1.DaemonSetStatus{ObservedGeneration: set.Generation, DesiredNumberScheduled: 2}
				if strings.HasSuffix(name, "surges") { // old pods stay
					set.Status.CurrentNumberScheduled, set.Status.NumberReady, set.Status.NumberAvailable = 2, 2, 2
				}
				object = set
			case v1alpha1.ModeStatefulSet:
				set := get(t, collector, "", &appsv1.StatefulSet{})
				set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation}
				object = set
			case v1alpha1.ModeDeployment:
			}
			kind, _, _ := strings.Cut(name, " ")
			say(t, object, kind, "FailedCreate", "Error creating: "+account)
			if err := plane.client.Status().Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			awaitReady(t, collector, "False", "PodsNotReady", "updated; FailedCreate: Error creating: "+account)
			g := NewWithT(t)
			p := pluginIn(t, collector.Namespace)
			g.Expect(p.run("why", "gateway")).To(And(ContainSubstring("The pods' ServiceAccount does not exist."),
				ContainSubstring("kubectl get serviceaccounts -n "+collector.Namespace), Not(ContainSubstring("kubectl logs"))))
			g.Expect(p.run("status", "gateway")).To(ContainSubstring("Next: Create it, or correct `spec.serviceAccount`."))

			pod(t, collector, crashed()) // which is newer than the event
			awaitReady(t, collector, "False", "PodsNotReady", "CrashLoopBackOff")
			g.Expect(condition(t, collector, "Ready").Message).NotTo(ContainSubstring("FailedCreate"))
			serveAs(t, collector, mode)
			awaitReady(t, collector, "True", "Available", "1/1")
		})
	}
}

func TestWhyTellsWhatRefusesACollector(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refuse    func(t *testing.T, namespace string) (allow func())
		says, why string
	}{
		"a quota": {
			func(t *testing.T, namespace string) (allow func()) {
				t.Helper()
				quota(t, namespace, "count/deployments.apps")
				return func() {}
			},
			"exceeded quota: limit", "The namespace has as many objects of this kind as its quota allows.",
		},
		"a policy": {
			func(t *testing.T, namespace string) (allow func()) {
				t.Helper()
				return forbid(t, namespace, "apps", "deployments", "false", registrationv1.Create)
			},
			"not in this test", "A policy of the platform refuses it, in its own words.",
		},
		"a webhook": {
			func(t *testing.T, namespace string) (allow func()) {
				t.Helper()
				refuseAs(t, namespace, "apps", "deployments", denied, func(*admissionv1.AdmissionRequest) bool { return true })
				return func() {}
			},
			"not by me", "A webhook of the platform refuses it, in its own words.",
		},
		"a webhook that is down": {
			func(t *testing.T, namespace string) (allow func()) {
				t.Helper()
				url := "https://127.0.0.1:1/"
				validateBy(t, namespace, registrationv1.WebhookClientConfig{URL: &url})
				return func() {}
			},
			"failed calling webhook", "The API server cannot ask a webhook that must agree.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			defer row.refuse(t, collector.Namespace)()
			g := NewWithT(t)
			g.Eventually(func() error {
				return plane.client.Create(t.Context(), deploymentIn(collector.Namespace), client.DryRunAll)
			}).Should(
				MatchError(ContainSubstring(row.says)))
			if err := plane.client.Create(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			awaitReady(t, collector, "False", "ReleaseFailed", row.says)
			out := pluginIn(t, collector.Namespace).run("why", "gateway")
			g.Expect(out).To(And(ContainSubstring(row.why), Not(ContainSubstring("From the runbook"))))
		})
	}
}

func TestWhyOverlooksNoCondition(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Presets = &v1alpha1.Presets{KubeletMetrics: &v1alpha1.KubeletMetricsPreset{Enabled: true}}
	collector.Spec.Service = &v1alpha1.Service{Type: corev1.ServiceTypeLoadBalancer}
	create(t, collector)
	awaitRevision(t, collector, 1)
	pod(t, collector, serving())
	becomeReady(t, collector)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("why", "gateway")).To(And(
		ContainSubstring("is ready, for "), MatchRegexp(`PresetsReady is False, for \w+: RoleMissing\n  spec.presets.kubeletMetrics: `),
		ContainSubstring("A preset reads the Kubernetes API, and the pods have no right to."),
		ContainSubstring("The cluster has not given the Service an address."),
	))
	g.Expect(p.run("status", "gateway")).To(MatchRegexp(`Presets +RoleMissing: `))
}

// No policy of the cluster is taken for a lack of rights.
func TestThePluginPassesOnWhatAPolicySays(t *testing.T) {
	t.Parallel()
	collector := install(t)
	defer forbid(t, collector.Namespace, "kube8.dev", "collectors", "object.spec.cluster != 'moon'", registrationv1.Create, registrationv1.Update)()
	moved := collector.DeepCopy()
	NewWithT(t).Eventually(func() error {
		moved.Spec.Cluster = "moon"
		return plane.client.Patch(t.Context(), moved.DeepCopy(), client.MergeFrom(collector), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not in this test")))
	p := pluginIn(t, collector.Namespace)
	p.write("config.yaml", config)
	p.refuses("the platform refuses to create Collector "+collector.Namespace+"/moon", "create", "moon", "--from-file", "config.yaml", "--tenant", "acme", "--cluster", "moon")
}

func TestTheCommandsOfCausesRun(t *testing.T) {
	collector := install(t)
	podOn(t, collector, newKubelet(t), "gateway-a", map[string]string{collectorLabel: "gateway"})
	p := pluginIn(t, collector.Namespace)
	for heading, read := range map[string]func() (string, error){
		"Policies": func() (string, error) { return docs.Script("docs/reference/causes.md", "Policies and webhooks") },
		"Images":   func() (string, error) { return docs.Script("docs/reference/causes.md", "Images") },
		"Starting": func() (string, error) { return docs.Script("docs/reference/causes.md", "Starting") },
		"Nodes":    func() (string, error) { return docs.Script("docs/reference/causes.md", "Nodes") },
		"Refusals": func() (string, error) { return docs.Script("docs/reference/causes.md", "Refusals") },
		"Rollout":  func() (string, error) { return docs.Script("docs/reference/causes.md", "Rollout") },
		"Data":     func() (string, error) { return docs.Script("docs/reference/causes.md", "Data") },
	} {
		script, err := read()
		if err != nil {
			t.Fatalf("%s: %v", heading, err)
		}
		script = strings.NewReplacer("NAMESPACE", collector.Namespace, "NAME", collector.Name).Replace(script)
		if screen := p.shell("true", script); screen.end() != nil {
			t.Errorf("%s:\n%s", heading, screen.text())
		}
	}
}
