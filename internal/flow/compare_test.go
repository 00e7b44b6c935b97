package flow

import (
	"testing"

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
		"silence beside pods with data":                       {[]string{none}, []string{none, flows, flows}, Comparison{IsKnown: true, IsSilent: true}},
		"silence beside a standby that is as silent":          {[]string{none}, []string{none, flows}, Comparison{IsKnown: true}},
		"no answer beside a standby that is silent":           {[]string{unreachable}, []string{none, flows}, Comparison{IsKnown: true, IsSilent: true}},
		"silence beside pods that do not answer":              {[]string{none}, []string{unreachable, unreachable, flows}, Comparison{IsKnown: true, IsSilent: true}},
		"no answer beside pods with data":                     {[]string{unreachable}, []string{flows}, Comparison{IsKnown: true, IsSilent: true}},
		"silence beside pods whose data is lost":              {[]string{none}, []string{fails}, Comparison{IsKnown: true, IsSilent: true}},
		"all are silent":                                      {[]string{none}, []string{none, unreachable}, Comparison{IsKnown: true}},
		"one of two has data":                                 {[]string{none, flows}, []string{flows}, Comparison{IsKnown: true}},
		"a reason of another version is as good as no answer": {[]string{"Later"}, []string{none}, Comparison{IsKnown: true}},
	} {
		if got := Compare(verdictsOf(row.pods), verdictsOf(row.others), len(row.others) == 0); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}

func TestAVerdictCountsOnceOthersHaveOneOfTheSameTime(t *testing.T) {
	flows, fails, loses, none := codeOf("Flowing"), codeOf("ExportFails"), codeOf("PartlyDropped"), codeOf("NoTraffic")
	bad, part := states[fails].message, states[loses].message
	for name, row := range map[string]struct {
		pod    Verdict
		others []Verdict
		want   Comparison
	}{
		"nothing was heard of others since":  {Verdict{is: fails, of: run{since: 5}}, []Verdict{{is: flows, latest: 4}}, Comparison{Doubt: bad}},
		"another one is well since":          {Verdict{is: fails, of: run{since: 5}}, []Verdict{{is: flows, latest: 5}}, Comparison{IsKnown: true, Worse: bad}},
		"one is silent since, as before":     {Verdict{is: fails, of: run{since: 5}}, []Verdict{{is: none, latest: 9}, {is: flows, latest: 4}}, Comparison{Doubt: bad}},
		"all others are silent":              {Verdict{is: fails, of: run{since: 5}}, []Verdict{{is: none, latest: 9}}, Comparison{IsKnown: true, Worse: bad}},
		"another one is as bad":              {Verdict{is: fails, of: run{since: 5}}, []Verdict{{is: fails, latest: 5}}, Comparison{IsKnown: true}},
		"another one was as bad before":      {Verdict{is: fails, of: run{since: 5}}, []Verdict{{is: fails, latest: 4}, {is: flows, latest: 5}}, Comparison{IsKnown: true, Worse: bad}},
		"no other one has a verdict yet":     {Verdict{is: fails, of: run{since: 5}}, nil, Comparison{Doubt: bad}},
		"what is bad gets better":            {Verdict{is: fails, of: run{since: 5}, isWaning: true}, []Verdict{{is: flows, latest: 5}}, Comparison{}},
		"silence, and none of the others":    {Verdict{is: none, of: run{since: 5}}, []Verdict{{is: flows, latest: 4}}, Comparison{}},
		"silence, and others have data":      {Verdict{is: none, of: run{since: 5}}, []Verdict{{is: flows, latest: 5}}, Comparison{IsKnown: true, IsSilent: true}},
		"silence that ends, and data beside": {Verdict{is: none, of: run{since: 5}, isWaning: true}, []Verdict{{is: flows, latest: 5}}, Comparison{}},
		"a part that is not much more": {Verdict{is: loses, of: run{least: 0.11}}, []Verdict{{is: loses, lost: 0.02}},
			Comparison{IsKnown: true}},
		"a part that is more": {Verdict{is: loses, of: run{least: 0.6}}, []Verdict{{is: loses, lost: 0.02}, {is: flows}},
			Comparison{IsKnown: true, Worse: part + " (60% here, 2% in the others)"}},
	} {
		if got := Compare([]Verdict{row.pod}, row.others, false); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}

// verdictsOf returns verdicts of the same windows.
func verdictsOf(reasons []string) (made []Verdict) {
	for _, reason := range reasons {
		made = append(made, Verdict{is: codeOf(reason)})
	}
	return made
}
