package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
)

func (p *plugin) rollbackCommand() *cobra.Command {
	var number int
	var given consent
	var w waiting
	cmd := p.about("rollback", "Give a Collector the spec of an earlier revision",
		`Give a Collector the spec of an earlier revision: of the newest one that differs from
its spec, or of --revision.

This writes the Collector's spec, as any change does, and the operator deploys it as a
new revision. The difference is shown without the configuration, which kubectl
collector config diff shows. Another text that may be confidential is "(hidden)", and
"(changed)" where it differs.`,
		func(ctx context.Context, s *session, name string) error {
			read, err := s.read(ctx, name)
			if err != nil {
				return err
			}
			if err := errors.Join(given.mayChange(read), p.mayAsk(given)); err != nil {
				return err
			}
			if err := p.rollback(ctx, s, read, number, given); err != nil {
				return err
			}
			return p.until(ctx, s, name, w)
		})
	cmd.Flags().IntVar(&number, "revision", 0, "the revision; 'kubectl collector history' lists them")
	given.addFlags(cmd.Flags())
	w.addFlags(cmd.Flags(), untilReady, false)
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) rollback(ctx context.Context, s *session, read *v1alpha1.Collector, number int, given consent) error {
	revisions, err := s.revisions(ctx, read)
	if err != nil {
		return err
	}
	whole, err := s.whole(ctx, read.Name)
	if err != nil {
		return err
	}
	current, _, err := unstructured.NestedMap(whole.Object, "spec")
	if err != nil {
		return fmt.Errorf("read the spec: %w", err)
	}
	revision, err := history.Other(revisions, current)
	if number != 0 {
		revision, err = history.Find(revisions, number)
	}
	if err != nil {
		return err
	}
	spec := revision.Spec(current)
	if spec == nil {
		return fmt.Errorf("the spec of revision %d was too large to be recorded; its configuration is there: "+
			"kubectl collector config get %s -n %s --revision %[1]d", revision.Number, read.Name, s.namespace)
	}
	if reference, found, _ := unstructured.NestedString(spec, "collector", "configurationSecret", "name"); found {
		fmt.Fprintf(p.ErrOut, "The configuration is in Secret %s, which a rollback does not change.\n", reference)
	}
	return p.propose(ctx, s, whole, spec, given, proposal{
		as: revision.String(), same: "its spec is that of " + revision.String(), done: "rolled back to the spec of " + revision.String(),
	})
}

func typed(spec map[string]any) (read v1alpha1.CollectorSpec, err error) {
	text, err := json.Marshal(spec)
	return read, errors.Join(err, json.Unmarshal(text, &read))
}

// whole returns a Collector with all its fields, also those that this version does not know.
func (s *session) whole(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	whole := &unstructured.Unstructured{}
	whole.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, whole); err != nil {
		return nil, s.failed("read", name, err)
	}
	return whole, nil
}
