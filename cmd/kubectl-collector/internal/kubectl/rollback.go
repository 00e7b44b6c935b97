package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if history.Same(spec, current) {
		return p.done(read.Name, fmt.Sprintf("unchanged: its spec is that of revision %d", revision.Number))
	}
	if err := p.compareSpecs(read, revision.Number, current, spec); err != nil {
		return err
	}
	back := read.DeepCopy()
	if back.Spec, err = typed(spec); err != nil {
		return fmt.Errorf("read the spec of revision %d: %w", revision.Number, err)
	}
	if err := check(ctx, back); err != nil {
		return err
	}
	if err := p.confirm(ctx, given, read); err != nil {
		return err
	}
	return p.replace(ctx, s, read, whole, revision.Number, spec)
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

// replace writes the spec of a revision, unless somebody has changed the Collector's meanwhile.
func (p *plugin) replace(
	ctx context.Context, s *session, read *v1alpha1.Collector, whole *unstructured.Unstructured, number int, spec map[string]any,
) error {
	after := whole.DeepCopy()
	after.Object["spec"] = spec
	if err := foresee(ctx, s, p.ErrOut, whole, after); err != nil {
		return err
	}
	for {
		if whole.GetUID() != read.UID || whole.GetGeneration() != read.Generation {
			return changedError{read.Namespace, read.Name}
		}
		whole.Object["spec"] = spec
		err := s.client.Update(ctx, whole, client.FieldValidation(metav1.FieldValidationStrict))
		if err == nil {
			return p.done(read.Name, fmt.Sprintf("rolled back to the spec of revision %d", number))
		}
		if !apierrors.IsConflict(err) {
			return s.failed("change", read.Name, err)
		}
		if whole, err = s.whole(ctx, read.Name); err != nil {
			return err
		}
	}
}

// compareSpecs prints what a rollback changes, without what may be confidential, and what it cannot bring back.
func (p *plugin) compareSpecs(read *v1alpha1.Collector, number int, current, spec map[string]any) error {
	text, err := differenceOf(read.Name+"/spec", fmt.Sprintf("%s/spec (revision %d)", read.Name, number), current, spec)
	if err != nil {
		return err
	}
	if reference, found, _ := unstructured.NestedString(spec, "collector", "configurationSecret", "name"); found {
		fmt.Fprintf(p.ErrOut, "The configuration is in Secret %s, which a rollback does not change.\n", reference)
	}
	return p.paint(text, diffColour)
}
