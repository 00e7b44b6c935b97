package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// CheckError says that a check ended without a verdict. It is tried again, with the delays that follow failures.
type CheckError struct {
	message string
	Job     types.UID
}

// Error names the Job, and says why it has no verdict.
func (e *CheckError) Error() string { return e.message }

// accepts tells whether a Job has accepted what is wanted: it has completed, or an object says so.
func (s *Situation) accepts(job live.Reference) bool {
	for what, seen := range s.View.Objects {
		isThere := seen.IsThere() || what == job && seen.State == live.Deleting // a policy may delete Jobs as soon as they end
		if isThere && (seen.Checked == job.Name() || what == job && seen.Ended.Type == batchv1.JobComplete) {
			return true
		}
	}
	return false
}

// Accepted returns what is wanted without the Job that has accepted it, or nil, and with its name on what it has accepted.
func (w Want) Accepted(job *render.Object) (Want, error) {
	if job == nil {
		return w, nil
	}
	name, rest := job.Ref.Name(), make([]render.Object, 0, len(w.Objects))
	for _, object := range w.Objects {
		if object.Stage == render.Checks {
			continue
		}
		marked, err := object.Accepted(name)
		if err != nil {
			return w, fmt.Errorf("mark %s as checked: %w", object.Ref, err)
		}
		rest = append(rest, marked)
	}
	return Want{w.Hash, rest}, nil
}

// check has a Job check what is wanted. Only what the Job's pod needs and is not there is created, and nothing that serves is touched.
// The Job's end starts the next reconcile.
func (s *Situation) check(job render.Object) Plan {
	p := Plan{Verdict: Checking, Restores: s.Drifts()}
	seen := s.View.Objects[job.Ref]
	if seen.Ended.Type != "" && seen.IsThere() {
		if err := s.refusal(job.Ref, seen); err != nil {
			p.Verdict, p.Err = Refused, err
			return p
		}
	}
	var deletes []apply.Step
	for what, other := range s.View.Objects { // a Collector has one check at a time
		if render.StageOf(what.Kind().Kind) == render.Checks && other.IsThere() && (what != job.Ref || other.Ended.Type != "") {
			deletes = append(deletes, remove(what, other, "another check takes its place"))
		}
	}
	p.add(sorted(deletes))
	p.Orphans = s.orphans()
	var needs []apply.Step
	for i := range s.Want.Objects {
		wanted := &s.Want.Objects[i]
		switch needed := s.View.Objects[wanted.Ref]; {
		case wanted.Stage != render.Mounts:
		case needed.State == live.Contested:
			p.contest(wanted.Ref, needed, s.Now)
		case needed.State == live.Absent, needed.State == live.Lost:
			needs = append(needs, apply.Step{Action: apply.Create, Ref: wanted.Ref, Object: wanted, Reason: "the check needs it"})
		}
	}
	p.add(needs)
	switch {
	case seen.State == live.Deleting:
		p.Note("%s is being deleted%s", job.Ref, heldBy(seen.Finalizers))
	case seen.State == live.Absent, seen.State == live.Lost, seen.Ended.Type != "":
		p.add([]apply.Step{{Action: apply.Create, Ref: job.Ref, Object: &job, Reason: "it has not accepted the change"}})
	case seen.State == live.Contested:
		p.contest(job.Ref, seen, s.Now)
	case seen.State != live.Stale:
		p.awaitCheck(seen, s.Now)
	}
	return p
}

const (
	// slowCheck is how long a Job has before it is asked what keeps its pod from running.
	slowCheck = 3 * time.Second

	// checkPeriod is how often it is asked then.
	checkPeriod = 10 * time.Second
)

// awaitCheck has a Job that runs looked at again: nothing else tells what keeps its pod from running.
func (p *Plan) awaitCheck(job live.Seen, now time.Time) {
	age := now.Sub(job.Created)
	if age < slowCheck {
		p.Sooner(slowCheck - age)
		return
	}
	p.SlowCheck = job.UID
	p.Sooner(checkPeriod)
}

// exited is in what the job controller says of a pod that its failure policy ends the Job for
// (k8s.io/kubernetes, pkg/controller/job, pod_failure_policy.go).
var exited = regexp.MustCompile(`Container (\S+) for pod \S+ failed with exit code (\d+)`)

// Exit codes from firstForeign on are not the collector's own. 126 and 127 are those of a shell or of env that cannot run a command
// (POSIX, 2.8.2). 128 is the runtime's, when it cannot start a container. A higher one is a signal, such as that of the kernel when memory
// is short.
const (
	firstForeign = 126
	firstSignal  = 128
)

// collectorContainer is the container that runs the collector.
const collectorContainer = "collector"

// Exit is a container that ended a Job by its failure policy. It is zero if none did.
type Exit struct {
	Container string
	Code      int
}

// ExitOf returns the container that ended a Job, by the Job's condition.
func ExitOf(reason, message string) Exit {
	found := exited.FindStringSubmatch(message)
	if found == nil || reason != batchv1.JobReasonPodFailurePolicy {
		return Exit{}
	}
	code, err := strconv.Atoi(found[2])
	if err != nil {
		return Exit{}
	}
	return Exit{found[1], code}
}

// Refuses tells that the collector itself says no.
func (e Exit) Refuses() bool { return e.Container == collectorContainer && e.Code < firstForeign }

// Message says why the check has no verdict of the collector itself.
func (e Exit) Message() string {
	switch {
	case e.Container != collectorContainer:
		return fmt.Sprintf("init container %q failed, with exit code %d", e.Container, e.Code)
	case e.Code < firstSignal:
		return fmt.Sprintf("the command of the check cannot run, with exit code %d", e.Code)
	}
	return fmt.Sprintf("killed, with exit code %d", e.Code)
}

// refusal returns the error of a Job that has not accepted the change, or nil if it must be tried again now.
func (s *Situation) refusal(job live.Reference, seen live.Seen) error {
	namespace := s.Want.Has(job).Content.GetNamespace()
	reason := seen.Ended.Reason
	exit := ExitOf(reason, seen.Ended.Message)
	switch {
	case exit.Refuses():
		return &configuration.Error{Field: configuration.Field, Reason: fmt.Sprintf(
			"check exited with %d; run `kubectl logs -n %s job/%s`", exit.Code, namespace, job.Name())}
	case exit.Container != "":
		reason = exit.Message()
	}
	if s.Reported == seen.UID {
		return nil
	}
	return &CheckError{Job: seen.UID, message: fmt.Sprintf(
		"the check has no verdict: %s; the operator tries it again; see `kubectl describe -n %s job/%s`", reason, namespace, job.Name())}
}
