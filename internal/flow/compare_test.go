package flow

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestThePodsOfACanaryAreComparedWithOthers(t *testing.T) {
	const (
		flows, fails, drops, loses = v1alpha1.ReasonFlowing, v1alpha1.ReasonExportFails, v1alpha1.ReasonAllDropped, v1alpha1.ReasonPartlyDropped
		none, unreachable, full    = v1alpha1.ReasonNoTraffic, v1alpha1.ReasonUnreachable, v1alpha1.ReasonQueueFilling
	)
	message := func(reason string) string { return conditionFor(reason).Message }
	for name, row := range map[string]struct {
		pods, others []string
		want         Comparison
	}{
		"nothing is known of pods without verdicts":           {nil, []string{flows}, Comparison{}},
		"data flows through both":                             {[]string{flows}, []string{flows, flows}, Comparison{IsKnown: true}},
		"a part is lost, and the others lose nothing":         {[]string{loses}, []string{flows}, Comparison{IsKnown: true, Worse: message(loses)}},
		"the others lose as much":                             {[]string{loses}, []string{flows, loses}, Comparison{IsKnown: true}},
		"the others lose less":                                {[]string{drops}, []string{loses}, Comparison{IsKnown: true, Worse: message(drops)}},
		"the others lose more":                                {[]string{loses}, []string{fails}, Comparison{IsKnown: true}},
		"what is sent to is down for all":                     {[]string{fails}, []string{fails, fails}, Comparison{IsKnown: true}},
		"one of two loses data":                               {[]string{flows, loses}, []string{flows}, Comparison{IsKnown: true, Worse: message(loses)}},
		"data is lost, and nothing is known of others":        {[]string{fails}, nil, Comparison{IsKnown: true, Worse: message(fails)}},
		"data is lost, and the others are silent":             {[]string{drops}, []string{none}, Comparison{IsKnown: true, Worse: message(drops)}},
		"a queue that is nearly full is no loss":              {[]string{full}, []string{flows}, Comparison{IsKnown: true}},
		"silence beside pods with data":                       {[]string{none}, []string{none, flows}, Comparison{IsKnown: true, IsSilent: true}},
		"no answer beside pods with data":                     {[]string{unreachable}, []string{flows}, Comparison{IsKnown: true, IsSilent: true}},
		"silence beside pods whose data is lost":              {[]string{none}, []string{fails}, Comparison{IsKnown: true, IsSilent: true}},
		"all are silent":                                      {[]string{none}, []string{none, unreachable}, Comparison{IsKnown: true}},
		"one of two has data":                                 {[]string{none, flows}, []string{flows}, Comparison{IsKnown: true}},
		"a reason of another version is as good as no answer": {[]string{"Later"}, []string{none}, Comparison{IsKnown: true}},
	} {
		if got := Compare(row.pods, row.others); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}

func TestAPodOfACanaryIsAskedFirstUntilItHasAVerdict(t *testing.T) {
	known := memory{pods: []pod{{uid: "a", read: 1, verdict: 6}, {uid: "b", read: 2, verdict: 6}, {uid: "c", read: 3}}}
	if got := known.next([]types.UID{"a", "b", "c"}, "c"); got[0] != "c" || got[1] != "a" {
		t.Errorf("asked %v, want c and a", got)
	}
	known.pods[2].verdict = 6
	if got := known.next([]types.UID{"a", "b", "c"}, "c"); got[0] != "a" || got[1] != "b" {
		t.Errorf("asked %v, want a and b", got)
	}
}
