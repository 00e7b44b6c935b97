package kubectl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// becomes says what an apply does to a Collector, and returns what that makes of it, by a dry run: fields of other managers stay. It marks
// one whose spec it changes. before is nil if there is none yet. That one becomes what its file says, as each does with --dry-run=client.
func (s *session) becomes(
	ctx context.Context, before, wanted *unstructured.Unstructured, m manifest,
) (tried *unstructured.Unstructured, what string, err error) {
	if before == nil {
		s.mark(ctx, wanted, 1)
		return wanted, "created", nil
	}
	if mark, isMarked := before.GetAnnotations()[v1alpha1.WrittenByAnnotation]; isMarked { // it stays as long as the spec does
		annotate(wanted, v1alpha1.WrittenByAnnotation, mark)
	}
	tried = wanted.DeepCopy()
	if err := s.apply(ctx, tried, m, client.DryRunAll); err != nil {
		return nil, "", err
	}
	switch {
	case tried.GetGeneration() != before.GetGeneration():
		s.mark(ctx, wanted, before.GetGeneration()+1)
	case maps.Equal(before.GetLabels(), tried.GetLabels()) && maps.Equal(before.GetAnnotations(), tried.GetAnnotations()):
		return tried, "unchanged", nil
	}
	return tried, "configured", nil
}

// mark notes in a Collector who wrote that generation of it.
func (s *session) mark(ctx context.Context, collector *unstructured.Unstructured, generation int64) {
	name, value := s.markOf(ctx, generation)
	annotate(collector, name, value)
}

func annotate(collector *unstructured.Unstructured, name, value string) {
	annotations := collector.GetAnnotations() // a copy
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	collector.SetAnnotations(annotations)
}

// apply has the API server merge a Collector, which becomes what that answers. It takes over fields that other commands of the plugin have
// written: to the API server, these are the fields of another manager, of the same name.
func (s *session) apply(ctx context.Context, wanted *unstructured.Unstructured, m manifest, options ...client.ApplyOption) error {
	if m.force {
		options = append(options, client.ForceOwnership)
	}
	err := s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), options...)
	if isOwnConflict(err) {
		err = s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), append(options, client.ForceOwnership)...)
	}
	if apierrors.IsConflict(err) {
		return fmt.Errorf("another client owns a field of Collector %s/%s; leave the field out, or take it over by --force-conflicts: %w",
			s.namespace, wanted.GetName(), err)
	}
	if err != nil {
		return s.failed("apply", wanted.GetName(), err)
	}
	return nil
}

// isOwnConflict tells whether only fields of the plugin's own manager are in the way of an apply.
func isOwnConflict(err error) bool {
	refusal, is := errors.AsType[*apierrors.StatusError](err)
	if !is || !apierrors.IsConflict(err) || refusal.ErrStatus.Details == nil {
		return false
	}
	causes := refusal.ErrStatus.Details.Causes
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Type != metav1.CauseTypeFieldManagerConflict || !strings.HasPrefix(cause.Message, fmt.Sprintf("conflict with %q", manager))
	})
}
