package kubectl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
)

// awaited is for how long after the deletion of a Collector an operator may leave it alone. An operator that is at work writes the status
// within seconds, if only to say what the Collector waits for.
const awaited = 30 * time.Second

// deletion is what `delete` was asked for.
type deletion struct {
	consent
	waiting
	withoutOperator bool
}

func (p *plugin) deleteCommand() *cobra.Command {
	var d deletion
	cmd := p.about("delete", "Delete a Collector, and wait until all that it became has gone",
		`Delete a Collector, after a confirmation. The operator deletes all that it became, and
the command waits for that. Claims stay or go as the Collector says.

Where no operator runs any more, the operator's finalizer keeps the Collector. With
--without-operator, the command waits 30 seconds for an operator. If none has reconciled
the deletion by then, the command removes the finalizer, and Kubernetes deletes the
objects of the Collector. It does the same for a Collector that is being deleted already.`,
		func(ctx context.Context, s *session, name string) error { return p.delete(ctx, s, name, d) })
	d.consent.addFlags(cmd.Flags())
	d.waiting.addFlags(cmd.Flags(), "wait until it has gone", true)
	cmd.Flags().BoolVar(&d.withoutOperator, "without-operator", false, "remove the finalizer if no operator reconciles the deletion")
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) delete(ctx context.Context, s *session, name string, d deletion) error {
	read, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	if err := d.mayChange(read); err != nil {
		return err
	}
	if err := p.confirmTo(ctx, d.consent, "Delete", read); err != nil {
		return err
	}
	if err := s.client.Delete(ctx, read, client.Preconditions(metav1.Preconditions{UID: &read.UID})); err != nil {
		return s.failed("delete", name, err)
	}
	if (d.wait || d.withoutOperator) && !p.isDry() {
		err := p.follow(ctx, s, name, d.waiting, func(now *v1alpha1.Collector) (string, bool, error) {
			switch {
			case now == nil || now.UID != read.UID:
				return "", true, nil
			case d.withoutOperator && isAbandoned(now, time.Now()):
				return "no operator has reconciled the deletion, so its finalizer is removed; Kubernetes deletes the objects of the Collector",
					false, s.letGo(ctx, now)
			}
			return "the operator deletes what it became", false, nil
		})
		if err != nil {
			return err
		}
	}
	return p.done(name, "deleted")
}

// isAbandoned tells whether an operator should have reconciled a Collector's deletion by now, and none has. A deletion is a generation of
// its own.
func isAbandoned(collector *v1alpha1.Collector, now time.Time) bool {
	deleted := collector.DeletionTimestamp
	return deleted != nil && collector.Status.ObservedGeneration < collector.Generation && now.Sub(deleted.Time) >= awaited &&
		slices.Contains(collector.Finalizers, cache.UninstallFinalizer)
}

// letGo removes the operator's finalizer.
func (s *session) letGo(ctx context.Context, collector *v1alpha1.Collector) error {
	others := slices.DeleteFunc(slices.Clone(collector.Finalizers), func(name string) bool { return name == cache.UninstallFinalizer })
	err := s.send(ctx, collector, map[string]any{"metadata": map[string]any{"finalizers": others}})
	if err != nil {
		return fmt.Errorf("remove the finalizer %s: %w", cache.UninstallFinalizer, err)
	}
	return nil
}

// isDeleted tells whether the Collector is being deleted.
func (o *observed) isDeleted() bool { return o.collector.DeletionTimestamp != nil }

// terminating says what a Collector that is being deleted waits for, and what the reader can do.
func (o *observed) terminating() string {
	collector := o.collector
	said := fmt.Sprintf("deleted %s ago, and kept by its finalizers, %s",
		ago(collector.DeletionTimestamp.Time), strings.Join(collector.Finalizers, ", "))
	if isAbandoned(collector, time.Now()) {
		said += fmt.Sprintf("; no operator has reconciled the deletion. If none runs any more: "+
			"kubectl collector delete %s -n %s --without-operator", collector.Name, collector.Namespace)
	}
	return said
}
