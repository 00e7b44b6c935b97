package kubectl

import (
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
)

func TestATenantWritesNoRowsIntoTheHistory(t *testing.T) {
	const forged = "a\n9\tnow\tdeployed"
	var out strings.Builder
	revision := history.Revision{Number: 1, Status: forged, Version: forged, ChangedBy: forged}
	revision.Changes = []string{"autoscaling.keda.triggers[" + forged + "] added", "b", "c", "d", "e"}
	if err := printRevisions(&out, []history.Revision{revision}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "\n") != 2 || strings.Contains(out.String(), "\t") || strings.Count(out.String(), "a 9 now deployed") != 4 {
		t.Errorf("printed\n%s", out.String())
	}
	if want := "triggers[a 9 now deployed] added; b; c; d; and 1 more\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("printed\n%s", out.String())
	}
}
