package owned

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewSecrets decorates next, in which Helm stores the releases of collector, for one pass. A Secret that is not the
// Collector's gives a *ConflictError, or does not exist for a Collector that is being deleted, so that it neither
// blocks the deletion nor goes with it. next must make the Collector the controller of what is created.
func NewSecrets(next corev1client.SecretInterface, collector client.Object) corev1client.SecretInterface {
	return &secrets{SecretInterface: next, collector: collector, verified: map[string]types.UID{}}
}

type secrets struct {
	corev1client.SecretInterface
	collector client.Object
	verified  map[string]types.UID // by name
}

// verify tells whether secret is the Collector's. If it is not, and the Collector is not being deleted, it returns a
// *ConflictError too.
func (s *secrets) verify(secret *corev1.Secret) (bool, error) {
	if metav1.IsControlledBy(secret, s.collector) {
		s.verified[secret.Name] = secret.UID
		return true, nil
	}
	if s.collector.GetDeletionTimestamp() != nil {
		return false, nil
	}
	return false, &ConflictError{fmt.Sprintf(
		"Helm release %q was not made by this operator: Secret %s belongs to %s; uninstall it, or rename the Collector",
		s.collector.GetName(), secret.Name, ownerOf(secret, s.collector))}
}

// Get returns a Secret of the Collector.
func (s *secrets) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := s.SecretInterface.Get(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	if ours, err := s.verify(secret); err != nil {
		return nil, err
	} else if !ours {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name) //nolint:wrapcheck // as it would be answered
	}
	return secret, nil
}

// List returns the Secrets of the Collector.
func (s *secrets) List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	list, err := s.SecretInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	list.Items = slices.DeleteFunc(list.Items, func(secret corev1.Secret) bool {
		ours, foreign := s.verify(&secret)
		if err == nil {
			err = foreign
		}
		return !ours
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Create creates a Secret.
func (s *secrets) Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error) {
	created, err := s.SecretInterface.Create(ctx, secret, opts)
	if err == nil {
		s.verified[created.Name] = created.UID
	}
	return created, err
}

// Update updates a Secret; no other one than was seen before, whatever has taken its name.
func (s *secrets) Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error) {
	secret.UID = s.verified[secret.Name]
	return s.SecretInterface.Update(ctx, secret, opts)
}

// Delete deletes a Secret; no other one than was seen before, whatever has taken its name.
func (s *secrets) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	if uid, seen := s.verified[name]; seen {
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return s.SecretInterface.Delete(ctx, name, opts)
}
