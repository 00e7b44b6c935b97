package main

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
)

// aboutGateway returns the text of the page of the Collector gateway: the overview, or another tab.
func aboutGateway(t *testing.T, tab ...string) string {
	t.Helper()
	code, page := call(t, http.MethodGet, "/about/"+tenant+"/gateway?tab="+strings.Join(tab, ""), nil)
	if code != http.StatusOK {
		t.Fatal(page)
	}
	return strings.NewReplacer("<code>", "`", "</code>", "`").Replace(html.UnescapeString(page))
}

// tell has the Collector gateway say why it is not ready.
func tell(t *testing.T, message string) {
	t.Helper()
	collector := get(t)
	collector.Status = v1alpha1.CollectorStatus{ObservedGeneration: collector.Generation, Conditions: []v1alpha1.Condition{
		{Type: "Ready", Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonPodsNotReady, Message: message},
	}}
	if err := admin.Status().Update(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
}

// create creates objects, and removes them when the test ends.
func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.Background(), object, client.GracePeriodSeconds(0)) })
	}
}

// gatewayPod is a pod of the Collector gateway that does not serve.
func gatewayPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "gateway-1", Labels: map[string]string{v1alpha1.CollectorLabel: "gateway"}},
		Spec: corev1.PodSpec{
			NodeName: "node", Containers: []corev1.Container{{Name: "collector", Image: "a", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

// ofPods are the messages that the kubelet writes in events of pods.
var ofPods = regexp.MustCompile(`^(Failed|FailedMount|FailedAttachVolume|Unhealthy): `)

func TestEachCauseIsToldOnThePage(t *testing.T) {
	put(t, "gateway", valid())
	pod := gatewayPod()
	create(t, pod)
	text, err := os.ReadFile("../../internal/explain/testdata/messages.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var told map[string]string // a part of what happened, by message
	if err := yaml.UnmarshalStrict(text, &told); err != nil {
		t.Fatal(err)
	}
	for message, part := range told {
		t.Run(message, func(t *testing.T) {
			g := NewWithT(t)
			said := message
			if reason := ofPods.FindStringSubmatch(message); reason != nil {
				said = "0/1 updated"
				create(t, &corev1.Event{
					ObjectMeta: metav1.ObjectMeta{Namespace: tenant, GenerateName: "gateway-"}, Reason: reason[1], Type: corev1.EventTypeWarning,
					Message:        strings.TrimPrefix(message, reason[0]),
					InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: tenant, Name: pod.Name, UID: pod.UID},
				})
			}
			tell(t, said)
			found, err := explain.Causes(tenant, "gateway", message)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0].Happened).To(ContainSubstring(part))
			page := aboutGateway(t)
			for _, text := range []string{"Not ready", found[0].Happened, found[0].Action, found[0].Command} {
				g.Expect(page).To(ContainSubstring(text))
			}
			g.Expect(strings.Count(page, "What to do")).To(Equal(1), "no other cause")
		})
	}
}

func TestThePageSaysWhetherDataFlows(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	tell(t, "0/1 updated")
	g.Expect(aboutGateway(t)).NotTo(ContainSubstring("Received"), "the spec does not ask")
	collector := get(t)
	collector.Spec.Flow = &v1alpha1.Flow{}
	g.Expect(admin.Update(t.Context(), collector)).To(Succeed())
	collector.Status = v1alpha1.CollectorStatus{ObservedGeneration: collector.Generation, Conditions: []v1alpha1.Condition{
		{Type: v1alpha1.DataFlowing, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonAllDropped, Message: "data comes in, and none goes out"},
		{Type: "Ready", Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonAvailable, Message: "1/1 available"},
	}}
	g.Expect(admin.Status().Update(t.Context(), collector)).To(Succeed())
	g.Expect(aboutGateway(t)).To(And(ContainSubstring("Ready"), ContainSubstring("`AllDropped`: The collector takes data, and sends none of it."),
		ContainSubstring("<dt>Received</dt><dd>yes</dd><dt>Sent</dt><dd>no</dd>"), ContainSubstring("data comes in, and none goes out")))
	g.Expect(show(get(t)).Cause).To(Equal("AllDropped: The collector takes data, and sends none of it."), "also in the list")
}

func TestThePageSaysWhereToSendData(t *testing.T) {
	g := NewWithT(t)
	opens := valid()
	opens.Configuration = "[{port: 4317}, {listen: ':4318'}, {bind: '0.0.0.0:514'}]"
	put(t, "gateway", opens)
	tell(t, "0/1 updated")
	g.Expect(aboutGateway(t)).To(ContainSubstring("It has no Service."))
	of := metav1.ObjectMeta{Namespace: tenant, Name: "gateway", Labels: map[string]string{v1alpha1.CollectorLabel: "gateway"}}
	service := &corev1.Service{ObjectMeta: of, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
		{Name: "otlp", Port: 4317, AppProtocol: new("grpc")}, {Name: "otlp-http", Port: 4318, AppProtocol: new("http")},
		{Name: "syslog", Port: 514, Protocol: corev1.ProtocolUDP}, {Name: "zipkin", Port: 9411},
	}}}
	headless := &corev1.Service{ObjectMeta: of, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 9}}}}
	headless.Name = "gateway-headless"
	create(t, service, headless)
	exposed := get(t)
	exposed.Spec.Service = &v1alpha1.Service{Type: corev1.ServiceTypeLoadBalancer}
	g.Expect(admin.Update(t.Context(), exposed)).To(Succeed())
	tell(t, "0/1 updated")
	page := aboutGateway(t)
	for _, at := range []string{"`gateway.tenant-acme:4317`", "`http://gateway.tenant-acme:4318`", "`gateway.tenant-acme:514 (UDP)`"} {
		g.Expect(page).To(ContainSubstring(at))
	}
	g.Expect(page).To(And(ContainSubstring("does not open to other pods: zipkin (9411)."), Not(ContainSubstring("gateway-headless"))))
	g.Expect(page).To(ContainSubstring("The cluster has not given the Service an address."))

	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	g.Expect(admin.Status().Update(t.Context(), service)).To(Succeed())
	page = aboutGateway(t)
	g.Expect(page).To(ContainSubstring("http://192.0.2.1:4318"))
	g.Expect(page).NotTo(ContainSubstring("The cluster has not given"))
}

func TestThePageWaitsForTheOperator(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	g.Expect(aboutGateway(t)).To(And(ContainSubstring("Waiting for the operator"), ContainSubstring("If it lasts")))
	observe(t, corev1.ConditionFalse, v1alpha1.ReasonConfigMissing)
	g.Expect(aboutGateway(t)).To(And(ContainSubstring("Not ready"), ContainSubstring("What it means"), Not(ContainSubstring("portal cannot read"))))
}

func TestThePageSaysWhatThePortalMayNotRead(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	create(t, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"kube8.dev"}, Resources: []string{"collectors"}, Verbs: []string{"get"}}},
	}, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "reader"}},
	})
	config, err := clientcmd.LoadFromFile(adminFile)
	g.Expect(err).NotTo(HaveOccurred())
	for _, account := range config.AuthInfos {
		account.Impersonate = "reader"
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	to, _, err := connect(file)
	g.Expect(err).NotTo(HaveOccurred())
	reader := newPortal(t.Context(), to, []string{tenant}, nil)
	for tab, unseen := range map[string]string{overviewTab: "pods, services", historyTab: "events", logsTab: "logs"} {
		// The API server takes a moment to follow a role.
		g.Eventually(func() string {
			answer := httptest.NewRecorder()
			reader.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/about/"+tenant+"/gateway?tab="+tab, http.NoBody))
			return answer.Body.String()
		}).Should(And(ContainSubstring("The portal cannot read: "+unseen+"."), Not(ContainSubstring("It has no Service"))))
	}
}

func TestALongLogLosesItsOldestLines(t *testing.T) {
	g := NewWithT(t)
	line := strings.Repeat("a", 1023) + "\n"
	got := endOf(strings.Repeat(line, 99) + "the error\n")
	g.Expect(got).To(And(HavePrefix(line), HaveSuffix("\nthe error\n")))
	g.Expect(len(got)).To(BeNumerically("<=", maxLogBytes))
	g.Expect(endOf("é"+strings.Repeat("b", maxLogBytes-1))).To(HaveLen(maxLogBytes-1), "one line, cut within a letter")
	g.Expect(endOf("short\n")).To(Equal("short\n"))
}

func TestTheLogsAreTheLastLines(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	g.Expect(aboutGateway(t, logsTab)).To(ContainSubstring("There are no pods."))
	var asked url.Values
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		_, _ = w.Write([]byte("<b>error: no exporter</b>\n"))
	}))
	t.Cleanup(kubelet.Close)
	port, err := strconv.Atoi(kubelet.URL[strings.LastIndex(kubelet.URL, ":")+1:])
	g.Expect(err).NotTo(HaveOccurred())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	create(t, node, gatewayPod())
	g.Expect(aboutGateway(t, logsTab)).To(ContainSubstring(">gateway-1\n"), "why there is none")

	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = intstr.FromInt32(int32(port)).IntVal
	g.Expect(admin.Status().Update(t.Context(), node)).To(Succeed())
	g.Eventually(func() string { return aboutGateway(t, logsTab) }).Should(ContainSubstring(">gateway-1\n<b>error: no exporter</b></pre>"))
	g.Expect(asked.Get("tailLines")).To(Equal("100"))
	g.Expect(asked.Get("limitBytes")).To(Equal("1638400"), "as much as 100 lines have: the kubelet cuts the last ones")
}
