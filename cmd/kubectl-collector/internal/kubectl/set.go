package kubectl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	cmdeditor "k8s.io/kubectl/pkg/cmd/util/editor"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func (p *plugin) configSetCommand() *cobra.Command {
	var name, from string
	var given consent
	var w waiting
	cmd := p.about("set", "Replace the configuration by a file",
		`Replace the configuration by a file, after a check, a look at the difference and a
confirmation. A name that --file gives and that the Collector does not have yet
becomes a further file.`,
		func(ctx context.Context, s *session, collector string) error {
			if from == "" {
				return errors.New("name the new configuration by --from-file, or - for standard input")
			}
			read, f, err := p.writable(ctx, s, collector, name, given)
			if err != nil {
				return err
			}
			content, err := p.input(from)
			if err != nil {
				return err
			}
			if err := p.write(ctx, s, read, f, content, given); err != nil {
				return err
			}
			return p.until(ctx, s, collector, w)
		})
	cmd.Flags().StringVar(&name, "file", "", fileUsage)
	cmd.Flags().StringVar(&from, "from-file", "", "the new content, or - for standard input")
	given.addFlags(cmd.Flags())
	w.addFlags(cmd.Flags(), untilReady, false)
	p.mayBeDry(cmd)
	return cmd
}

// writable reads a Collector, and returns an error if the file of that name cannot be changed here.
func (p *plugin) writable(ctx context.Context, s *session, name, fileName string, given consent) (*v1alpha1.Collector, file, error) {
	read, err := s.read(ctx, name)
	if err != nil {
		return nil, file{}, err
	}
	f := fileOf(read, fileName)
	return read, f, errors.Join(f.isElsewhere(read), given.mayChange(read), p.mayAsk(given))
}

// write checks a new content of a file, shows the difference, asks for a confirmation, and sends it.
func (p *plugin) write(ctx context.Context, s *session, read *v1alpha1.Collector, f file, content []byte, given consent) error {
	if len(content) == 0 {
		return refusedError{errors.New("refused, and not sent: the file is empty")}
	}
	before, _ := f.content(read)
	difference, err := unified(read.Name+"/"+f.name, string(before), read.Name+"/"+f.name+" (new)", string(content))
	if err != nil {
		return err
	}
	if difference == "" {
		return p.done(read.Name, "unchanged")
	}
	changed, patch := f.put(read, content)
	if err := check(ctx, s, changed); err != nil {
		return err
	}
	if err := p.paint(difference, diffColour); err != nil {
		return err
	}
	if err := p.confirm(ctx, given, read); err != nil {
		return err
	}
	if err := s.send(ctx, read, patch); err != nil {
		return err
	}
	return p.done(read.Name, "configured")
}

func (p *plugin) configEditCommand() *cobra.Command {
	var name string
	var given consent
	var w waiting
	cmd := p.about("edit", "Change the configuration in an editor",
		`Change the configuration in the editor of $KUBE_EDITOR or $EDITOR. It opens again with
the reason on top if the text is refused, by the check or by the API server.

A change that cannot be sent is not lost: it stays in a file that the message names.`,
		func(ctx context.Context, s *session, collector string) error {
			read, f, err := p.writable(ctx, s, collector, name, given)
			if err != nil {
				return err
			}
			before, err := s.contentOf(ctx, read, f)
			if err != nil {
				return err
			}
			if err := p.edit(ctx, s, read, f, before, given); err != nil {
				return err
			}
			return p.until(ctx, s, collector, w)
		})
	cmd.Flags().StringVar(&name, "file", "", fileUsage)
	given.addFlags(cmd.Flags())
	w.addFlags(cmd.Flags(), untilReady, false)
	p.mayBeDry(cmd)
	return cmd
}

// edit has the user edit a file until it can be sent. Its text stays in a file if it is not.
func (p *plugin) edit(ctx context.Context, s *session, read *v1alpha1.Collector, f file, before []byte, given consent) error {
	dir, err := os.MkdirTemp("", "kubectl-collector-")
	if err != nil {
		return fmt.Errorf("make a folder for the text: %w", err)
	}
	path := filepath.Join(dir, filepath.Base(f.name)) // editors know the syntax by the name
	content, comment, refusal := before, "", error(nil)
	for {
		if err := os.WriteFile(path, append([]byte(comment), content...), 0o600); err != nil {
			return fmt.Errorf("write the text: %w", err)
		}
		if err := cmdeditor.NewDefaultEditor([]string{"KUBE_EDITOR", "EDITOR"}).Launch(path); err != nil {
			return fmt.Errorf("%w; set $KUBE_EDITOR to your editor; the text is in %s", err, path)
		}
		edited, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read what was edited: %w", err)
		}
		edited = withoutComment(edited, comment)
		if refusal != nil && bytes.Equal(edited, content) {
			err = fmt.Errorf("saved as it was, so nothing was sent: %w", refusal) // as kubectl edit ends
		} else if err = p.write(ctx, s, read, f, edited, given); isRefusal(err) && term.IsTerminal(p.In) {
			fmt.Fprintln(p.ErrOut, err)
			content, comment, refusal = edited, commentOf(err), err
			continue
		}
		if err == nil {
			return os.RemoveAll(dir) //nolint:wrapcheck // it names the folder
		}
		return errors.Join(fmt.Errorf("%w\nyour text is in %s; to send it: kubectl collector config set %s -n %s --from-file %s%s",
			err, path, read.Name, read.Namespace, path, f.flag()), os.WriteFile(path, edited, 0o600))
	}
}

// isRefusal tells whether another text could be accepted.
func isRefusal(err error) bool {
	return errors.As(err, new(refusedError)) || apierrors.IsInvalid(err) || isByAdmission(err)
}

// commentOf returns what an editor shows above a text that is refused.
func commentOf(refusal error) string {
	var comment strings.Builder
	for line := range strings.SplitSeq("Nothing was changed, because this text is not valid. Save it as it is to give up.\n"+
		"These lines are not part of it.\n"+refusal.Error(), "\n") {
		comment.WriteString("# " + escape(line) + "\n")
	}
	return comment.String()
}

// withoutComment returns a text without the lines of a comment that are above it.
func withoutComment(text []byte, comment string) []byte {
	for comment != "" {
		line, _, found := bytes.Cut(text, []byte("\n"))
		if !found || !strings.Contains("\n"+comment, "\n"+string(line)+"\n") {
			break
		}
		text = text[len(line)+1:]
	}
	return text
}

// flag is what makes another command about this file.
func (f file) flag() string {
	if f.configuration {
		return ""
	}
	return " --file " + f.name
}
