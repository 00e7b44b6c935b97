package kubectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// gatedAnnotation on the operator's namespace says that there was a gate before all changes were paused.
const gatedAnnotation = "kube8.dev/rollout-gated"

// namespaceCommand writes metadata of the operator's namespace, to pause or continue all changes. steer changes the metadata, and returns
// what to say.
func (p *plugin) namespaceCommand(use, short string, steer func(*corev1.Namespace) (said string, err error)) *cobra.Command {
	long := short + ". It writes to the operator's namespace.\nOwners' own changes go at once in any case."
	cmd := p.ofFleet(&cobra.Command{Use: use, Short: short, Long: long, Args: cobra.NoArgs},
		func(ctx context.Context, s *session, operators string, _ []string) error {
			namespace := &corev1.Namespace{}
			err := s.client.Get(ctx, client.ObjectKey{Name: operators}, namespace)
			if apierrors.IsNotFound(err) {
				return fmt.Errorf("there is no namespace %s; name the operator's by --operator-namespace", operators)
			}
			if err != nil {
				return fmt.Errorf("read namespace %s: %w", operators, err)
			}
			before := namespace.DeepCopy()
			said, err := steer(namespace)
			if err != nil {
				return err
			}
			if err := s.client.Patch(ctx, namespace, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("write to namespace %s: %w", operators, err)
			}
			return p.did("namespace/"+operators, said)
		})
	p.mayBeDry(cmd)
	return cmd
}

// pauseAll pauses all changes. The same label has a gate, which resumeAll sets again.
func pauseAll(namespace *corev1.Namespace) (said string, err error) {
	was := namespace.Labels[v1alpha1.RolloutLabel]
	if was == v1alpha1.RolloutHold {
		return "is paused already", nil
	}
	if delete(namespace.Annotations, gatedAnnotation); was == v1alpha1.RolloutGate { // it can be of a pause that was ended by the label
		metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, gatedAnnotation, "true")
	}
	metav1.SetMetaDataLabel(&namespace.ObjectMeta, v1alpha1.RolloutLabel, v1alpha1.RolloutHold)
	return "paused: changes reach no further Collector until `kubectl collector rollout resume`; those on their way go on", nil
}

func resumeAll(namespace *corev1.Namespace) (said string, err error) {
	if namespace.Labels[v1alpha1.RolloutLabel] != v1alpha1.RolloutHold {
		return "is not paused", nil
	}
	delete(namespace.Labels, v1alpha1.RolloutLabel)
	if _, isGated := namespace.Annotations[gatedAnnotation]; isGated {
		delete(namespace.Annotations, gatedAnnotation)
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, v1alpha1.RolloutLabel, v1alpha1.RolloutGate)
		return "resumed: changes reach Collectors again; each ring waits at its gate as before", nil
	}
	return "resumed: changes reach Collectors again", nil
}

// continueAll lets the next ring begin. The time is exact: a ring that was done in the same second is one before it.
func continueAll(namespace *corev1.Namespace) (said string, err error) {
	if namespace.Labels[v1alpha1.RolloutLabel] == v1alpha1.RolloutHold {
		return "", errors.New("changes are paused, so no ring begins; first: kubectl collector rollout resume")
	}
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, v1alpha1.ContinuedAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	return "continued: the next ring begins, if the rings before it are done", nil
}
