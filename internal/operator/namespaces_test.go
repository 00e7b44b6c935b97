package operator

import "testing"

func TestAnOperatorThatWatchesAllNamespacesKnowsIt(t *testing.T) {
	for name, row := range map[string]struct {
		variable string
		want     bool
	}{
		"without a name":                  {"", true},
		"with a space":                    {" ", true},
		"with a list of no names":         {" , ", true},
		"not with one namespace":          {"team-a", false},
		"not with several, and a comma":   {"team-a, team-b,", false},
		"not with a namespace and spaces": {" team-a ", false},
	} {
		t.Setenv("WATCH_NAMESPACE", row.variable)
		if got := isForAll(); got != row.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
