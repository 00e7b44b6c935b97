package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestTheBudgetOfWavesIsWhatTheFlagSays(t *testing.T) {
	type budget struct {
		Budget string
		Least  int
	}
	for name, row := range map[string]struct {
		flags []string
		want  budget
		fails string
	}{
		"without it, a percentage and at least two": {want: budget{"5%", 2}},
		"a percentage, and at least one":            {flags: []string{"--rollout-budget=5%"}, want: budget{"5%", 1}},
		"a number":                                  {flags: []string{"--rollout-budget=1"}, want: budget{"1", 1}},
		"neither": {
			flags: []string{"--rollout-budget=few"}, fails: `--rollout-budget: "few" is neither a number nor a percentage`,
		},
		"less than nothing": {
			flags: []string{"--rollout-budget=-1"}, fails: `--rollout-budget: "-1" is neither a number nor a percentage`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := optionsOf(t, row.flags)
			got, least, err := options.rolloutBudget()
			switch {
			case err != nil || row.fails != "":
				if err == nil || err.Error() != row.fails {
					t.Errorf("got error %v, want %s", err, row.fails)
				}
			case !cmp.Equal(budget{got.String(), least}, row.want):
				t.Errorf("got %s and at least %d, want %+v", got.String(), least, row.want)
			}
		})
	}
}

// optionsOf returns the options that flags give.
func optionsOf(t *testing.T, arguments []string) (options Options) {
	t.Helper()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return options
}

func TestNoTimeOfWavesVoidsRings(t *testing.T) {
	for name, row := range map[string]struct {
		flags []string
		fails string
	}{
		"without a flag": {},
		"a time":         {flags: []string{"--rollout-deadline=1s"}},
		"no time to become ready": {
			flags: []string{"--rollout-deadline=0s"}, fails: "--rollout-deadline: 0s leaves no time to become ready; set it to more than 0, such as 10m",
		},
		"less than that": {
			flags: []string{"--rollout-deadline=-1m"}, fails: "--rollout-deadline: -1m0s leaves no time to become ready; set it to more than 0, such as 10m",
		},
		"no soak": {flags: []string{"--rollout-soak=0"}},
		"less than no time between reconciles": {
			flags: []string{"--reconcile-period=-1s"}, fails: "--reconcile-period: -1s is less than no time; set it to 0 or more, such as 1h",
		},
		"less than no soak": {flags: []string{"--rollout-soak=-1h"}, fails: "--rollout-soak: -1h0m0s is less than no time; set it to 0 or more, such as 1h"},
	} {
		t.Run(name, func(t *testing.T) {
			options := optionsOf(t, row.flags)
			if err := options.checkTimes(); err == nil && row.fails != "" || err != nil && err.Error() != row.fails {
				t.Errorf("got error %v, want %q", err, row.fails)
			}
		})
	}
}
