package kubectl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mayBeDry gives a command that changes something kubectl's flag --dry-run. Its session then writes nothing.
func (p *plugin) mayBeDry(cmd *cobra.Command) {
	cmdutil.AddDryRunFlag(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if p.dryRun, err = cmdutil.GetDryRunStrategy(cmd); err != nil {
			return fmt.Errorf("--dry-run: %w", err)
		}
		return run(cmd, args)
	}
}

// isDry tells whether nothing is changed, so that there is nothing to confirm and nothing to wait for.
func (p *plugin) isDry() bool { return p.dryRun != cmdutil.DryRunNone }

// writes returns a client that writes as --dry-run says.
func (p *plugin) writes(c client.Client) client.Client {
	switch p.dryRun {
	case cmdutil.DryRunServer:
		return client.NewDryRunClient(c)
	case cmdutil.DryRunClient:
		return reader{c}
	}
	return c
}

// reader is a client that sends no write.
type reader struct{ client.Client }

func (reader) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }
func (reader) Update(context.Context, client.Object, ...client.UpdateOption) error { return nil }
func (reader) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }
func (reader) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}
func (reader) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return nil
}
