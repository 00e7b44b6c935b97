package plan

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/live"
)

// setPods returns pods of a StatefulSet, such as "0 queue" for one that has a volume of that template. "unready", "deleting" can follow,
// "orphan", and "old" for one of an earlier template.
func setPods(texts ...string) (pods []live.Pod) {
	for _, text := range texts {
		ordinal, rest, _ := strings.Cut(text, " ")
		rest, isOld := strings.CutSuffix(rest, " old")
		rest, isOrphan := strings.CutSuffix(rest, "orphan")
		rest, isUnready := strings.CutSuffix(strings.TrimSpace(rest), "unready")
		rest, isDeleting := strings.CutSuffix(strings.TrimSpace(rest), "deleting")
		rest, isBroken := strings.CutSuffix(strings.TrimSpace(rest), "broken")
		revision := "new"
		if isOld {
			revision = "old"
		}
		number, _ := strconv.ParseUint(ordinal, 10, 31)
		pods = append(pods, live.Pod{
			Name: "c-" + ordinal, UID: types.UID("uid-" + ordinal), Ordinal: number, Claims: strings.TrimSpace(rest), Ready: !isUnready, Broken: isBroken, Deleting: isDeleting,
			Revision: revision, Orphan: isOrphan,
		})
	}
	return pods
}

func TestOrphanedPodsGoWithTheirCollectorIfNobodyTakesThemBack(t *testing.T) {
	p := Decide(Situation{
		Deployed: "r1", Deletes: true, Late: true, Unmended: errors.New("quota"),
		View: live.View{Objects: having("Service/c=1"), Orphans: 1, Pods: []live.Pod{{Name: "c-0", Orphan: true}, {Name: "c-1"}}},
	})
	if got := brief(p); got != "Uninstalling\ndelete Pod/c-0\ndelete Service/c" {
		t.Error(got)
	}
}

// StatefulSets whose templates come and go: opentelemetry-operator#1491 and #5329, alloy-operator#155, VictoriaMetrics/operator#1127,
// StarRocks/starrocks-kubernetes-operator#617.
func TestPodsThatLackAClaimAreReplacedOneAfterTheOther(t *testing.T) {
	for name, row := range map[string]struct {
		pods             []live.Pod
		set, state, want string
		available        int32
	}{
		"none lacks one":                                       {setPods("0 queue", "1 queue"), "queue", "", " 0s", 2},
		"the first one goes first":                             {setPods("0", "1", "2"), "queue", "", "c-0 1s", 3},
		"the next one waits for it":                            {setPods("0 queue unready", "1", "2"), "queue", "", " 0s", 2},
		"the next one waits until it is made":                  {setPods("1", "2"), "queue", "", " 1s", 2},
		"it waits until the next one is available":             {setPods("0 queue", "1", "2"), "queue", "", " 0s", 2},
		"then the next one goes":                               {setPods("0 queue", "1", "2"), "queue", "", "c-1 1s", 3},
		"it waits for one that ends":                           {setPods("0 queue", "1", "2 deleting"), "queue", "", " 1s", 3},
		"one that does not serve goes at once":                 {setPods("0 unready", "1 unready"), "queue", "", "c-0 0s", 0},
		"one that is deleted is not deleted again":             {setPods("0 deleting unready", "1"), "queue", "", " 0s", 1},
		"a second claim is lacked, too":                        {setPods("0 queue", "1 queue log"), "log queue", "", "c-0 1s", 2},
		"a claim of no template is no matter":                  {setPods("0 log queue"), "queue", "", " 0s", 1},
		"one that waits for a claim of no template goes":       {setPods("0 log queue broken unready", "1", "2"), "queue", "", "c-0 0s", 2},
		"one that waits for the claim of the last template":    {setPods("0 log broken unready", "1", "2"), "", "", "c-0 0s", 2},
		"one that is broken serves only when it is made anew":  {setPods("0", "1 broken unready", "2"), "queue", "", "c-0 0s", 2},
		"one that is new, and broken, ends it":                 {setPods("0 queue broken unready", "1", "2"), "queue", "", " 0s", 2},
		"one that is old, and broken, goes before it":          {setPods("0 queue broken unready old", "1", "2"), "queue", "", "c-0 0s", 2},
		"one that is old, broken and to stay old is in vain":   {setPods("0 queue broken unready old", "1", "2"), "queue", "partitioned", " 0s", 2},
		"one that no StatefulSet has taken back yet may serve": {setPods("0 unready orphan", "1 unready orphan"), "queue", "", " 1s", 2},
		"what is scaled away goes by itself":                   {setPods("0 queue", "7"), "queue", "", " 0s", 2},
		"the informer cache is behind":                         {setPods("0", "1"), "queue", "stale", " 1s", 2},
		"the StatefulSet is being deleted":                     {setPods("0", "1"), "queue", "deleting", " 0s", 2},
		"the StatefulSet has no claims":                        {setPods("0", "1"), "", "", " 0s", 2},
	} {
		state, isPartitioned := strings.CutPrefix(row.state, "partitioned")
		view := with(having(strings.TrimSpace("StatefulSet/c=1 "+state)), "StatefulSet/c", func(seen *live.Seen) {
			seen.Claims, seen.Replicas, seen.Available, seen.Revision = row.set, 3, row.available, "new"
			if isPartitioned {
				seen.Partition = 1
			}
		})
		for _, refused := range []error{nil, errors.New("no")} {
			p := Decide(Situation{
				Now: noon, Deployed: "r1", Want: wanted("r1", "StatefulSet/c=1"), View: live.View{Objects: view, Pods: row.pods}, Refusal: refused,
			})
			got := ""
			if p.Renews != nil {
				got = p.Renews.Ref.Name()
			}
			if got += " " + p.After.String(); got != row.want {
				t.Errorf("%s (%v): %q, want %q", name, refused, got, row.want)
			}
		}
	}
}
