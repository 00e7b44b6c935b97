package kubectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
	"github.com/kube8/kube8-operator/internal/configuration"
)

func (p *plugin) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show, change and compare a Collector's configuration",
		Long: `Show, change and compare a Collector's configuration, as text.

A change is checked first, by the code of the operator and the API server. It is
sent once you have seen the difference and confirmed it, and only if no other client
has changed the Collector meanwhile.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.configGetCommand(), p.configEditCommand(), p.configSetCommand(), p.configDiffCommand())
	return cmd
}

const fileUsage = "another file of the Collector than its configuration, by its name in /etc/collector"

func (p *plugin) configGetCommand() *cobra.Command {
	var name string
	var revision int
	cmd := p.about("get", "Print the configuration",
		`Print the configuration, byte for byte. It may hold credentials.

A configuration in a Secret, named by spec.collector.configurationSecret, is read from there.`,
		func(ctx context.Context, s *session, collector string) error {
			content, err := s.configuration(ctx, collector, name, revision)
			if err != nil {
				return err
			}
			_, err = p.Out.Write(content)
			return err //nolint:wrapcheck // of standard output
		})
	cmd.Flags().StringVar(&name, "file", "", fileUsage)
	cmd.Flags().IntVar(&revision, "revision", 0, "print that of a revision; 'kubectl collector history' lists them")
	return cmd
}

// configuration returns a Collector's file as its spec has it or, with a revision, as that was deployed.
func (s *session) configuration(ctx context.Context, name, fileName string, revision int) ([]byte, error) {
	collector, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	if revision == 0 {
		return s.contentOf(ctx, collector, fileOf(collector, fileName))
	}
	return s.configurationOf(ctx, collector, fileName, revision)
}

// configurationOf returns a Collector's file as a revision had it.
func (s *session) configurationOf(ctx context.Context, collector *v1alpha1.Collector, fileName string, number int) ([]byte, error) {
	revisions, err := s.revisions(ctx, collector)
	if err != nil {
		return nil, err
	}
	revision, err := history.Find(revisions, number)
	if err != nil {
		return nil, err
	}
	files, err := revision.Files(ctx, s.client, s.namespace)
	if err != nil {
		return nil, err
	}
	f := fileOf(collector, fileName)
	content, found := files[configuration.FileKey(f.name)]
	if !found {
		return nil, noFileError{fmt.Errorf("revision %d has no file %s; name another by --file", number, f.name)}
	}
	return content, nil
}

func (p *plugin) configDiffCommand() *cobra.Command {
	var name, from string
	var revision int
	var exitCode bool
	cmd := p.about("diff", "Show what changed, or what would change",
		`Show a difference of the configuration, as diff -u does.

With --from-file: what config set would change.
With --revision: what was changed since that revision.
With neither: what was changed since the last revision that had another one.`,
		func(ctx context.Context, s *session, collector string) error {
			before, after, err := p.compared(ctx, s, collector, name, from, revision)
			if err != nil {
				return err
			}
			text, err := unified(before.name, before.text, after.name, after.text)
			if err != nil {
				return err
			}
			if err := p.paint(text, diffColour); err != nil {
				return err
			}
			if exitCode && text != "" {
				return errors.New("the two differ")
			}
			return nil
		})
	cmd.Flags().StringVar(&name, "file", "", fileUsage)
	cmd.Flags().StringVar(&from, "from-file", "", "compare with this file, or - for standard input")
	cmd.Flags().IntVar(&revision, "revision", 0, "compare with a revision; 'kubectl collector history' lists them")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with the exit code 1 if there is a difference")
	cmd.MarkFlagsMutuallyExclusive("from-file", "revision")
	return cmd
}

type named struct{ name, text string }

// compared returns the two texts that config diff compares. A file that only one side has is new or gone, so the other text is empty.
func (p *plugin) compared(ctx context.Context, s *session, name, fileName, from string, revision int) (before, after named, err error) {
	collector, err := s.read(ctx, name)
	if err != nil {
		return before, after, err
	}
	f := fileOf(collector, fileName)
	content, err := s.contentOf(ctx, collector, f)
	_, isAbsent := errors.AsType[noFileError](err)
	if err != nil && !isAbsent {
		return before, after, err
	}
	current := named{name + "/" + f.name, string(content)}
	if from != "" {
		content, err := p.input(from)
		return current, named{from, string(content)}, err
	}
	if revision == 0 {
		last, otherErr := s.lastOther(ctx, collector, f.name, current.text)
		if otherErr != nil {
			return before, after, cmp.Or(err, otherErr)
		}
		revision = last
	}
	old, err := s.configurationOf(ctx, collector, fileName, revision)
	if _, isNew := errors.AsType[noFileError](err); isNew && !isAbsent {
		err = nil
	}
	return named{fmt.Sprintf("%s (revision %d)", current.name, revision), string(old)}, current, err
}

// lastOther returns the newest revision that had another content of a file.
func (s *session) lastOther(ctx context.Context, collector *v1alpha1.Collector, file, content string) (int, error) {
	revisions, err := s.revisions(ctx, collector)
	if err != nil {
		return 0, err
	}
	for _, revision := range revisions {
		if files, err := revision.Files(ctx, s.client, s.namespace); err == nil && string(files[configuration.FileKey(file)]) != content {
			return revision.Number, nil
		}
	}
	return 0, errors.New("no recorded revision had another configuration")
}
