package kubectl

import (
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestAFlagHasOneNameInAllCommands(t *testing.T) {
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), "")
	shorthands, uses := map[string]string{}, map[string]string{}
	for _, cmd := range commandsOf(root) {
		if cmd.Name() == "logs" {
			continue // its flags are those of kubectl logs
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if before, known := shorthands[flag.Name]; known && before != flag.Shorthand {
				t.Errorf("--%s of %s has the shorthand %q, and elsewhere %q", flag.Name, cmd.CommandPath(), flag.Shorthand, before)
			}
			shorthands[flag.Name] = flag.Shorthand
			if before, known := uses[flag.Usage]; known && before != flag.Name {
				t.Errorf("--%s of %s is --%s elsewhere", flag.Name, cmd.CommandPath(), before)
			}
			uses[flag.Usage] = flag.Name
		})
	}
	for _, other := range []string{"to-revision", "parallel", "namespaces", "label", "no-wait", "assume-yes", "rev", "dry"} {
		if _, known := shorthands[other]; known {
			t.Errorf("--%s is the name of another flag's meaning", other)
		}
	}
}
