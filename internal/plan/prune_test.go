package plan

import (
	"testing"

	"github.com/kube8/kube8-operator/internal/inventory"
)

func TestWhatWaitsToBePruned(t *testing.T) {
	secret, workload := ref("Secret/old"), ref("Deployment/c")
	for name, row := range map[string]struct {
		found map[inventory.Reference]inventory.Object
		used  map[string]bool
		want  bool
	}{
		"nobody uses it":   {map[inventory.Reference]inventory.Object{secret: {}, workload: {Replicas: 1, Serves: true}}, nil, true},
		"a pod uses it":    {map[inventory.Reference]inventory.Object{secret: {}}, used("Secret/old"), false},
		"it is on its way": {map[inventory.Reference]inventory.Object{secret: {Deleting: true}}, nil, false},
		"it has gone":      {map[inventory.Reference]inventory.Object{}, nil, true},
		"an earlier pod may come back and use it":      {map[inventory.Reference]inventory.Object{secret: {}, workload: {Replicas: 1}}, nil, false},
		"there are no pods that could come back to it": {map[inventory.Reference]inventory.Object{secret: {}, workload: {}}, nil, true},
	} {
		if got := MayPrune(map[inventory.Reference]bool{secret: true}, row.found, row.used); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAnErrorThatDiffersOnlyByNumbersOrOrderKeepsItsText(t *testing.T) {
	const trace = "denied the request: trace "
	for name, row := range map[string]struct {
		before, now string
		isSame      bool
	}{
		"another port":           {"port 41234 was reset", "port 7 was reset", true},
		"another cause":          {"port 41234 was reset", "port 41234 was closed", false},
		"another UUID":           {trace + "9b2f7c1e-aaaa-bbbb-cccc-dddddddddddd", trace + "eeeeeeee-4f5a-4cde-8abc-0123456789ab", true},
		"another trace":          {trace + "0af7651916cd43dd8448eb211c80319c", trace + "deadbeefdeadbeefdeadbeefdeadbeef", true},
		"policies in any order":  {`denied by "keep", "protect"`, `denied by "protect", "keep"`, true},
		"another object":         {`Deployment "gateway" is forbidden`, `Deployment "agent" is forbidden`, false},
		"one policy less":        {"denied by keep, protect", "denied by keep", false},
		"names with few letters": {"Secret config-abc1", "Secret config-abd1", false},
	} {
		if got := Steady(row.before, row.now); (got == row.before) != row.isSame {
			t.Errorf("%s: %q", name, got)
		}
	}
}
