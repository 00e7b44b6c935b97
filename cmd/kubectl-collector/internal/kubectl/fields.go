package kubectl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func (p *plugin) setCommand() *cobra.Command {
	var given consent
	var w waiting
	var changes []string
	cmd := p.about("set", "Change the version, the number of pods or any other field",
		`Change the version, the number of pods or any other field, after a check, a look at the
difference and a confirmation.

A field is named as in the spec, with a dot between names, and \. for a dot in a name. A
value is written as in YAML. FIELD- removes a field. version stands for
collector.version. For the configuration, see config set.`,
		func(ctx context.Context, s *session, name string) error {
			read, err := s.read(ctx, name)
			if err != nil {
				return err
			}
			if err := errors.Join(given.mayChange(read), p.mayAsk(given)); err != nil {
				return err
			}
			whole, err := s.whole(ctx, name)
			if err != nil {
				return err
			}
			spec, _, err := unstructured.NestedMap(whole.Object, "spec")
			if err != nil {
				return fmt.Errorf("read the spec: %w", err)
			}
			for _, change := range changes {
				if err := setField(spec, change); err != nil {
					return err
				}
			}
			if err := p.propose(ctx, s, whole, spec, given, proposal{as: "new", same: "the spec says so already", done: "configured"}); err != nil {
				return err
			}
			return p.until(ctx, s, name, w)
		})
	cmd.Use = "set NAME FIELD=VALUE|FIELD- ..."
	ofName := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return ofName(cmd, args, prefix)
		}
		return []string{"version=", "replicas="}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) < 2 {
			return errors.New("name a Collector and what to change, such as: kubectl collector set gateway version=0.161.0")
		}
		changes = args[1:]
		return nil
	}
	given.addFlags(cmd.Flags())
	w.addFlags(cmd.Flags(), untilReady, false)
	p.mayBeDry(cmd)
	return cmd
}

// setField changes a field of a spec as FIELD=VALUE or FIELD- says.
func setField(spec map[string]any, change string) error {
	field, text, isSet := strings.Cut(change, "=")
	field, isRemoved := strings.CutSuffix(field, "-")
	if isSet == isRemoved || field == "" {
		return fmt.Errorf("%q is neither FIELD=VALUE nor FIELD-, such as version=0.161.0 or replicas-", change)
	}
	if field = strings.TrimPrefix(field, "spec."); field == "version" {
		field = "collector.version"
	}
	path := strings.Split(strings.ReplaceAll(field, `\.`, "\x00"), ".")
	for i := range path {
		path[i] = strings.ReplaceAll(path[i], "\x00", ".")
	}
	if isRemoved {
		unstructured.RemoveNestedField(spec, path...)
		return nil
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value = text
	}
	if number, is := value.(float64); is && number != math.Trunc(number) { // no field has a fraction, but a quantity can: a CPU of 0.5
		value = text
	}
	if err := unstructured.SetNestedField(spec, value, path...); err != nil {
		return fmt.Errorf("%s: a field on the way to it is no mapping: %w", field, err)
	}
	if _, err := typed(spec); err != nil { // a text that YAML takes for something else, such as the version 1.10
		unstructured.RemoveNestedField(spec, path...)
		if err := unstructured.SetNestedField(spec, text, path...); err != nil {
			return fmt.Errorf("set %s: %w", field, err)
		}
	}
	return nil
}
