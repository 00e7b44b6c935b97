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
			var options Options
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			options.AddFlags(flags)
			if err := flags.Parse(row.flags); err != nil {
				t.Fatal(err)
			}
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
