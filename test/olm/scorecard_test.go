//go:build e2e

package olm

import (
	"cmp"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// suggestion is the one that the scorecard makes: an example has no status, because it is for people to create.
const suggestion = "collectors.kube8.dev does not have status spec"

const scorecardNamespace = "kube8-scorecard"

// account lets the tests' pods look at all that there is in their namespace.
const account = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: scorecard, namespace: ` + scorecardNamespace + `}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: scorecard, namespace: ` + scorecardNamespace + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: scorecard}
subjects:
- {kind: ServiceAccount, name: default, namespace: ` + scorecardNamespace + `}
`

// item is a test in what the scorecard prints.
type item struct {
	Spec   struct{ Labels map[string]string }
	Status struct {
		Results []struct {
			Name, State, Log    string
			Errors, Suggestions []string
		}
	}
}

func TestScorecard(t *testing.T) {
	report(t, "scorecard", "as a whole")
	sdk := programs(t, "operator-sdk", "scorecard-test")
	image := registry + "-scorecard:v" + version(t)
	command(t, "go", "build", "-ldflags=-s -w", "-o", "bin/scorecard/scorecard", "./test/scorecard")
	build(t, image, "test/scorecard/Dockerfile", "bin/scorecard")
	load(t, image)
	stock := stockImage(t)
	build(t, stock, "test/olm/Dockerfile", sdk, "--target=scorecard-test")
	load(t, stock)
	awaitTurn(t)

	t.Cleanup(func() {
		if out, err := exec.Command("make", "--no-print-directory", "undeploy").CombinedOutput(); err != nil {
			t.Errorf("make undeploy: %v\n%s", err, out)
		}
	})
	command(t, "make", "--no-print-directory", "deploy")
	must(t, "rollout", "status", "deployment", operatorName, "-n", systemNamespace, "--timeout=2m")
	namespace(t, scorecardNamespace)
	dumpOnFailure(t, scorecardNamespace, systemNamespace)
	apply(t, account)

	out, err := output(t.Context(), filepath.Join(sdk, "operator-sdk"), "scorecard", "./bundle", "--output=json",
		"--namespace="+scorecardNamespace, "--service-account=default", "--pod-security=restricted", "--untar-image="+image, "--wait-time=4m")
	var found struct{ Items []item }
	if failed := json.Unmarshal([]byte(out), &found); failed != nil {
		t.Fatalf("%v, %v in %q", err, failed, out)
	}
	// A stage that is parallel has no order.
	slices.SortFunc(found.Items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.Spec.Labels["suite"], b.Spec.Labels["suite"]), cmp.Compare(a.Spec.Labels["test"], b.Spec.Labels["test"]))
	})
	for _, item := range found.Items {
		suite := item.Spec.Labels["suite"]
		t.Run(item.Spec.Labels["test"], func(t *testing.T) {
			warn := report(t, "scorecard", suite+": "+item.Spec.Labels["test"])
			if len(item.Status.Results) == 0 {
				t.Error("it has no result")
			}
			for _, result := range item.Status.Results {
				if result.State != "pass" || suite == "kube8" { // the log of the others has the whole CRD
					t.Log(result.Log)
				}
				if result.State != "pass" {
					t.Errorf("%s: %s %v", result.Name, result.State, result.Errors)
				}
				for _, text := range result.Suggestions {
					warn(text)
					if !strings.Contains(text, suggestion) {
						t.Errorf("%s suggests: %s", result.Name, text)
					}
				}
			}
		})
	}
	if len(found.Items) < 8 {
		t.Errorf("the scorecard ran %d tests, want six stock ones and our own", len(found.Items))
	}
}

// stockImage is the image of the stock tests, by the name that the bundle has for it.
func stockImage(t *testing.T) string {
	t.Helper()
	return "quay.io/operator-framework/scorecard-test:" + strings.TrimSpace(command(t, "go", "list", "-C", "tools", "-m", "-f={{.Version}}",
		"github.com/operator-framework/operator-sdk"))
}
