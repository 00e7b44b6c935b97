package integration

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const preflightLabel = "kube8.dev/preflight"

// tenantKubeconfig returns a kubeconfig of somebody who has Kubernetes' role edit in a namespace. There is no controller here that
// gathers the roles that edit consists of.
func tenantKubeconfig(t *testing.T, namespace string) []byte {
	t.Helper()
	kubeconfig := editorKubeconfig(t, namespace)
	for _, role := range []string{"system:aggregate-to-edit", "system:aggregate-to-view"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: tenantRoles[0] + "-of-" + namespace}},
		}
		if err := plane.client.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	return kubeconfig
}

// tried returns the Jobs of a preflight that have not ended yet, by their Collectors.
func tried(t *testing.T, collector *v1alpha1.Collector) map[string]*batchv1.Job {
	t.Helper()
	running := map[string]*batchv1.Job{}
	for _, job := range checks(t, collector) {
		if name := job.Labels[preflightLabel]; name != "" && len(job.Status.Conditions) == 0 {
			running[name] = &job
		}
	}
	return running
}

// leftOf returns the names of what preflights have left in a namespace.
func leftOf(t *testing.T, collector *v1alpha1.Collector) (left []string) {
	t.Helper()
	for _, name := range names(contents(t, collector.Namespace)) {
		if strings.Contains(name, "-preflight-") && !strings.HasPrefix(name, "Pod/") { // which a controller deletes that is not here
			left = append(left, name)
		}
	}
	return left
}

func TestThePluginSaysWhichCollectorsAnotherVersionRefuses(t *testing.T) {
	t.Parallel()
	gateway := install(t)
	for name, edit := range map[string]func(*v1alpha1.Collector){
		"bad":    func(*v1alpha1.Collector) {},
		"killed": func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeDaemonSet },
		"held": func(c *v1alpha1.Collector) {
			c.Spec.Collector.Files = map[string]v1alpha1.FileContent{"a.txt": []byte("a")}
		},
		"pinned": func(c *v1alpha1.Collector) { c.Spec.Image = &v1alpha1.Image{Tag: "0.150.0-custom"} },
		"alloy":  func(c *v1alpha1.Collector) { c.Spec.Collector.Name = "grafana/alloy" },
	} {
		collector := newCollector(gateway.Namespace, name)
		edit(collector)
		create(t, collector)
	}
	p, g := pluginOf(t, tenantKubeconfig(t, gateway.Namespace)), NewWithT(t)
	g.Eventually(func() string { _, failure := p.try("list"); return failure }).Should(BeEmpty(), "until the bindings are known")
	before := get(t, gateway, "", &appsv1.Deployment{})
	type ending struct{ out, failure string }
	ended := make(chan ending, 1)
	go func() {
		out, failure := p.try("preflight", "--version", "0.151.0", "--concurrency", "2", "-o", "json")
		ended <- ending{out, failure}
	}()
	atATime := func() int { return len(tried(t, gateway)) }
	g.Eventually(atATime).Should(Equal(2))
	g.Consistently(atATime, "1s").Should(Equal(2), "while neither ends")
	node, seen := newKubelet(t), 0
	for len(ended) == 0 {
		running := tried(t, gateway)
		g.Expect(len(running)).To(BeNumerically("<=", 2), "at a time")
		for name, job := range running {
			g.Expect(job.Spec.Template.Spec.Containers[0].Image).To(HaveSuffix("/opentelemetry-collector:0.151.0"))
			g.Expect(job.Spec.Template.Spec.Containers[0].Args[0]).To(Equal("validate"))
			g.Expect(job.Spec.TTLSecondsAfterFinished).To(HaveValue(BeEquivalentTo(300)))
			g.Expect(job.Spec.ActiveDeadlineSeconds).To(HaveValue(BeEquivalentTo(120)))
			g.Expect(job.Labels).NotTo(HaveKey(collectorLabel))
			g.Expect(job.Spec.Template.Labels).NotTo(HaveKey(collectorLabel))
			files := &corev1.Secret{}
			g.Eventually(func() error { return plane.client.Get(t.Context(), client.ObjectKeyFromObject(job), files) }).Should(Succeed())
			g.Expect(files.Data).To(HaveKeyWithValue("config.yaml", []byte(config)))
			g.Expect(metav1.GetControllerOf(files)).To(BeNil())
			g.Expect(files.OwnerReferences).To(ConsistOf(HaveField("UID", job.UID)))
			g.Expect(job.Spec.Template.Spec.Volumes[0].Secret.SecretName).To(Equal(files.Name))
			switch name {
			case "bad":
				podOn(t, gateway, node, job.Name+"-abcde", map[string]string{batchv1.JobNameLabel: job.Name})
				refuseCheck(t, job)
			case "killed":
				end(t, job, batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy,
					"Container collector for pod x/y failed with exit code 137 matching FailJob rule at index 1")
			case "held":
				warn(t, job, "FailedCreate", "pods \"x\" is forbidden: exceeded quota: pods")
				giveUpCheck(t, job)
			default:
				acceptCheck(t, job)
			}
			seen++
		}
	}
	result := <-ended
	g.Expect(seen).To(Equal(4))
	g.Expect(result.failure).To(And(HavePrefix("exit status 2: "), ContainSubstring("6 of 6: "), HaveSuffix("would fail with 0.151.0: 1\n")))
	var told struct {
		Collectors []struct{ Name, Version, Verdict, Reason string }
	}
	g.Expect(json.Unmarshal([]byte(result.out), &told)).To(Succeed())
	row := func(name, verdict, reason string) any {
		return And(HaveField("Name", name), HaveField("Version", "0.150.0"), HaveField("Verdict", verdict), HaveField("Reason", MatchRegexp("^"+reason)))
	}
	g.Expect(told.Collectors).To(HaveExactElements(
		row("alloy", "unknown", "spec.check does not say how grafana/alloy checks"),
		row("bad", "fails", "exit code 3: log of "+gateway.Namespace+"/bad-preflight-.*/collector, .* tail \"20\", at most \"65536\" bytes$"),
		row("gateway", "passes", "$"),
		row("held", "unknown", "DeadlineExceeded; FailedCreate: pods .* exceeded quota"),
		row("killed", "unknown", "killed, with exit code 137$"),
		row("pinned", "unknown", "spec.image decides")))
	g.Expect(leftOf(t, gateway)).To(BeEmpty())
	expectUntouched(t, before)
	g.Expect(get(t, gateway, "", &v1alpha1.Collector{}).Generation).To(BeEquivalentTo(1))

	p.refuses("your account may not list Collectors", "preflight", "--version", "0.151.0", "-A")
	p.refuses("at least 1", "preflight", "--version", "0.151.0", "--concurrency", "0")
	p.refuses("at most 50", "preflight", "--version", "0.151.0", "--concurrency", "51")
	p.refuses(`--version "a b": `, "preflight", "--version", "a b")
	g.Expect(p.run("preflight", "--version", "0.151.0", "-l", "no=such")).To(BeEmpty())
	change(t, gateway, func(c *v1alpha1.Collector) {
		c.Labels, c.Spec.Collector.Configuration = map[string]string{"team": "edge"}, []byte("a: *nobody\n")
	})
	out, failure := p.try("preflight", "--version", "0.151.0", "-l", "team=edge")
	g.Expect(out).To(MatchRegexp(`gateway +0.150.0 +unknown +is refused with its present version, too: .*spec.collector.configuration: .*alias`),
		"without a Job, because the operator refuses it")
	g.Expect(failure).To(HavePrefix("exit status 1: "))
}

// warn records a warning about a Job, as the Job controller does.
func warn(t *testing.T, job *batchv1.Job, reason, message string) {
	t.Helper()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: job.Namespace, GenerateName: job.Name + "."},
		InvolvedObject: corev1.ObjectReference{Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.Now(),
	}
	if err := plane.client.Create(t.Context(), event); err != nil {
		t.Fatal(err)
	}
}

func TestAPreflightThatIsInterruptedOrHeldUpLeavesNothing(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginOf(t, tenantKubeconfig(t, collector.Namespace)), NewWithT(t)
	g.Eventually(func() string { _, failure := p.try("list"); return failure }).Should(BeEmpty(), "until the bindings are known")
	screen := p.open("true", "preflight", "--version", "0.151.0")
	g.Eventually(func() []string { return leftOf(t, collector) }).Should(HaveLen(2), "a Job and its Secret")
	screen.interrupt()
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(screen.text()).To(MatchRegexp(`gateway +0.150.0 +unknown +interrupted\n\nwith 0.151.0: 0 of 1 pass, 0 would fail, 1 unknown`))
	g.Expect(leftOf(t, collector)).To(BeEmpty())

	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "jobs"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}},
	}
	if err := plane.client.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
	if err := plane.client.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() string { out, _ := p.try("preflight", "--version", "0.151.0", "--timeout", "1s"); return out }).Should(
		MatchRegexp(`unknown +its Job cannot be created: .* exceeded quota: jobs`))
	g.Expect(leftOf(t, collector)).To(BeEmpty())
}
