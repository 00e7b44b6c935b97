package plan

import (
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
)

func TestDecideWhatWaits(t *testing.T) {
	serving := having("ServiceAccount/c=1", "Secret/c-1=1", "Service/c=1", "Deployment/c=1")
	ended := func(state batchv1.JobConditionType, reason, message string) func(*live.Seen) {
		return func(seen *live.Seen) {
			seen.Ended = batchv1.JobCondition{Type: state, Reason: reason, Message: message}
		}
	}
	decisions{
		"a change of the operator waits for its turn": {
			Situation{
				Deployed: "r1", ByOperator: true, Want: wanted("r2", "Deployment/c=2"), View: live.View{Objects: having("Deployment/c=1")},
			},
			"Deferred",
		},
		"the deployed revision is repaired while a change of the operator waits": {
			Situation{
				Deployed: "r1", ByOperator: true, Want: wanted("r2", "Deployment/c=2"),
				View: live.View{Objects: having("Service/c=1 lost", "Deployment/c=1")},
			},
			"Deferred, restores",
		},
		"a change of the operator is deployed when its turn comes": {
			Situation{
				Deployed: "r1", ByOperator: true, Turn: true, Want: wanted("r2", "Deployment/c=2"), View: live.View{Objects: having("Deployment/c=1")},
			},
			"Upgrade\nchange Deployment/c",
		},
		"what was refused last comes before what serves is changed, and all else is tried before": {
			Situation{
				Deployed: "r1", Refused: ref("Ingress/c"), Want: wanted("r2", "Secret/c-2=1", "Service/c=2", "Deployment/c=2", "Ingress/c=1"),
				View: live.View{Objects: having("Service/c=1", "Deployment/c=1")},
			},
			"Upgrade\ntry Service/c, try Deployment/c, try Ingress/c\ncreate Secret/c-2\ncreate Ingress/c\nchange Service/c\nchange Deployment/c",
		},
		"what was refused last is tried before what pods use is changed, and a claim grows last": {
			Situation{
				Deployed: "r1", Refused: ref("Deployment/c"),
				Want: wanted("r2", "PersistentVolumeClaim/c=2", "ServiceAccount/c=2", "Secret/c-2=1", "Deployment/c=2"),
				View: live.View{
					Objects: having("PersistentVolumeClaim/c=1", "ServiceAccount/c=1", "Secret/c-1=1", "Deployment/c=1"),
					Used:    used("PersistentVolumeClaim/c", "ServiceAccount/c", "Secret/c-1"),
				},
			},
			"Upgrade\ntry Deployment/c, try PersistentVolumeClaim/c\ncreate Secret/c-2\nchange ServiceAccount/c\nchange Deployment/c\n" +
				"change PersistentVolumeClaim/c",
		},
		"a claim that nobody uses is tried, too, before a workload is changed": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "PersistentVolumeClaim/c=2", "Deployment/c=2"),
				View: live.View{Objects: having("PersistentVolumeClaim/c=1", "Deployment/c=1")},
			},
			"Upgrade\ntry PersistentVolumeClaim/c\nchange Deployment/c\nchange PersistentVolumeClaim/c",
		},
		"a claim that something else has grown keeps its size when anything else changes": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "PersistentVolumeClaim/c=2"), View: live.View{Objects: having("PersistentVolumeClaim/c=1")},
				Immutable: apply.Immutables{ref("PersistentVolumeClaim/c"): {
					Err: errors.New("it is less than status.capacity"), Before: &wanted("r1", "PersistentVolumeClaim/c=1").Objects[0],
					Claims: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{UID: "uid-of-PersistentVolumeClaim/c"}}},
				}},
			},
			"Upgrade\nchange PersistentVolumeClaim/c",
		},
		"nothing takes the place of a claim that cannot shrink": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "PersistentVolumeClaim/c=2"), View: live.View{Objects: having("PersistentVolumeClaim/c=1")},
				Immutable: apply.Immutables{ref("PersistentVolumeClaim/c"): {Err: errors.New("it is less than status.capacity")}},
			},
			"Refused, restores\nerror: it is less than status.capacity",
		},
		"what a change has created goes when that is taken back, but nothing that pods mount": {
			Situation{
				Deployed: "r1", Restores: true, Want: wanted("r1", "Secret/c-1=1", "Deployment/c=1"),
				View: live.View{Objects: with(with(having("Secret/c-1=1", "Secret/c-2=1", "Ingress/mine=1", "NetworkPolicy/c=1", "Deployment/c=2"),
					"NetworkPolicy/c", func(seen *live.Seen) { seen.Pending = true }), "Secret/c-2", func(seen *live.Seen) { seen.Pending = true })},
			},
			"Drifted\nchange Deployment/c\ndelete NetworkPolicy/c",
		},
		"a check gets what its pod needs, and nothing that serves changes": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=2", "Secret/c-2=2", "Job/c-check=1", "Service/c=2", "Deployment/c=2"),
				View: live.View{Objects: serving, Used: used("ServiceAccount/c", "Secret/c-1")},
			},
			"Checking\ncreate Secret/c-2\ncreate Job/c-check",
		},
		"a check takes the place of an earlier one, with all that this has left": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Secret/c-3=1", "Job/c-new=1", "Deployment/c=2"),
				View: live.View{
					Objects: with(having("Secret/c-1=1", "Secret/c-2=1", "Job/c-old=1", "Job/c-older=1 lost", "Deployment/c=1"),
						"Secret/c-2", func(seen *live.Seen) { seen.Pending = true }), Used: used("Secret/c-1"),
				},
			},
			"Checking\ndelete Secret/c-2\ndelete Job/c-old\ncreate Secret/c-3\ncreate Job/c-new",
		},
		"a check that runs is waited for": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"), View: live.View{Objects: having("Job/c-check=1", "Deployment/c=1")},
			},
			"Checking",
		},
		"a check that the informer cache does not show yet is waited for": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"), View: live.View{Objects: having("Job/c-check=1 stale", "Deployment/c=1")},
			},
			"Checking",
		},
		"a check that somebody deletes again and again is created later": {
			Situation{
				Now: noon, Deployed: "r1", Want: wanted("r2", "Secret/c-2=1", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: having("Secret/c-2=1 contested", "Job/c-check=1 contested", "Deployment/c=1")},
			},
			"Checking\n" + `message: rival changes Secret "c-2" again and again, so the operator repairs it less and less often`,
		},
		"a check in deletion is waited for, and the deployed revision repaired": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: having("Job/c-check=1 deleting", "Service/c=1 lost", "Deployment/c=1")},
			},
			"Checking, restores\n" + `message: Job "c-check" is being deleted`,
		},
		"what a check has accepted is deployed, and its Job goes": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check", ended(batchv1.JobComplete, "", ""))},
			},
			"Upgrade\nchange Deployment/c\ndelete Job/c-check",
		},
		"what a check has accepted is deployed also while its Job is being deleted": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: with(having("Job/c-check=1 deleting", "Deployment/c=1"), "Job/c-check", ended(batchv1.JobComplete, "", ""))},
			},
			"Upgrade\nchange Deployment/c",
		},
		"what was checked before needs no other check": {
			Situation{
				Deployed: "r2", Want: wanted("r1", "Secret/c-1=1", "Job/c-check=1", "Deployment/c=1"),
				View: live.View{Objects: with(having("Secret/c-1=1", "Deployment/c=2"), "Secret/c-1", func(seen *live.Seen) { seen.Checked = "c-check" })},
			},
			"Upgrade\nchange Deployment/c",
		},
		"the deployed revision needs no check when it is repaired": {
			Situation{
				Deployed: "r1", Want: wanted("r1", "Job/c-check=1", "Service/c=1", "Deployment/c=1"),
				View: live.View{Objects: having("Service/c=1", "Deployment/c=1 lost")},
			},
			"Drifted\ncreate Deployment/c",
		},
		"a check that has refused stays refused": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check",
					ended(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "Container collector for pod a/b failed with exit code 3 matching FailJob rule"))},
			},
			"Refused\nerror: spec.collector.configuration: check exited with 3; run `kubectl logs -n acme job/c-check`",
		},
		"a check that was killed has no verdict": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check",
					ended(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "Container collector for pod a/b failed with exit code 137 matching FailJob rule"))},
			},
			"Refused\nerror: the check has no verdict: killed, with exit code 137; the operator tries it again; see `kubectl describe -n acme job/c-check`",
		},
		"a check whose init container fails has no verdict": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check",
					ended(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy, "Container setup for pod a/b failed with exit code 3 matching FailJob rule at index 2"))},
			},
			"Refused\nerror: the check has no verdict: init container \"setup\" failed, with exit code 3; the operator tries it again; " +
				"see `kubectl describe -n acme job/c-check`",
		},
		"a check without a verdict waits for the delay": {
			Situation{
				Deployed: "r1", Failed: errors.New("no verdict"), Reported: "uid-of-Job/c-check", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check", ended(batchv1.JobFailed, "DeadlineExceeded", ""))},
			},
			"Refused\nerror: no verdict",
		},
		"a check without a verdict is tried again after the delay": {
			Situation{
				Deployed: "r1", Reported: "uid-of-Job/c-check", Want: wanted("r2", "Job/c-check=1", "Deployment/c=2"),
				View: live.View{Objects: with(having("Job/c-check=1", "Deployment/c=1"), "Job/c-check", ended(batchv1.JobFailed, "DeadlineExceeded", ""))},
			},
			"Checking\ndelete Job/c-check\ncreate Job/c-check",
		},
		"what was refused is not tried again before the delay is over, and the deployed revision is repaired": {
			Situation{
				Deployed: "r1", Failed: errors.New("exceeded quota"), ByOperator: true, Want: wanted("r2", "Deployment/c=2"),
				View: live.View{Objects: having("Service/c=1 lost", "Deployment/c=1")},
			},
			"Refused, restores\nerror: exceeded quota",
		},
		"a change of the operator that is refused waits for its turn, and the deployed revision is repaired": {
			Situation{
				Deployed: "r1", Refusal: errors.New("no YAML"), ByOperator: true, View: live.View{Objects: having("Service/c=1 lost", "Deployment/c=1")},
			},
			"Deferred, restores",
		},
		"a change of the operator is refused when its turn has come": {
			Situation{
				Deployed: "r1", Refusal: errors.New("no YAML"), ByOperator: true, Turn: true, View: live.View{Objects: having("Service/c=1", "Deployment/c=1")},
			},
			"Refused\nerror: no YAML",
		},
		"drift is repaired although a change was refused before": {
			Situation{
				Deployed: "r1", Failed: errors.New("exceeded quota"), Want: wanted("r1", "Deployment/c=1"), View: live.View{Objects: having("Deployment/c=1 lost")},
			},
			"Drifted\ncreate Deployment/c",
		},
		"what is created when it has gone is tried before anything that serves changes": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Service/c=2", "Deployment/c=2"),
				View: live.View{Objects: having("Service/c=1", "Deployment/c=1 deleting")},
			},
			"Upgrade\ntry Deployment/c\nchange Service/c\n" +
				`message: Deployment "c" is being deleted; the operator creates it again when it has gone`,
		},
		"a revision that is applied in part is applied": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Secret/c-2=2", "Deployment/c=2"),
				View: live.View{Objects: having("Secret/c-2=2 unknown", "Deployment/c=1 unknown")},
			},
			"Upgrade\ntry Deployment/c\nchange Secret/c-2\nchange Deployment/c",
		},
		"pods get their StatefulSet back before the Collector goes, also late": {
			Situation{
				Deployed: "r1", Deletes: true, Late: true,
				View: live.View{Objects: having("Service/c=1", "StatefulSet/c=1 lost"), Orphans: 2},
			},
			"Uninstalling, restores\nerror: the deployed StatefulSet takes its pods back before it goes",
		},
		"a Collector that is late goes with a StatefulSet that does not take its pods back": {
			Situation{
				Deployed: "r1", Deletes: true, Late: true, View: live.View{Objects: having("StatefulSet/c=1"), Orphans: 2},
			},
			"Uninstalling\ndelete StatefulSet/c",
		},
		"claims stay if the spec says so when the Collector is deleted": {
			Situation{Deletes: true, Retains: true, View: live.View{Objects: having("Service/c=1", "StatefulSet/c=1")}},
			"Uninstalling\ndelete StatefulSet/c without its claims\ndelete Service/c",
		},
		"a Collector keeps what the pods of a workload use that it no longer controls": {
			Situation{Deletes: true, Disowned: []live.Reference{ref("Deployment/c")}, View: live.View{Objects: having("Secret/c-1=1")}},
			"Uninstalling\nerror: the Collector no longer controls Deployment \"c\", whose pods use what goes with the Collector; " +
				"give it its owner reference back, or delete it",
		},
		"a Collector that is late goes also with what such pods use": {
			Situation{
				Deletes: true, Late: true, Disowned: []live.Reference{ref("Deployment/c")},
				View: live.View{Objects: having("Secret/c-1=1")},
			},
			"Uninstalling\ndelete Secret/c-1\nmessage: the Collector no longer controls Deployment \"c\", whose pods use what goes with " +
				"the Collector; give it its owner reference back, or delete it",
		},
		"a Collector that is being deleted loses all that it has, and workloads first": {
			Situation{Deletes: true, View: live.View{Objects: having("Service/c=1", "Deployment/c=1", "Secret/c-1=1 deleting", "Ingress/c=1 lost")}},
			"Uninstalling\ndelete Deployment/c\ndelete Service/c",
		},
	}.run(t)
}
