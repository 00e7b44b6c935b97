package plan

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube8/kube8-operator/internal/live"
)

// The deployed revision is mended by the plan that goes forward, or does not.
func TestDecideHowWhatServesIsMended(t *testing.T) {
	lost := live.View{Objects: having("Service/c=1 lost", "Deployment/c=1")}
	half := live.View{Objects: having("Service/c=2", "Deployment/c=1")}
	deployed := wanted("r1", "Service/c=1", "Deployment/c=1")
	quota := errors.New("exceeded quota")
	serving := with(having("Deployment/c=2"), "Deployment/c", func(seen *live.Seen) { seen.Replicas, seen.Serves = 1, true })
	decisions{
		"its record is read only where something has drifted": {
			Situation{
				Deployed: "r1", Refusal: quota, Want: wanted("r2", "Service/c=1", "Deployment/c=2"),
				View: live.View{Objects: having("Service/c=1", "Deployment/c=1")},
			},
			"Refused\nerror: exceeded quota",
		},
		"a lost object is created again while nothing can be rendered": {
			Situation{Deployed: "r1", Refusal: quota, View: lost, Accepted: &Accepted{Recorded: deployed, Want: deployed}},
			"Refused, restores\nmend: create Service/c\nerror: exceeded quota",
		},
		"what a revision has changed that is refused half way is changed back": {
			Situation{
				Deployed: "r1", Refusal: quota, Begun: true, Want: wanted("r2", "Service/c=2", "Deployment/c=2"), View: half,
				Accepted: &Accepted{Recorded: deployed, Want: deployed},
			},
			"Refused, restores\nmend: change Service/c\nerror: exceeded quota",
		},
		"nothing is changed back that is as it was": {
			Situation{
				Deployed: "r1", Refusal: quota, Begun: true, Want: wanted("r2", "Service/c=2", "Deployment/c=2"),
				View: live.View{Objects: having("Service/c=1", "Deployment/c=1")}, Accepted: &Accepted{Recorded: deployed, Want: deployed},
			},
			"Refused, restores\nerror: exceeded quota",
		},
		"what a refused revision has created beside it goes": {
			Situation{
				Deployed: "r1", Refusal: quota, Begun: true, Accepted: &Accepted{Recorded: deployed, Want: deployed},
				View: live.View{Objects: with(having("Service/c=1", "Deployment/c=1", "Ingress/c=1"), "Ingress/c",
					func(seen *live.Seen) { seen.Pending = true })},
			},
			"Refused, restores\nmend: delete Ingress/c\nerror: exceeded quota",
		},
		"an object is created again beside a change that waits for its turn": {
			Situation{
				Deployed: "r1", ByOperator: true, Want: wanted("r2", "Service/c=1", "Deployment/c=2"), View: lost,
				Accepted: &Accepted{Recorded: deployed, Want: deployed},
			},
			"Deferred, restores\nmend: create Service/c",
		},
		"an object is created again beside a check": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Service/c=1", "Job/c-check=1", "Deployment/c=2"), View: lost,
				Accepted: &Accepted{Recorded: deployed, Want: deployed},
			},
			"Checking, restores\ncreate Job/c-check\nmend: create Service/c",
		},
		"a check uses what is lost as the deployed revision has it": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=2", "Secret/c-2=2", "Job/c-check=1", "Deployment/c=2"),
				View:     live.View{Objects: having("ServiceAccount/c=1 lost", "Deployment/c=1")},
				Accepted: &Accepted{Want: wanted("r1", "ServiceAccount/c=1", "Deployment/c=1")},
			},
			"Checking, restores\ncreate Secret/c-2\ncreate Job/c-check\nmend: create ServiceAccount/c",
		},
		"a check uses what is lost as the change has it, if that cannot be mended": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "ServiceAccount/c=2", "Job/c-check=1", "Deployment/c=2"), Unmended: errors.New("denied"),
				View: live.View{Objects: having("ServiceAccount/c=1 lost", "Deployment/c=1")},
			},
			"Checking, restores\ncreate ServiceAccount/c\ncreate Job/c-check\nunmended: denied",
		},
		"nothing is restored from a record that is not what the status says": {
			Situation{Deployed: "r1", Refusal: quota, View: lost, Accepted: &Accepted{Err: errors.New("another version has written it")}},
			"Refused, restores\nerror: exceeded quota\nunmended: another version has written it",
		},
		"what could not be mended waits for the end of the delay": {
			Situation{Deployed: "r1", Refusal: quota, View: lost, Unmended: errors.New("denied")},
			"Refused, restores\nerror: exceeded quota\nunmended: denied",
		},
		"pods get their StatefulSet back from the record before the Collector goes": {
			Situation{
				Deployed: "r1", Deletes: true, View: live.View{Objects: having("Service/c=1"), Orphans: 2},
				Accepted: &Accepted{Recorded: wanted("r1", "StatefulSet/c=1"), Want: wanted("r1", "StatefulSet/c=1")},
			},
			"Uninstalling, restores\nmend: create StatefulSet/c with 2 pods\nerror: the deployed StatefulSet takes its pods back before it goes",
		},
		"pods that look like those of a StatefulSet keep no Collector whose record has a Deployment": {
			Situation{
				Deployed: "r1", Deletes: true, View: live.View{Objects: having("Service/c=1"), Orphans: 2},
				Accepted: &Accepted{Recorded: deployed, Want: deployed},
			},
			"Uninstalling\ndelete Service/c",
		},
		"pods of an earlier StatefulSet go with a Collector whose record has a Deployment": {
			Situation{
				Deployed: "r1", Deletes: true, Accepted: &Accepted{Recorded: deployed, Want: deployed},
				View: live.View{Objects: having("StatefulSet/c=1 lost"), Orphans: 1, Pods: []live.Pod{{Name: "c-0", Orphan: true}}},
			},
			"Uninstalling\ndelete Pod/c-0",
		},
		"pods whose StatefulSet cannot be created keep the Collector for a while": {
			Situation{
				Deployed: "r1", Deletes: true, View: live.View{Objects: having("Service/c=1"), Orphans: 2}, Unmended: quota,
				Accepted: &Accepted{Recorded: wanted("r1", "StatefulSet/c=1"), Want: wanted("r1", "StatefulSet/c=1")},
			},
			"Uninstalling\nerror: pods run without their StatefulSet, and would stay: exceeded quota",
		},
		"pods whose StatefulSet cannot be created serve until another kind does": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2"), Unmended: quota,
				View: live.View{Objects: having("StatefulSet/c=1 lost"), Orphans: 1, Pods: []live.Pod{{Name: "c-0", Orphan: true}}},
			},
			"Upgrade\nadopt StatefulSet/c\ncreate Deployment/c with 1 pods\nmessage: Pod \"c-0\" serves until Deployment \"c\" does",
		},
		"and go then": {
			Situation{
				Deployed: "r2", Want: wanted("r2", "Deployment/c=2"),
				View: live.View{Objects: serving, Orphans: 1, Pods: []live.Pod{{Name: "c-0", Orphan: true}}},
			},
			"InSync\ndelete Pod/c-0",
		},
		"pods whose StatefulSet may be created soon wait for that": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2"), Unmended: apierrors.NewInternalError(errors.New("no answer")),
				View: live.View{Objects: having("StatefulSet/c=1 lost"), Orphans: 1, Pods: []live.Pod{{Name: "c-0", Orphan: true}}},
			},
			"Deferred, restores\nmessage: the deployed StatefulSet takes its pods back before the mode changes\n" +
				"unmended: Internal error occurred: no answer",
		},
		"a change is not accepted without a proof because a record cannot be read for a moment": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "Deployment/c=2"), Unmended: apierrors.NewInternalError(errors.New("no answer")),
				View:   live.View{Objects: with(having("Deployment/c=1 deleting"), "Deployment/c", func(seen *live.Seen) { seen.Replicas = 4 })},
				Canary: &Canary{Pods: intstr.FromInt32(1), Template: "old"},
			},
			"Deferred, restores\nmessage: Deployment \"c\" of the deployed revision comes back before the change is proven\n" +
				"unmended: Internal error occurred: no answer",
		},
		"a StatefulSet that is only gone comes back before the change is proven": {
			changed(canaryOf("StatefulSet", nil), func(s *Situation) {
				delete(s.View.Objects, ref("StatefulSet/c"))
				s.View.Orphans = 4
			}),
			"Deferred, restores\nmessage: StatefulSet \"c\" of the deployed revision comes back before the change is proven",
		},
		"a StatefulSet that cannot come back as it was takes its pods back with the canary": {
			changed(canaryOf("StatefulSet", nil), func(s *Situation) {
				delete(s.View.Objects, ref("StatefulSet/c"))
				s.View.Orphans, s.Unmended = 4, quota
			}),
			"Proving\ntry Service/c\ncreate Secret/c-2\ncreate StatefulSet/c with 4 pods",
		},
		"a StatefulSet that the deployed revision does not have takes its pods back with the canary": {
			changed(canaryOf("StatefulSet", nil), func(s *Situation) {
				delete(s.View.Objects, ref("StatefulSet/c"))
				s.View.Orphans, s.Accepted = 4, &Accepted{Recorded: deployed, Want: deployed}
			}),
			"Proving\ntry Service/c\ncreate Secret/c-2\ncreate StatefulSet/c with 4 pods",
		},
		"a mode does not wait for a StatefulSet that the deployed revision does not have": {
			Situation{
				Deployed: "r1", Want: wanted("r2", "DaemonSet/c=2"), Accepted: &Accepted{Recorded: deployed, Want: deployed},
				View: live.View{Objects: having("StatefulSet/c=1 lost", "Deployment/c=1"), Orphans: 1},
			},
			"Upgrade\nadopt StatefulSet/c\ncreate DaemonSet/c",
		},
		"and no longer": {
			Situation{
				Deployed: "r1", Deletes: true, Late: true, View: live.View{Objects: having("Service/c=1"), Orphans: 2}, Unmended: quota,
				Accepted: &Accepted{Recorded: wanted("r1", "StatefulSet/c=1"), Want: wanted("r1", "StatefulSet/c=1")},
			},
			"Uninstalling\ndelete Service/c",
		},
	}.run(t)
}

func TestTheRecordOfWhatIsDeployedIsAskedForOnce(t *testing.T) {
	s := Situation{Deployed: "r1", Refusal: errors.New("no"), View: live.View{Objects: having("Service/c=1 lost", "Deployment/c=1")}}
	if p := Decide(s); !p.Recalls || len(p.Mends) > 0 {
		t.Errorf("without the record: %+v", p)
	}
	s.Accepted = &Accepted{Want: wanted("r1", "Service/c=1", "Deployment/c=1")}
	if p := Decide(s); p.Recalls || len(p.Mends) != 1 {
		t.Errorf("with the record: %+v", p)
	}
}
