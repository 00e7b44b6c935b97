package integration

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// The namespaces of docs/tutorials/first-day.md, whose Collectors are both called gateway.
const staging, production = "tenant-acme-staging", "tenant-acme"

// helm runs a command of a page by Helm's library.
func (h helmed) helm(t *testing.T, command string) {
	t.Helper()
	flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
	namespace, sets := flags.String("namespace", "", ""), flags.StringArray("set", nil, "")
	create, reuse := flags.Bool("create-namespace", false, ""), flags.Bool("reset-then-reuse-values", false, "")
	err, values := flags.Parse(strings.Fields(command)), map[string]any{}
	for _, set := range *sets {
		err = errors.Join(err, strvals.ParseInto(set, values))
	}
	if words := flags.Args(); err == nil && len(words) == 4 && words[0] == "helm" {
		operator, loadErr := loader.LoadDir(words[3])
		err = loadErr
		switch install, upgrade := action.NewInstall(h.Configuration), action.NewUpgrade(h.Configuration); {
		case err != nil:
		case words[1] == "install":
			install.ReleaseName, install.Namespace, install.CreateNamespace = words[2], *namespace, *create
			_, err = install.Run(operator, values)
		case words[1] == "upgrade":
			upgrade.Namespace, upgrade.ResetThenReuseValues = *namespace, *reuse
			_, err = upgrade.Run(words[2], operator, values)
		}
	} else {
		err = errors.Join(err, errors.New("want helm install or upgrade, a release and a chart"))
	}
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

// run runs the operator as its Deployment says, with further arguments, until the test ends or the function that it returns is called. It
// returns once the Lease has a new holder.
func (h helmed) run(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	holder := func() string {
		lease := &coordinationv1.Lease{}
		_ = h.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "kube8-operator"}, lease) // which the first one creates
		return ptr.Deref(lease.Spec.HolderIdentity, "")
	}
	before := holder()
	args = append(args, "--leader-election-namespace="+systemNamespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	operator := h.command(t, h.deployment(t).Spec.Template.Spec, args...)
	log := &logbook{}
	operator.Stdout, operator.Stderr = log, log
	g := NewWithT(t)
	g.Expect(operator.Start()).To(Succeed())
	stop = sync.OnceFunc(func() {
		_ = operator.Process.Signal(syscall.SIGTERM)
		_ = operator.Wait()
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("the end of the operator's log:\n%s", log.tail(""))
		}
	})
	g.Eventually(holder).WithTimeout(time.Minute).ShouldNot(Or(BeEmpty(), Equal(before)))
	return stop
}

// serveAlways has all Deployments of Collectors served until the test ends, as their controller would.
func (h helmed) serveAlways(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	t.Cleanup(func() { cancel(); serving.Wait() })
	serving.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			var all appsv1.DeploymentList
			_ = h.List(ctx, &all, client.HasLabels{v1alpha1.CollectorLabel}) // or the next time
			for i := range all.Items {
				deployment := &all.Items[i]
				if pods := *deployment.Spec.Replicas; deployment.Status.ObservedGeneration < deployment.Generation {
					deployment.Status = appsv1.DeploymentStatus{
						ObservedGeneration: deployment.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
					}
					_ = h.Status().Update(ctx, deployment) // or the next time
				}
			}
		}, 50*time.Millisecond)
	})
}

// The page's commands are for a whole cluster, from the installation on. So this cluster is one of its own.
func TestAPlatformTeamsFirstDay(t *testing.T) {
	t.Parallel()
	g, h := NewWithT(t), startHelm(t)
	h.serveAlways(t)
	p := pluginOf(t, h.env.KubeConfig)
	p.dir = "" // the checkout
	follow := func(script string, err error) string {
		t.Helper()
		return p.follow(production, script, err)
	}
	may := func(command string) gomegatypes.AsyncAssertion {
		return g.Eventually(func() string { return follow("kubectl auth can-i "+command+" || true", nil) })
	}

	script, err := docs.Script("docs/tutorials/first-day.md", "Install the operator")
	g.Expect(err).NotTo(HaveOccurred())
	install, look, _ := strings.Cut(script, "\n")
	h.helm(t, install)
	g.Expect(h.deployment(t).Spec.Template.Spec.Containers[0].Image).To(Equal("registry.example.com/kube8-operator:dev"))
	served := func() error { return h.List(t.Context(), &v1alpha1.CollectorList{}) }
	g.Eventually(served).Should(Succeed(), "an operator that does not find the CRD ends, and its kubelet starts it again")
	stop := h.run(t)
	g.Expect(follow(look, nil)).To(MatchRegexp(`kube8-operator +\S+_\S+ `))

	script, err = docs.Script("docs/tutorials/first-day.md", "Set the rules for tenants")
	follow(script, err)
	script, err = docs.Script("docs/tutorials/first-day.md", "Prepare the tenant's namespaces")
	follow(script, err)
	for _, namespace := range []string{staging, production} {
		as := " -n " + namespace + " --as=jane --as-group=acme-team"
		may("create collectors.kube8.dev" + as).Should(MatchRegexp("(?m)^yes$"))
		may("get secrets" + as).Should(MatchRegexp("(?m)^no$"))
		may("patch namespace/" + namespace + as).Should(MatchRegexp("(?m)^no$"))
	}
	may("list pods -n " + production + " --as=system:serviceaccount:tenant-acme:gateway").Should(MatchRegexp("(?m)^yes$"))
	may("list pods -n " + staging + " --as=system:serviceaccount:tenant-acme:gateway").Should(MatchRegexp("(?m)^no$"))

	script, err = docs.Script("docs/tutorials/first-day.md", "Create a base")
	follow(script, err)
	script, err = docs.Script("docs/tutorials/first-day.md", "Order the rings")
	follow(script, err)
	labelled := time.Now()
	script, err = docs.Script("docs/tutorials/first-day.md", "Create Collectors")
	follow(script, err)
	seeThem, err := docs.Script("docs/tutorials/first-day.md", "See that they run")
	const before = "processors: {memory_limiter: {check_interval: 1s, limit_percentage: 80}}"
	const after = "processors: {memory_limiter: {check_interval: 1s, limit_percentage: 75}}"
	versions := func(inStaging, inProduction string) gomegatypes.GomegaMatcher {
		return And(MatchRegexp(`(?m)^`+staging+` +gateway +\[`+versionOf("limits", inStaging)+`\]$`),
			MatchRegexp(`(?m)^`+production+` +gateway +\[`+versionOf("limits", inProduction)+`\]$`))
	}
	g.Expect(follow(seeThem, err)).To(versions(before, before))

	of := func(namespace string) *appsv1.Deployment {
		deployment := &appsv1.Deployment{}
		g.Expect(h.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "gateway"}, deployment)).To(Succeed())
		return deployment
	}
	g.Expect(of(staging).Spec.Template.Spec.Containers[0].Args).To(ContainElement(ContainSubstring("base-limits.yaml")))

	// A policy takes a moment until it refuses.
	tooMany := func(number, namespace string) func() string {
		return func() string {
			_, failure := p.try("set", "gateway", "-n", namespace, "replicas="+number, "--yes", "--dry-run=server")
			return failure
		}
	}
	const limit = "the limit replicas is 5, by ConfigMap kube8-operator-system/collector-limits"
	g.Eventually(tooMany("6", staging)).Should(ContainSubstring(limit))
	g.Expect(tooMany("20", production)()).To(BeEmpty(), "the annotation wins")
	g.Expect(tooMany("21", production)()).To(ContainSubstring("the limit replicas is 20, by annotation limits.kube8.dev/replicas"))
	script, err = docs.Script("docs/tutorials/first-day.md", "See that the limits hold")
	g.Expect(follow(script, err)).To(And(ContainSubstring(limit), HaveSuffix("\nrefused\n")))
	g.Expect(*of(staging).Spec.Replicas).To(BeEquivalentTo(1))

	status := func() string { return follow("kubectl collector rollout status", nil) }
	const done, waits = ` +1 +0 +0 +0 +0 +0$`, ` +0 +1 +0 +0 +0 +0$`
	atTheGate := func() {
		t.Helper()
		kept := of(production).Generation
		g.Eventually(status).Should(And(
			ContainSubstring("\nEach ring after the first waits for "), MatchRegexp(`(?m)^0`+done), MatchRegexp(`(?m)^1`+waits)))
		g.Consistently(func() int64 { return of(production).Generation }, 3*time.Second).Should(Equal(kept), "its pods stay as they are")
	}
	// The operator believes labels for five seconds. A reader of the page does not get here as fast.
	g.Eventually(func() time.Duration { return time.Since(labelled) }).Should(BeNumerically(">", 5*time.Second))
	script, err = docs.Script("docs/tutorials/first-day.md", "Change the base")
	follow(script, err)
	atTheGate()
	g.Eventually(func() string { return follow(seeThem, nil) }).Should(versions(after, before))

	// The plugin writes whole seconds, and a ring begins if that is after the end of the last one.
	ended := time.Now()
	g.Eventually(func() time.Time { return time.Now().Truncate(time.Second) }).Should(BeTemporally(">", ended))
	script, err = docs.Script("docs/tutorials/first-day.md", "Let production follow")
	g.Expect(follow(script, err)).To(ContainSubstring("namespace/kube8-operator-system continued: "))
	g.Eventually(status).Should(And(MatchRegexp(`(?m)^0`+done), MatchRegexp(`(?m)^1`+done)))
	g.Expect(follow(seeThem, nil)).To(versions(after, after))

	script, err = docs.Script("docs/tutorials/first-day.md", "Upgrade the operator")
	g.Expect(err).NotTo(HaveOccurred())
	upgrade, look, _ := strings.Cut(script, "\n")
	h.helm(t, upgrade)
	g.Expect(h.deployment(t).Spec.Template.Spec.Containers[0].Image).To(Equal("registry.example.com/kube8-operator:dev2"))
	stop()
	h.run(t, "--collector-registry=mirror.example.com") // a version that makes other objects of a Collector
	g.Expect(follow(look, nil)).To(MatchRegexp(`(?m)^1 `))
	g.Eventually(func() string { return registryOf(of(staging)) }).Should(Equal("mirror.example.com/"))
	atTheGate()
	g.Expect(registryOf(of(production))).To(Equal("ghcr.io/"))
}
