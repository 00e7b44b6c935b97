package kubectl

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
)

func TestAFlagHasOneNameInAllCommands(t *testing.T) {
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), "")
	shorthands, uses := map[string]string{}, map[string]string{}
	for _, cmd := range commandsOf(root) {
		if cmd.Name() == "logs" {
			continue // its flags are those of kubectl logs
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if strings.Contains(flag.Usage, "`") {
				t.Errorf("--%s of %s has backticks in its usage, and cobra takes what they quote for the flag's type", flag.Name, cmd.CommandPath())
			}
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

func TestEachCommandHasAGroupAndAnExampleThatIsItsOwn(t *testing.T) {
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), "")
	for _, cmd := range commandsOf(root) {
		if cmd.Parent() == root && cmd.GroupID == "" && cmd.Name() != "render" && cmd.Name() != "version" {
			t.Errorf("%s is in no group", cmd.Name())
		}
		if cmd.HasSubCommands() {
			continue
		}
		words := strings.Fields(cmd.Example)
		if len(words) < 3 {
			t.Errorf("%s has no example", cmd.Name())
			continue
		}
		found, args, err := root.Find(words[2:])
		if err == nil {
			err = found.ParseFlags(args)
		}
		if err == nil {
			err = found.ValidateArgs(found.Flags().Args())
		}
		if err != nil || found != cmd {
			t.Errorf("%s has the example %q: %v", cmd.Name(), cmd.Example, err)
		}
	}
}

func TestAFieldIsSetAsTheSpecHasIt(t *testing.T) {
	for change, want := range map[string]string{
		"version=0.161.0": "collector: {name: a, version: 0.161.0}", "version=1.10": "collector: {name: a, version: '1.10'}",
		"spec.replicas=3": "replicas: 3", "collector.version-": "collector: {name: a}", "tenant-": "{}",
		"resources.limits={cpu: 1, memory: 1Gi}":      "resources: {limits: {cpu: 1, memory: 1Gi}}",
		`podLabels.example\.com/a=true`:               `podLabels: {example.com/a: "true"}`,
		"env=[{name: A, value: b}]":                   "env: [{name: A, value: b}]",
		"updateStrategy.rollingUpdate.maxSurge=1":     "updateStrategy: {rollingUpdate: {maxSurge: 1}}",
		"updateStrategy.rollingUpdate.maxSurge='25%'": "updateStrategy: {rollingUpdate: {maxSurge: 25%}}",
		"resources.limits.cpu=0.5":                    "resources: {limits: {cpu: '0.5'}}",
		"cluster=prod=eu":                             "cluster: prod=eu",
		"replicas":                                    "", "=3": "", "replicas-=3": "", "collector.name.first=a": "",
	} {
		spec := map[string]any{"collector": map[string]any{"name": "a", "version": "0.160.0"}, "tenant": map[string]any{"id": "1"}}
		wanted := maps.Clone(spec)
		err := setField(spec, change)
		if want == "" {
			if err == nil {
				t.Errorf("%s is set: %v", change, spec)
			}
			continue
		}
		if change == "tenant-" {
			delete(wanted, "tenant")
		}
		if err := errors.Join(err, yaml.Unmarshal([]byte(want), &wanted)); err != nil || !history.Same(wanted, spec) {
			t.Errorf("%s makes %v: %v", change, spec, err)
		}
	}
}
