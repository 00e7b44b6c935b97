package claims

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

func TestWhatMakesRoomForAStatefulSet(t *testing.T) {
	refused := errors.New("updates to statefulset spec are forbidden")
	for name, row := range map[string]struct {
		live, wanted, applied *appsv1.StatefulSet
		claims, unbound       []string
		pods                  []live.Pod
		want                  *apply.Old
		wantSizes, wantError  string
	}{
		"claims grow, also those of pods that were scaled away, and no others": {
			live: setWith("1", "queue=1Gi", "log=1Gi"), wanted: setWith("", "queue=2Gi", "log=1Gi"),
			claims: []string{"queue-c-0=1Gi", "queue-c-11=1Gi", "queue-c-2=3Gi", "log-c-0=1Gi", "queue-c-other=1Gi", "queue-other-c-0=1Gi"},
			want: &apply.Old{Ref: theSet, UID: "1", Orphan: true, Grow: []apply.Growth{
				{Claim: "queue-c-0", UID: "uid-of-queue-c-0", Version: "7", Size: "2Gi"},
				{Claim: "queue-c-11", UID: "uid-of-queue-c-11", Version: "7", Size: "2Gi"},
			}}, wantSizes: "queue=2Gi log=1Gi",
		},
		"claims cannot shrink": {
			live: setWith("1", "queue=2Gi"), wanted: setWith("", "queue=1Gi"), claims: []string{"queue-c-0=2Gi"},
			wantError: "spec.volumeClaimTemplates[0].spec.resources.requests.storage: 1Gi is less than before, and a claim cannot shrink; set it to 2Gi or more",
		},
		"claims without a volume need not shrink": {
			live: setWith("1", "queue=2Gi"), wanted: setWith("", "queue=1Gi"), unbound: []string{"queue-c-0=2Gi"},
			want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "queue=1Gi",
		},
		"claims without a volume need not grow": { // which the API server refuses
			live: setWith("1", "queue=1Gi"), wanted: setWith("", "queue=2Gi"), unbound: []string{"queue-c-0=1Gi"},
			want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "queue=2Gi",
		},
		"a claim goes": { // alloy-operator#155
			live: setWith("1", "queue=2Gi", "log=1Gi"), wanted: setWith("", "queue=2Gi"), want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "queue=2Gi",
		},
		"all claims go": {live: setWith("1", "queue=2Gi"), wanted: setWith(""), want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}},
		"a claim comes": { // StarRocks/starrocks-kubernetes-operator#617
			live: setWith("1", "queue=2Gi"), wanted: setWith("", "log=1Gi", "queue=2Gi"), pods: []live.Pod{{Claims: "queue"}},
			want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "queue=2Gi log=1Gi",
		},
		"a claim has another name": {
			live: setWith("1", "queue=2Gi"), wanted: setWith("", "other=2Gi"), want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "other=2Gi",
		},
		"another order is no change": {live: setWith("1", "a=2Gi", "b=1Gi"), wanted: setWith("", "b=1Gi", "a=2Gi"), wantSizes: "a=2Gi b=1Gi"},
		"another class": { // opentelemetry-operator#5329, VictoriaMetrics/operator#1127
			live: setWith("1", "queue=2Gi"), wanted: classed("fast", setWith("", "queue=2Gi")),
			want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "queue=2Gi fast",
		},
		"another class of claims that grow, too": {
			live: classed("slow", setWith("1", "queue=1Gi")), wanted: classed("fast", setWith("", "queue=2Gi")), claims: []string{"queue-c-0=1Gi"},
			want: &apply.Old{Ref: theSet, UID: "1", Orphan: true, Grow: []apply.Growth{
				{Claim: "queue-c-0", UID: "uid-of-queue-c-0", Version: "7", Size: "2Gi"},
			}}, wantSizes: "queue=2Gi fast",
		},
		"a claim comes, and the owner deletes pods": {
			live: setWith("1"), wanted: byHand(setWith("", "queue=2Gi")), pods: []live.Pod{{}},
			wantError: "spec.volumeClaimTemplates: StatefulSet \"c\" has pods without the claim queue, and makes none before they are replaced; " +
				"set updateStrategy.type to RollingUpdate until they are",
		},
		"a claim comes, and there are no pods": {
			live: setWith("1"), wanted: byHand(setWith("", "queue=2Gi")), want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "queue=2Gi",
		},
		"what a refused change has brought goes again": {
			live: setWith("1", "queue=1Gi", "log=1Gi"), wanted: setWith("", "queue=1Gi"), applied: setWith("", "queue=1Gi"),
			pods: []live.Pod{{Claims: "queue"}}, want: &apply.Old{Ref: theSet, UID: "1", Orphan: true}, wantSizes: "queue=1Gi",
		},
		"what a webhook has brought stays": {
			live: setWith("1", "queue=1Gi", "log=1Gi"), wanted: setWith("", "queue=1Gi"), applied: setWith("", "queue=1Gi"),
			pods: []live.Pod{{Claims: "log queue"}}, wantSizes: "queue=1Gi log=1Gi",
		},
		"another field than claims is refused": {live: setWith("1", "queue=2Gi"), wanted: setWith("", "queue=2Gi"), wantError: refused.Error()},
		"another StatefulSet of that name is not what was refused": {
			live: setWith("2", "queue=1Gi"), wanted: setWith("", "queue=2Gi"), wantError: refused.Error(),
		},
		"one that has gone is not what was refused": {wantError: refused.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			found := apply.Immutable{Err: refused, Live: row.live, Wanted: row.wanted, Applied: row.applied, Claims: bound(row.claims...)}
			for _, claim := range row.unbound {
				found.Claims = append(found.Claims, claimOf(claim))
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(row.wanted)
			if row.wanted != nil && err != nil {
				t.Fatal(err)
			}
			next, old, err := Followed(&render.Object{Ref: theSet, Content: &unstructured.Unstructured{Object: content}}, "1", found, row.pods)
			if row.wantError != "" {
				if err == nil || err.Error() != row.wantError {
					t.Errorf("error %v, want %s", err, row.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, old, cmp.Comparer(func(a, b live.Reference) bool { return a == b })); diff != "" {
				t.Errorf("old (-want +got):\n%s", diff)
			}
			if sizes := sizesOf(t, next); sizes != row.wantSizes {
				t.Errorf("templates %q, want %q", sizes, row.wantSizes)
			}
		})
	}
}
