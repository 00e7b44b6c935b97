package integration

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// checks returns the Jobs in a Collector's namespace.
func checks(t *testing.T, collector *v1alpha1.Collector) []batchv1.Job {
	t.Helper()
	jobs := &batchv1.JobList{}
	if err := plane.client.List(t.Context(), jobs, client.InNamespace(collector.Namespace)); err != nil {
		t.Fatal(err)
	}
	return jobs.Items
}

// awaitCheck waits for another check than those before it, which is alone, and returns its Job.
func awaitCheck(t *testing.T, collector *v1alpha1.Collector, before ...types.UID) *batchv1.Job {
	t.Helper()
	var found []batchv1.Job
	NewWithT(t).Eventually(func() []batchv1.Job { found = checks(t, collector); return found }).Should(And(
		HaveLen(1), HaveEach(WithTransform(func(job batchv1.Job) types.UID { return job.UID }, Not(BeElementOf(before))))))
	message := fmt.Sprintf("Job %q checks the change", found[0].Name)
	if get(t, collector, "", &v1alpha1.Collector{}).Status.DeployedRelease != nil {
		message += "; pods of the last revision still serve"
	}
	awaitReady(t, collector, "False", "Checking", message)
	return &found[0]
}

// end has a Job end as the job controller would say it.
func end(t *testing.T, job *batchv1.Job, before, condition batchv1.JobConditionType, reason, message string) {
	t.Helper()
	now := metav1.Now()
	job.Status.StartTime = &now
	if condition == batchv1.JobComplete {
		job.Status.CompletionTime = &now
	}
	for _, step := range []batchv1.JobConditionType{before, condition} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: step, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: now,
		})
	}
	if err := plane.client.Status().Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
}

func acceptCheck(t *testing.T, job *batchv1.Job) {
	t.Helper()
	end(t, job, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, "CompletionsReached", "")
}

func refuseCheck(t *testing.T, job *batchv1.Job) {
	t.Helper()
	end(t, job, batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, fmt.Sprintf(
		"Container collector for pod %s/%s-abcde failed with exit code 3 matching FailJob rule at index 1", job.Namespace, job.Name))
}

func giveUpCheck(t *testing.T, job *batchv1.Job) {
	t.Helper()
	end(t, job, batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
}

// createChecked creates a Collector whose first change is checked and accepted, and waits until the operator has done with it.
func createChecked(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	job := awaitCheck(t, collector)
	NewWithT(t).Expect(names(contents(t, collector.Namespace))).NotTo(ContainElement(MatchRegexp("^(Deployment|DaemonSet|StatefulSet)/")))
	acceptCheck(t, job)
	awaitRevision(t, collector, 1)
	awaitTold(t, collector)
	NewWithT(t).Eventually(func() []batchv1.Job { return checks(t, collector) }).Should(BeEmpty())
}

// checked creates a Collector in mode whose first change was checked.
func checked(t *testing.T, mode v1alpha1.Mode) *v1alpha1.Collector {
	t.Helper()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Mode, collector.Spec.Check = mode, &v1alpha1.Check{}
	createChecked(t, collector)
	return collector
}

func reconfigure(t *testing.T, collector *v1alpha1.Collector, configuration string) {
	t.Helper()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(configuration) })
}

func TestPodsGetAChangeOnceItsCheckHasAcceptedIt(t *testing.T) {
	t.Parallel()
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeDeployment, v1alpha1.ModeDaemonSet, v1alpha1.ModeStatefulSet} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			checked(t, mode)
		})
	}
}

func TestAConfigurationThatItsCheckRefusesReachesNoPod(t *testing.T) {
	t.Parallel()
	collector := checked(t, v1alpha1.ModeDeployment)
	before := get(t, collector, "", &appsv1.Deployment{})
	reconfigure(t, collector, config+" # refused")
	job := awaitCheck(t, collector)
	refuseCheck(t, job)
	awaitReady(t, collector, "False", "ConfigInvalid", fmt.Sprintf(
		"spec.collector.configuration: check exited with 3; run `kubectl logs -n %s job/%s`", job.Namespace, job.Name))
	expectUntouched(t, before)

	since := plane.audit.mark(t)
	reconfigure(t, collector, config)
	NewWithT(t).Eventually(func() string { return condition(t, collector, "Ready").Reason }).Should(Equal("Progressing"))
	NewWithT(t).Expect(plane.audit.writes(t, since, collector.Namespace)).NotTo(
		ContainElement(MatchRegexp(`^(create|patch) jobs/`)), "a revert to what was checked needs no check")
	NewWithT(t).Eventually(func() []batchv1.Job { return checks(t, collector) }).Should(BeEmpty())
	NewWithT(t).Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template).To(Equal(before.Spec.Template))
}

func TestACheckWithoutAVerdictIsTriedAgain(t *testing.T) {
	t.Parallel()
	collector := checked(t, v1alpha1.ModeDeployment)
	before := get(t, collector, "", &appsv1.Deployment{})
	reconfigure(t, collector, config+" # slow")
	job := awaitCheck(t, collector)
	tried := []types.UID{job.UID}
	var waits []time.Duration
	for i := range 2 {
		began := time.Now()
		giveUpCheck(t, job)
		// Ready has that reason only until the next check begins. Its event stays, and both Jobs have one name.
		NewWithT(t).Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKeyWithValue(fmt.Sprintf(
			"Warning CheckFailed: the check has no verdict: DeadlineExceeded; the operator tries it again; see `kubectl describe -n %s job/%s`",
			job.Namespace, job.Name), i+1))
		job = awaitCheck(t, collector, tried...)
		waits, tried = append(waits, time.Since(began)), append(tried, job.UID)
	}
	g := NewWithT(t) // at least, for a busy machine takes longer
	g.Expect(waits[0]).To(BeNumerically(">=", 2*time.Second), "the first delay")
	g.Expect(waits[1]).To(BeNumerically(">=", 4*time.Second), "the second one")
	expectUntouched(t, before)
	acceptCheck(t, job)
	awaitRevision(t, collector, 2)
}

func TestANewerChangeReplacesTheCheckOfTheOneBefore(t *testing.T) {
	t.Parallel()
	collector := checked(t, v1alpha1.ModeDeployment)
	reconfigure(t, collector, config+" # first")
	first := awaitCheck(t, collector)
	for i := range 100 {
		reconfigure(t, collector, fmt.Sprintf("%s # %d", config, i))
		NewWithT(t).Expect(len(checks(t, collector))).To(BeNumerically("<=", 1), "checks at a time")
	}
	NewWithT(t).Eventually(func() int64 { return get(t, collector, "", &v1alpha1.Collector{}).Status.ObservedGeneration }).Should(
		Equal(get(t, collector, "", &v1alpha1.Collector{}).Generation))
	last := awaitCheck(t, collector, first.UID)
	NewWithT(t).Eventually(func() []string { return configurationsOf(t, collector) }).Should(
		ConsistOf(filesOf(config), filesOf(config+" # 99")), "none of a check that was replaced")
	acceptCheck(t, last)
	awaitRevision(t, collector, 2)
	secret := get(t, collector, filesOf(config+" # 99"), &corev1.Secret{})
	NewWithT(t).Expect(secret.Data).To(HaveKeyWithValue("config.yaml", []byte(config+" # 99")))
	NewWithT(t).Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Volumes[0].Secret.SecretName).To(Equal(secret.Name))
}

// Not parallel: it kills the shared operator.
func TestAnOperatorThatIsKilledDuringACheckGoesOn(t *testing.T) {
	collector := checked(t, v1alpha1.ModeDeployment)
	reconfigure(t, collector, config+" # killed")
	job := awaitCheck(t, collector)
	if err := shared.kill(); err != nil {
		t.Error(err)
	}
	acceptCheck(t, job)
	forgetLeader(t)
	if err := shared.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitRevision(t, collector, 2)
	awaitTold(t, collector)
	NewWithT(t).Eventually(func() []batchv1.Job { return checks(t, collector) }).Should(BeEmpty())
}

func TestWhatACheckCostsTheAPIServer(t *testing.T) {
	t.Parallel()
	collector := checked(t, v1alpha1.ModeDeployment)
	for i := range 4 { // from the fourth configuration on, the oldest one goes
		since := plane.audit.mark(t)
		reconfigure(t, collector, fmt.Sprintf("%s # %d", config, i))
		acceptCheck(t, awaitCheck(t, collector))
		awaitRevision(t, collector, i+2)
		awaitTold(t, collector)
		NewWithT(t).Eventually(func() []batchv1.Job { return checks(t, collector) }).Should(BeEmpty())
		made := plane.audit.all(t, since, collector.Namespace)
		NewWithT(t).Expect(len(made)).To(BeNumerically("<=", 13), "%v", made)
	}
}

func TestReadyNamesACheckThatAFinalizerHolds(t *testing.T) {
	t.Parallel()
	collector := checked(t, v1alpha1.ModeDeployment)
	reconfigure(t, collector, "other: {}")
	job := awaitCheck(t, collector)
	hold(t, job)
	g := NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), job)).To(Succeed())
	g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(ContainSubstring(
		fmt.Sprintf("Job %q is being deleted, and held by finalizers", job.Name)))
}

// Somebody deletes what a check needs as soon as it is there.
func TestWhatACheckNeedsIsCreatedLessAndLessOften(t *testing.T) {
	t.Parallel()
	for kind, watched := range map[string]client.ObjectList{"Job": &batchv1.JobList{}, "Secret": &corev1.SecretList{}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g, collector := NewWithT(t), checked(t, v1alpha1.ModeDeployment)
			watching, err := client.NewWithWatch(plane.env.Config, client.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			events, err := watching.Watch(t.Context(), watched, client.InNamespace(collector.Namespace))
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(events.Stop)
			var created atomic.Int32
			go func() {
				for event := range events.ResultChan() {
					object, _ := event.Object.(client.Object)
					isOfCheck := kind == "Job" || object != nil && strings.HasSuffix(object.GetName(), filesOf("other: {}"))
					if event.Type == watch.Added && isOfCheck {
						created.Add(1)
						_ = plane.client.Delete(context.Background(), object, client.PropagationPolicy(metav1.DeletePropagationBackground))
					}
				}
			}()
			reconfigure(t, collector, "other: {}")
			g.Eventually(func() string { return condition(t, collector, "Ready").Message }).Should(MatchRegexp(
				`changes %s "gateway-[^"]+" again and again, so the operator repairs it less and less often`, kind))
			g.Consistently(created.Load, 5*time.Second).Should(BeNumerically("<", 10))
		})
	}
}
