package status_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// The stock reconciler drops the field each time, because it does not know it.
func TestTheStatusSaysWhatWasTrueBeforeAChangeOfTheOperator(t *testing.T) {
	const (
		ready    = `{type: Ready, status: "True", lastTransitionTime: "2026-02-01T00:00:00Z"}`
		notReady = `{type: Ready, status: "False", lastTransitionTime: "2026-02-01T00:00:00Z"}`
		paused   = `{type: Paused, status: "True", lastTransitionTime: "2026-02-01T00:00:00Z"}`
		failed   = `{type: ReleaseFailed, status: "True", lastTransitionTime: "2026-02-01T00:00:00Z"}`
		leftOut  = `{type: UpdatePending, status: "True", reason: LeftOut, message: held, lastTransitionTime: "2026-02-01T00:00:00Z"}`
	)
	turn := func(reason string) *v1alpha1.Condition {
		return &v1alpha1.Condition{Type: v1alpha1.UpdatePending, Reason: reason}
	}
	was := func(isReady, flowed bool) any { return map[string]any{"ready": isReady, "dataFlowing": flowed} }
	for name, row := range map[string]struct {
		stored, updated string // a status, and the conditions of the next one
		update          *v1alpha1.Condition
		want            any
	}{
		"while the change waits, nothing": {"conditions: [" + ready + "]", "", turn(v1alpha1.ReasonWaiting), nil},
		"when its turn comes, that it was ready": {
			"conditions: [" + ready + "]", "", turn(v1alpha1.ReasonRollingOut), was(true, false),
		},
		"when its turn comes, that it was not ready": {
			"conditions: [" + notReady + "]", "", turn(v1alpha1.ReasonRollingOut), was(false, false),
		},
		"when its turn comes, that data flowed": {
			"conditions: [" + flowingSince + "," + ready + "]", "", turn(v1alpha1.ReasonRollingOut), was(true, true),
		},
		"until it is ready again, the same": {
			"{beforeUpdate: {ready: true, dataFlowing: false}, conditions: [" + notReady + "," + onItsWay + "]}", failed + "," + onItsWay,
			nil, was(true, false),
		},
		"while it is paused, the same": {
			"{beforeUpdate: {ready: true, dataFlowing: false}, conditions: [" + notReady + "," + onItsWay + "]}", paused, nil, was(true, false),
		},
		"once it is refused, the same": {
			"{beforeUpdate: {ready: true, dataFlowing: false}, conditions: [" + notReady + "," + onItsWay + "]}", failed + "," + onItsWay,
			turn(v1alpha1.ReasonRefused), was(true, false),
		},
		"when it is ready again, nothing": {
			"{beforeUpdate: {ready: true, dataFlowing: false}, conditions: [" + notReady + "," + onItsWay + "]}", onItsWay, nil, nil,
		},
		"when the change is held back on its way, the same": {
			"{beforeUpdate: {ready: true, dataFlowing: false}, conditions: [" + notReady + "," + onItsWay + "]}", onItsWay,
			turn(v1alpha1.ReasonLeftOut), was(true, false),
		},
		"when its turn comes again, what was before its first turn": {
			"{beforeUpdate: {ready: true, dataFlowing: false}, conditions: [" + notReady + "," + leftOut + "]}", leftOut,
			turn(v1alpha1.ReasonRollingOut), was(true, false),
		},
		"when its turn comes again, what has become true since": {
			"{beforeUpdate: {ready: false, dataFlowing: true}, conditions: [" + ready + "," + leftOut + "]}", leftOut,
			turn(v1alpha1.ReasonRollingOut), was(true, true),
		},
		"when no change waits any more, nothing": {
			"{beforeUpdate: {ready: true, dataFlowing: false}, conditions: [" + notReady + "," + leftOut + "]}", leftOut, nil, nil,
		},
	} {
		written := update(t, row.stored, "conditions: ["+row.updated+"]",
			outcome{Deployed: deployed, InOrder: true, Update: row.update, Err: errors.New("no YAML")}, record.NewFakeRecorder(9))
		if written == nil {
			t.Fatalf("%s: nothing is written", name)
		}
		got, _, _ := unstructured.NestedFieldNoCopy(written.Object, "status", "beforeUpdate")
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAChangeThatIsCheckedIsOnItsWayAlsoWhereTheCollectorWasNotReadyBefore(t *testing.T) {
	const notReady = `{type: Ready, status: "False", lastTransitionTime: "2026-02-01T00:00:00Z"}`
	written := update(t, "{beforeUpdate: {ready: false, dataFlowing: false}, conditions: ["+notReady+","+onItsWay+"]}", "conditions: ["+onItsWay+"]",
		outcome{Deployed: deployed, InOrder: true, Verdict: plan.Checking, Checking: "Job checks the change"}, record.NewFakeRecorder(9))
	if pending := v1alpha1.ConditionOf(written, v1alpha1.UpdatePending); pending.Reason != v1alpha1.ReasonRollingOut {
		t.Errorf("%+v, want it on its way", pending)
	}
}

// Otherwise no ring would ever begin: a check that ends without a verdict is refused, and tried again, every few minutes.
func TestAChangeThatIsTriedAgainHasNoMoreTime(t *testing.T) {
	const refused = `{type: UpdatePending, status: "True", reason: Refused, message: no verdict, lastTransitionTime: "2026-02-01T00:00:00Z"}`
	written := update(t, "{beforeUpdate: {ready: true}, conditions: ["+refused+"]}", "conditions: ["+refused+"]",
		outcome{Deployed: deployed, InOrder: true, Verdict: plan.Checking, Checking: "Job checks the change"}, record.NewFakeRecorder(9))
	pending := v1alpha1.ConditionOf(written, v1alpha1.UpdatePending)
	if since := pending.LastTransitionTime.UTC().Format("2006-01-02"); pending.Reason != v1alpha1.ReasonRollingOut || since != "2026-02-01" {
		t.Errorf("%+v, want it on its way since its turn came", pending)
	}
}

func TestWhatIsRefusedOfTheOperatorsChangeIsNotToldByReady(t *testing.T) {
	const (
		ready    = `{type: Ready, status: "True", lastTransitionTime: "2026-02-01T00:00:00Z"}`
		refused  = `{type: UpdatePending, status: "True", reason: Refused, message: no YAML, lastTransitionTime: "2026-02-01T00:00:00Z"}`
		failed   = `{type: Irreconcilable, status: "True", reason: ReconcileError, message: no YAML}`
		deployed = `beforeUpdate: {ready: true}, deployedRelease: {name: gateway, revision: 2, digest: d1}, `
	)
	no := errors.New("no YAML")
	for name, row := range map[string]struct {
		said          string
		outcome       outcome
		ready, update string // reasons
	}{
		"when its turn has come":   {failed + "," + onItsWay, outcome{Update: rollout.Refused(), Err: no, InOrder: true}, "Available", "Refused"},
		"as long as it is refused": {failed + "," + refused, outcome{Update: rollout.Refused(), Err: no, InOrder: true}, "Available", "Refused"},
		"what keeps the deployed revision from being repaired is": {
			failed + "," + refused, outcome{Update: rollout.Refused(), Err: no, Message: "denied"}, "Progressing", "Refused",
		},
		"a corrected change is on its way": {refused, outcome{}, "Progressing", "RollingOut"},
		"and has come":                     {refused, outcome{InOrder: true}, "Available", ""},
		"nor is an owner's change":         {failed + "," + refused, outcome{Err: no, InOrder: true}, "ReleaseFailed", "RollingOut"},
	} {
		events := record.NewFakeRecorder(9)
		written := update(t, "{"+deployed+"conditions: ["+ready+","+row.said+"]}", "conditions: ["+row.said+"]", row.outcome, events)
		if written == nil {
			t.Fatalf("%s: nothing is written", name)
		}
		is, pending := v1alpha1.ConditionOf(written, "Ready"), v1alpha1.ConditionOf(written, v1alpha1.UpdatePending)
		if is.Reason != row.ready || pending.Reason != row.update || row.update == "Refused" && pending.Message != "no YAML" {
			t.Errorf("%s: %+v, %+v, want %q, %q", name, is, pending, row.ready, row.update)
		}
	}
}

func TestTheStatusSaysWhichBaseIsRefusedWhenNoOtherChangeIsOnItsWay(t *testing.T) {
	const (
		ready    = `{type: Ready, status: "True", lastTransitionTime: "2026-02-01T00:00:00Z"}`
		notReady = `{type: Ready, status: "False", lastTransitionTime: "2026-02-01T00:00:00Z"}`
		refused  = `{type: UpdatePending, status: "True", reason: BaseRefused, message: no YAML, lastTransitionTime: "2026-02-01T00:00:00Z"}`
	)
	waits := &v1alpha1.Condition{Type: v1alpha1.UpdatePending, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonWaiting}
	for name, row := range map[string]struct {
		stored, said, refusal string
		update                *v1alpha1.Condition
		want                  string // the reason
	}{
		"nothing else is on its way":                       {ready, "", "no YAML", nil, "BaseRefused"},
		"the last change has come":                         {notReady + "," + onItsWay, onItsWay + "," + ready, "no YAML", nil, "BaseRefused"},
		"not while a change of the operator waits":         {ready, "", "no YAML", waits, "Waiting"},
		"not once the base is mended":                      {ready + "," + refused, refused, "", nil, ""},
		"not of a base that is not refused":                {ready, "", "", nil, ""},
		"not of a Collector that is paused, but of before": {ready + "," + refused, `{type: Paused, status: "True"}`, "", nil, "BaseRefused"},
	} {
		written := update(t, "conditions: ["+row.stored+"]", "conditions: ["+row.said+"]",
			outcome{Deployed: deployed, InOrder: true, Update: row.update, Refused: row.refusal}, record.NewFakeRecorder(9))
		if written == nil {
			t.Fatalf("%s: nothing is written", name)
		}
		if got := v1alpha1.ConditionOf(written, v1alpha1.UpdatePending); got.Reason != row.want {
			t.Errorf("%s: %+v, want %q", name, got, row.want)
		}
	}
}

// The API server could not answer, so the reconcile saw neither the change nor the bases.
func TestAPassingErrorChangesNothingOfAChangeThatWaits(t *testing.T) {
	const ready = `{type: Ready, status: "True", lastTransitionTime: "2026-02-01T00:00:00Z"}`
	for name, row := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"of a refused base":                  {"BaseRefused", context.DeadlineExceeded, "BaseRefused"},
		"of one that waits":                  {"Waiting", fmt.Errorf("read: %w", context.DeadlineExceeded), "Waiting"},
		"of one that is held":                {"LeftOut", apierrors.NewServiceUnavailable("later"), "LeftOut"},
		"of one whose turn has come":         {"RollingOut", context.DeadlineExceeded, ""}, // it was not ready before
		"but another error tells of no base": {"BaseRefused", errors.New("refused"), ""},
		"but a reconcile without one does":   {"Waiting", nil, ""},
	} {
		pending := `{type: UpdatePending, status: "True", message: before, lastTransitionTime: "2026-02-01T00:00:00Z", reason: ` + row.reason + "}"
		failed := `{type: Irreconcilable, status: "True", reason: ReconcileError, message: failed}`
		written := update(t, "{beforeUpdate: {ready: false}, conditions: ["+ready+","+pending+"]}", "conditions: ["+failed+","+pending+"]",
			outcome{Deployed: deployed, InOrder: true, Err: row.err}, record.NewFakeRecorder(9))
		if written == nil {
			t.Fatalf("%s: nothing is written", name)
		}
		if got := v1alpha1.ConditionOf(written, v1alpha1.UpdatePending); got.Reason != row.want || row.want != "" && got.Message != "before" {
			t.Errorf("%s: %+v, want %q", name, got, row.want)
		}
	}
}

func TestTheStatusSaysWhichObjectWasRefused(t *testing.T) {
	const failed = `conditions: [{type: ReleaseFailed, status: "True", message: refused}]`
	service := live.NewReference(corev1.SchemeGroupVersion.WithKind("Service"), "gateway")
	named := map[string]any{"kind": "Service", "name": "gateway"}
	for name, row := range map[string]struct {
		stored, updated string
		err             error
		want            any
	}{
		"while it is refused": {"{}", failed, &apply.RefusedError{Ref: service, Err: errors.New("refused")}, named},
		"not when something else is wrong": {
			"refusedObject: {kind: Service, name: gateway}", failed, errors.New("no record"), nil,
		},
		"while the Collector is paused": {
			"refusedObject: {kind: Service, name: gateway}", `conditions: [{type: Paused, status: "True"}]`, nil, named,
		},
		"not when it is accepted": {"refusedObject: {kind: Service, name: gateway}", "conditions: []", nil, nil},
	} {
		written := update(t, row.stored, row.updated, outcome{Deployed: deployed, Err: row.err}, record.NewFakeRecorder(9))
		if written == nil {
			t.Fatalf("%s: nothing is written", name)
		}
		got, _, _ := unstructured.NestedFieldNoCopy(written.Object, "status", "refusedObject")
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
