package status_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/status"
)

// outcome is how the last reconcile ended, for any Collector.
type outcome status.Outcome

func (o outcome) Of(client.Object) status.Outcome { return status.Outcome(o) }
func (outcome) Forget(client.ObjectKey)           {}

var deployed = history.Deployed{Revision: 2, Version: "0.150.0", ConfigHash: "b740a6e4", Digest: "d1"}

// steady is the status of a Collector that works.
const steady = `
observedGeneration: 3
version: 0.150.0
configHash: b740a6e4
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 2, digest: d1}
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "True", reason: Available, message: 1/1 available, lastTransitionTime: "2026-01-01T00:00:00Z"}
`

// The API server's part is played by a fake, because the question is what reaches it.
func TestUpdate(t *testing.T) {
	tests := map[string]struct {
		outcome        outcome
		stored, update string
		written        string // "" for nothing
		events         []string
	}{
		"a status that differs only by the manifest is not written": {
			outcome: outcome{Deployed: deployed, InOrder: true},
			update: `
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-01-01T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
		},
		"a condition that flipped there and back within the reconcile is not written": {
			outcome: outcome{Deployed: deployed, InOrder: true},
			update: `
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-02-02T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
		},
		"an upgrade is told, and is not ready before its objects were seen": {
			outcome: outcome{Deployed: history.Deployed{Revision: 3, Version: "0.151.0", ConfigHash: "c0ffee", Digest: "d2"}},
			update: `
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-02-02T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
			written: `
observedGeneration: 3
version: 0.151.0
configHash: c0ffee
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 3, digest: d2}
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "False", reason: Progressing, message: "applied, but the informer cache does not have all objects yet"}
`,
			events: []string{"Normal Upgraded to revision 3, version 0.150.0 → 0.151.0, configuration changed"},
		},
		"an installation is told, with the release that the reconciles before knew nothing of": {
			outcome: outcome{Deployed: deployed, InOrder: true},
			stored:  `{}`,
			update: `
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
			written: `
observedGeneration: 3
version: 0.150.0
configHash: b740a6e4
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 2, digest: d1}
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "True", reason: Available, message: 1/1 available}
`,
			events: []string{"Normal Installed version 0.150.0, as revision 2"},
		},
		"a refused configuration is told with its reason, and what is deployed stays known": {
			outcome: outcome{Err: fmt.Errorf("post render: %w", &configuration.Error{Field: "spec.f", Reason: "line 2"})},
			update: `
conditions:
- {type: Deployed, status: Unknown, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Irreconcilable, status: "True", message: "post render: spec.f: line 2", lastTransitionTime: "2026-02-02T00:00:00Z"}
`,
			written: `
observedGeneration: 3
version: 0.150.0
configHash: b740a6e4
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 2, digest: d1}
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "True", message: "post render: spec.f: line 2", lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Ready, status: "False", reason: ConfigInvalid, message: "spec.f: line 2"}
- {type: Stalled, status: "True", reason: ConfigInvalid, message: "spec.f: line 2"}
`,
			events: []string{"Warning Refused spec.f: line 2"},
		},
		"a missing configuration has a reason of its own": {
			outcome: outcome{Err: &configuration.Error{Field: "spec.f", Missing: true, Reason: "no Secret"}},
			stored:  `{}`,
			update:  `conditions: [{type: Irreconcilable, status: "True", message: m, lastTransitionTime: "2026-02-02T00:00:00Z"}]`,
			written: `
observedGeneration: 3
replicas: 1
readyReplicas: 1
conditions:
- {type: Irreconcilable, status: "True", message: m, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Ready, status: "False", reason: ConfigMissing, message: "spec.f: no Secret"}
- {type: Stalled, status: "True", reason: ConfigMissing, message: "spec.f: no Secret"}
`,
			events: []string{"Warning Refused spec.f: no Secret"},
		},
		"a release whose installation failed is not deployed": {
			outcome: outcome{Err: errors.New("refused")},
			stored:  `{}`,
			update: `
conditions:
- {type: Deployed, status: "True", reason: InstallSuccessful, message: release was successfully installed, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: ReleaseFailed, status: "True", reason: UpgradeError, message: refused, lastTransitionTime: "2026-02-02T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
			written: `
observedGeneration: 3
replicas: 1
readyReplicas: 1
conditions:
- {type: Deployed, status: "False", reason: NotDeployed, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Ready, status: "False", reason: ReleaseFailed, message: refused}
- {type: ReleaseFailed, status: "True", reason: UpgradeError, message: refused, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Stalled, status: "True", reason: ReleaseFailed, message: refused}
`,
			events: []string{"Warning ReleaseFailed refused"},
		},
		"a refusal is told with what keeps the deployed revision from being repaired": {
			outcome: outcome{Err: errors.New("refused"), Message: "repair revision 2 meanwhile: exceeded quota"},
			update: `
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "True", message: refused, lastTransitionTime: "2026-02-02T00:00:00Z"}
`,
			written: `
observedGeneration: 3
version: 0.150.0
configHash: b740a6e4
deployedRelease: {name: gateway, revision: 2, digest: d1}
replicas: 1
readyReplicas: 1
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "True", message: refused, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Ready, status: "False", reason: ReleaseFailed, message: "refused; repair revision 2 meanwhile: exceeded quota"}
- {type: Stalled, status: "True", reason: ReleaseFailed, message: "refused; repair revision 2 meanwhile: exceeded quota"}
`,
			events: []string{"Warning ReleaseFailed refused; repair revision 2 meanwhile: exceeded quota"},
		},
		"an error that differs only by numbers is written as it is now": {
			outcome: outcome{Err: errors.New("stream 7 was reset")},
			stored: `
observedGeneration: 3
replicas: 1
readyReplicas: 1
conditions:
- {type: Irreconcilable, status: "True", message: stream 5 was reset, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "False", reason: ReleaseFailed, message: stream 5 was reset, lastTransitionTime: "2026-01-01T00:00:00Z"}
`,
			update: `conditions: [{type: Irreconcilable, status: "True", message: stream 7 was reset, lastTransitionTime: "2026-01-01T00:00:00Z"}]`,
			written: `
observedGeneration: 3
replicas: 1
readyReplicas: 1
conditions:
- {type: Irreconcilable, status: "True", message: stream 7 was reset, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "False", reason: ReleaseFailed, message: stream 7 was reset, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Stalled, status: "True", reason: ReleaseFailed, message: stream 7 was reset}
`,
			events: []string{"Warning ReleaseFailed stream 7 was reset"},
		},
		"a change that was on its way begins anew when its Collector is no longer paused": {
			outcome: outcome{Deployed: deployed},
			stored: `
observedGeneration: 3
version: 0.150.0
configHash: b740a6e4
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 2, digest: d1}
conditions:
- {type: Paused, status: "True", reason: PauseReconcileAnnotationTrue, lastTransitionTime: "2026-01-02T00:00:00Z"}
- {type: Ready, status: Unknown, reason: Paused, lastTransitionTime: "2026-01-02T00:00:00Z"}
- {type: UpdatePending, status: "False", reason: RollingOut, lastTransitionTime: "2026-01-01T00:00:00Z"}
`,
			update: `
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Paused, status: "False", lastTransitionTime: "2026-02-03T00:00:00Z"}
- {type: UpdatePending, status: "False", reason: RollingOut, lastTransitionTime: "2026-01-01T00:00:00Z"}
deployedRelease: {name: gateway, manifest: secret}
`,
			written: `
observedGeneration: 3
version: 0.150.0
configHash: b740a6e4
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 2, digest: d1}
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Paused, status: "False", reason: NotPaused}
- {type: Ready, status: "False", reason: Progressing, message: "applied, but the informer cache does not have all objects yet"}
- {type: UpdatePending, status: "False", reason: RollingOut, message: "the operator's change is on its way to the pods"}
`,
			events: []string{"Normal Resumed the operator follows the spec again"},
		},
		"a paused Collector keeps what is known of it": {
			outcome: outcome{},
			update: `
conditions:
- {type: Deployed, status: Unknown, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Irreconcilable, status: Unknown, lastTransitionTime: "2026-02-02T00:00:00Z"}
- {type: Paused, status: "True", reason: PauseReconcileAnnotationTrue, lastTransitionTime: "2026-02-02T00:00:00Z"}
`,
			written: `
observedGeneration: 3
version: 0.150.0
configHash: b740a6e4
replicas: 1
readyReplicas: 1
deployedRelease: {name: gateway, revision: 2, digest: d1}
conditions:
- {type: Deployed, status: "True", reason: UpgradeSuccessful, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Irreconcilable, status: "False", reason: Reconciled, lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Paused, status: "True", reason: PauseReconcileAnnotationTrue}
- {type: Ready, status: Unknown, reason: Paused, message: "annotation kube8.dev/paused is true: the operator does not follow the spec; 1/1 available"}
`,
			events: []string{"Normal Paused the operator does not follow the spec until annotation kube8.dev/paused is removed"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.stored == "" {
				test.stored = steady
			}
			events := record.NewFakeRecorder(10)
			written := update(t, test.stored, test.update, test.outcome, events)
			if test.written == "" {
				if written != nil {
					t.Errorf("written: %v", written.Object["status"])
				}
			} else if diff := cmp.Diff(timeless(collector(t, test.written)), timeless(written)); diff != "" {
				t.Errorf("written status (-want +got):\n%s", diff)
			}
			close(events.Events)
			var told []string
			for event := range events.Events {
				told = append(told, event)
			}
			if diff := cmp.Diff(test.events, told); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
