package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kube8/kube8-operator/test/golden"
)

// CompareReference compares a page of docs/reference with what a command line says of itself, or writes the page. test are the
// arguments of go test that run the caller.
func CompareReference(t *testing.T, page, title, test string, root *cobra.Command) {
	t.Helper()
	golden.Compare(t, page, reference(title, test, root), test)
}

// reference returns the page of a command line: a section for each command, with its flags in a table.
func reference(title, test string, root *cobra.Command) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n\n<!-- This page is written by: go test %s -update -->\n", title, test)
	var write func(*cobra.Command)
	write = func(cmd *cobra.Command) {
		if cmd.IsAvailableCommand() || cmd == root {
			cmd.InitDefaultHelpFlag()
			said := strings.TrimSpace(cmd.Long)
			if said == "" {
				said = cmd.Short + "."
			}
			fmt.Fprintf(&page, "\n## %s\n\n%s\n", cmd.CommandPath(), said)
			if cmd.Runnable() {
				fmt.Fprintf(&page, "\n```text\n%s\n```\n", cmd.UseLine())
			}
			if example := strings.TrimSpace(cmd.Example); example != "" {
				fmt.Fprintf(&page, "\nFor example:\n\n```text\n%s\n```\n", example)
			}
			page.WriteString(flags(cmd, root))
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				write(sub)
			}
		}
	}
	write(root)
	return page.String()
}

// flags returns a table of the flags that only a command has, or "". Those of a test's program are left out.
func flags(cmd, root *cobra.Command) string {
	var table strings.Builder
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		isRoots := cmd != root && root.Flags().Lookup(f.Name) == f
		if f.Hidden || isRoots || f.Name == "help" || f.Name == "update" || strings.HasPrefix(f.Name, "test.") {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", name, kind, value, cell.Replace(usage))
	})
	if table.Len() == 0 {
		return ""
	}
	return "\n| Flag | Type | Default | Meaning |\n| --- | --- | --- | --- |\n" + table.String()
}

// cell makes text one cell of a table.
var cell = strings.NewReplacer("Output format. One of: ", "Output format: ", "|", `\|`, "\n", " ", "<", `\<`)
