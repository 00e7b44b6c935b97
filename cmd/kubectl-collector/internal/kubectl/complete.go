package kubectl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/kubectl/pkg/util/completion"
)

// choices are what flags can have that have a few values only.
var choices = map[string][]string{
	"dry-run": {"none", "server", "client"}, "mode": {"deployment", "daemonset", "statefulset"}, "format": {"yaml", "raw"},
	"collector": {"opentelemetry-collector", "opentelemetry-collector-contrib", "opentelemetry-collector-k8s"},
	"output":    {"json", "yaml"}, "list output": {"wide", "name", "json", "yaml"}, "report output": nil, "sort-by": sortable(),
}

// completions has the shell complete the values of the flags of all commands.
func (p *plugin) completions(root *cobra.Command) {
	computed := map[string]cobra.CompletionFunc{
		"namespace": completion.ResourceNameCompletionFunc(p.factory, "namespaces"),
		"context": func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			completion.SetFactoryForCompletion(p.factory)
			return completion.ListContextsInConfig(prefix), cobra.ShellCompDirectiveNoFileComp
		},
		"revision": p.completed(func(ctx context.Context, s *session, names []string) (found []string, err error) {
			collector, err := s.read(ctx, names[0])
			if err != nil {
				return nil, err
			}
			revisions, err := s.revisions(ctx, collector)
			for _, revision := range revisions {
				found = append(found, fmt.Sprintf("%d\t%s ago: %s", revision.Number, ago(revision.Deployed), few(revision.Changes)))
			}
			return found, err
		}),
		"file": p.completed(func(ctx context.Context, s *session, names []string) ([]string, error) {
			collector, err := s.read(ctx, names[0])
			if err != nil {
				return nil, err
			}
			return append(slices.Sorted(maps.Keys(collector.Spec.Collector.Files)), fileOf(collector, "").name), nil
		}),
	}
	for _, column := range []string{"cluster", "tenant"} { // those that there are already
		computed[column] = p.completed(func(ctx context.Context, s *session, _ []string) (found []string, err error) {
			rows, err := p.rows(ctx, s, listing{})
			for _, r := range rows {
				found = append(found, r[column])
			}
			slices.Sort(found)
			return slices.Compact(found), err
		})
	}
	register := func(cmd *cobra.Command, flag *pflag.Flag) {
		complete := computed[flag.Name]
		all, isSpecial := choices[cmd.Name()+" "+flag.Name]
		if few, known := choices[flag.Name]; known && !isSpecial {
			all = few
		}
		if len(all) > 0 {
			complete = cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
		}
		if complete == nil {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(flag.Name, complete); err != nil {
			panic(err) // registered twice: a mistake in this package
		}
	}
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) { register(root, flag) })
	for _, cmd := range commandsOf(root) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name != "output" || cmd.Name() != "create" { // kubectl's own flag
				register(cmd, flag)
			}
		})
	}
}

// commandsOf returns all commands below one.
func commandsOf(cmd *cobra.Command) (found []*cobra.Command) {
	for _, below := range cmd.Commands() {
		found = append(append(found, below), commandsOf(below)...)
	}
	return found
}

// completed completes by what is read from the cluster. Where nothing can be read, there is nothing to complete.
func (p *plugin) completed(read func(context.Context, *session, []string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		s, err := p.connect()
		if err != nil || len(args) == 0 && !slices.Contains([]string{"create", "import", "undo"}, cmd.Name()) {
			return nil, directive
		}
		found, _ := read(cmd.Context(), s, args)
		return found, directive
	}
}
