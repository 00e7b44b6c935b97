package explain

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestEachCauseIsFoundInWhatKubernetesSays(t *testing.T) {
	known, err := causes()
	if err != nil {
		t.Fatal(err)
	}
	if len(known) < 25 {
		t.Fatalf("docs/reference/causes.md has %d causes", len(known))
	}
	text, err := os.ReadFile("testdata/messages.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var told map[string]string // a part of what happened, by message
	if err := yaml.UnmarshalStrict(text, &told); err != nil {
		t.Fatal(err)
	}
	reached := map[string]bool{}
	for message, part := range told {
		found, err := Causes("tenant", "a", message)
		if err != nil || len(found) != 1 || !strings.Contains(found[0].Happened, part) {
			t.Errorf("%s\nhas the causes %+v (%v), want one with %q", message, found, err, part)
			continue
		}
		reached[found[0].Happened] = true
		if strings.Contains(found[0].Command, "NAME") || found[0].Action == "" {
			t.Errorf("%s: %+v", message, found[0])
		}
	}
	for _, cause := range known {
		if !reached[cause.Happened] {
			t.Errorf("no message has the cause %q", cause.Happened)
		}
	}
}

func TestAMessageHasTheCausesOfItsParts(t *testing.T) {
	found, err := Causes("tenant", "a", "0/2 updated; pod a: CrashLoopBackOff, exit code 1; pod b: CrashLoopBackOff, exit code 2; pod c: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu", "2/2 available")
	if err != nil || len(found) != 2 {
		t.Errorf("got %+v, %v", found, err)
	}
}
