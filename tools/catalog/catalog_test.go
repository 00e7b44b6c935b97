package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestAdd(t *testing.T) {
	all := []string{"candidate", "fast", "stable"}
	type step struct {
		version  string
		channels []string
	}
	for name, test := range map[string]struct {
		steps []step
		want  string // the default channel, and each channel's upgrade edges
		fails string
	}{
		"the first version replaces nothing": {
			steps: []step{{"0.1.0", all}},
			want:  "stable; stable: 0.1.0; fast: 0.1.0; candidate: 0.1.0",
		},
		"a version replaces the one before it, whenever it was added": {
			steps: []step{{"0.9.0", all}, {"0.10.0", all}, {"0.2.0", all}},
			want: "stable; stable: 0.2.0 <- 0.9.0 <- 0.10.0; fast: 0.2.0 <- 0.9.0 <- 0.10.0; " +
				"candidate: 0.2.0 <- 0.9.0 <- 0.10.0",
		},
		"nothing changes when a version is added again": {
			steps: []step{{"0.1.0", all}, {"0.1.0", all}},
			want:  "stable; stable: 0.1.0; fast: 0.1.0; candidate: 0.1.0",
		},
		"a version that is held back stays out of the other channels": {
			steps: []step{{"0.1.0", all}, {"0.2.0", all}, {"0.2.0", []string{"candidate"}}},
			want:  "stable; stable: 0.1.0; fast: 0.1.0; candidate: 0.1.0 <- 0.2.0",
		},
		"the default is the steadiest channel that there is": {
			steps: []step{{"0.1.0", []string{"candidate"}}},
			want:  "candidate; candidate: 0.1.0",
		},
		"a pre-release is older than its release": {
			steps: []step{{"0.1.0", all}, {"0.1.0-rc.1", []string{"candidate"}}},
			want:  "stable; stable: 0.1.0; fast: 0.1.0; candidate: 0.1.0-rc.1 <- 0.1.0",
		},
		"a pre-release goes nowhere else": {
			steps: []step{{"0.1.0-rc.1", all}},
			fails: "kube8-operator.v0.1.0-rc.1 is a pre-release: set the channels to candidate",
		},
		"other channels are refused": {
			steps: []step{{"0.1.0", []string{"alpha"}}},
			fails: `no channel is called "alpha", choose from: stable fast candidate`,
		},
		"a name without a version is refused": {
			steps: []step{{"latest", all}},
			fails: "must end in .v and a version such as 1.2.3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var err error
			for _, s := range test.steps {
				bundle := "---\nimage: example.com/bundle\nname: kube8-operator.v" + s.version + "\npackage: kube8-operator\nschema: olm.bundle\n"
				if err = add(dir, []byte(bundle), []byte("<svg/>"), s.channels); err != nil {
					break
				}
			}
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("got error %v, want %q", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := edges(t, filepath.Join(dir, "kube8-operator")); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestAddRefusesABundleWithoutAnImage(t *testing.T) {
	err := add(t.TempDir(), []byte("name: kube8-operator.v0.1.0\nschema: olm.bundle\n"), nil, []string{"stable"})
	if err == nil || !strings.Contains(err.Error(), "no olm.bundle with an image") {
		t.Errorf("got error %v", err)
	}
}

var defaultChannel = regexp.MustCompile(`(?m)^defaultChannel: (.*)$`)

// edges says which versions each channel has, the newest last, and checks that each names the one that it replaces.
func edges(t *testing.T, dir string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, channelsFile))
	if err != nil {
		t.Fatal(err)
	}
	channels, err := read(filepath.Join(dir, channelsFile))
	if err != nil {
		t.Fatal(err)
	}
	out := defaultChannel.FindStringSubmatch(string(content))[1:]
	for _, channel := range channels {
		var versions []string
		replaces := ""
		for _, e := range channel.Entries {
			version := strings.TrimPrefix(e.Name, "kube8-operator.v")
			if e.Replaces != replaces || e.SkipRange != "<"+version {
				t.Errorf("%+v, want it to replace %q and skip what is older", e, replaces)
			}
			if _, err := os.Stat(filepath.Join(dir, e.Name+".yaml")); err != nil {
				t.Error(err)
			}
			versions, replaces = append(versions, version), e.Name
		}
		out = append(out, channel.Name+": "+strings.Join(versions, " <- "))
	}
	return strings.Join(out, "; ")
}
