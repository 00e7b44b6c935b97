// Package chunks stores a release that is too large for one Secret.
//
// It decorates the client with which Helm's Secret driver stores releases: what a Secret cannot hold goes into further
// Secrets, the parts, which an annotation on the release's own Secret names. Parts are named after their content and
// never change. They are written before the annotation names them, and removed after it has stopped to, so that the
// release can be read at any time, whenever the operator is killed. A release that fits is stored as Helm stores it,
// with the same requests. (The library's own storage.NewChunkedSecrets removes the parts of a release before it writes
// new ones, takes three requests for each read of a release that fits one Secret, needs the right to delete collections,
// and hides all releases from the helm command.)
package chunks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// PartsAnnotation is on a Secret that holds the beginning of a release. It names the Secrets that hold the rest, in
	// order, separated by commas.
	PartsAnnotation = "kube8.dev/release-parts"

	// PartType is the type of a Secret that holds a part of a release.
	PartType corev1.SecretType = "kube8.dev/release-part"

	// releaseKey is where Helm's driver puts a release.
	releaseKey = "release"

	// maxSize is how many bytes one Secret holds: the API server refuses more.
	maxSize = corev1.MaxSecretSize
)

// NewSecrets decorates next for one pass over one Collector; it remembers what it has read. next must make the
// Collector the owner of what is created: parts that a killed operator leaves behind go with the Collector.
func NewSecrets(next corev1client.SecretInterface) corev1client.SecretInterface {
	return &secrets{SecretInterface: next, content: map[string][]byte{}, parts: map[string]map[string]bool{}}
}

type secrets struct {
	corev1client.SecretInterface
	content map[string][]byte          // of parts, by name
	parts   map[string]map[string]bool // that were seen, by the name of the release's Secret
}

// Get returns a release's Secret with the whole release in it.
func (s *secrets) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := s.SecretInterface.Get(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return secret, s.join(ctx, secret)
}

// List returns releases' Secrets with the whole releases in them.
func (s *secrets) List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	list, err := s.SecretInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if err := s.join(ctx, &list.Items[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Create stores a release in a new Secret and as many parts as it takes.
func (s *secrets) Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error) {
	head, err := s.split(ctx, secret)
	if err != nil {
		return nil, err
	}
	return s.SecretInterface.Create(ctx, head, opts)
}

// Update stores a release in its Secret and as many parts as it takes, and removes the parts that are not of it any more.
func (s *secrets) Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error) {
	head, err := s.split(ctx, secret)
	if err != nil {
		return nil, err
	}
	updated, err := s.SecretInterface.Update(ctx, head, opts)
	if err != nil {
		return nil, err
	}
	return updated, s.remove(ctx, head.Name, partsOf(head))
}

// Delete removes a release's Secret and its parts, if the Secret was read before, as Helm's driver does.
func (s *secrets) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	if err := s.SecretInterface.Delete(ctx, name, opts); err != nil {
		return err
	}
	return s.remove(ctx, name, nil)
}

// split writes what is too much for secret into parts, and returns secret with the beginning.
func (s *secrets) split(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	release := secret.Data[releaseKey]
	if len(release) <= maxSize {
		return secret, nil
	}
	head := secret.DeepCopy()
	head.Data[releaseKey] = release[:maxSize]
	var names []string
	for content := range slices.Chunk(release[maxSize:], maxSize) {
		name := head.Name + "." + sum(content)
		if err := s.createPart(ctx, name, content); err != nil {
			return nil, fmt.Errorf("store a part of release %s: %w", head.Name, err)
		}
		s.remember(head.Name, name, content)
		names = append(names, name)
	}
	metav1.SetMetaDataAnnotation(&head.ObjectMeta, PartsAnnotation, strings.Join(names, ","))
	return head, nil
}

func (s *secrets) createPart(ctx context.Context, name string, content []byte) error {
	if _, stored := s.content[name]; stored {
		return nil
	}
	_, err := s.SecretInterface.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       PartType,
		Data:       map[string][]byte{releaseKey: content},
		Immutable:  new(true),
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // an operator that was killed then has written it
		_, err = s.readPart(ctx, name)
	}
	return err
}

// join appends its parts to the beginning of a release that secret holds.
func (s *secrets) join(ctx context.Context, secret *corev1.Secret) error {
	for _, name := range partsOf(secret) {
		content, read := s.content[name]
		if !read {
			var err error
			if content, err = s.readPart(ctx, name); err != nil {
				return fmt.Errorf("read release %s, which cannot be used without all its parts; delete that Secret to have "+
					"the Collector deployed anew: %w", secret.Name, err)
			}
		}
		s.remember(secret.Name, name, content)
		secret.Data[releaseKey] = append(secret.Data[releaseKey], content...)
	}
	return nil
}

func (s *secrets) readPart(ctx context.Context, name string) ([]byte, error) {
	part, err := s.SecretInterface.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("its part %s is gone", name) // not that error, which Helm takes for "no release"
	}
	if err != nil {
		return nil, err
	}
	content := part.Data[releaseKey]
	if !strings.HasSuffix(name, "."+sum(content)) {
		return nil, fmt.Errorf("its part %s does not hold what the name says", name)
	}
	return bytes.Clone(content), nil
}

func (s *secrets) remember(secret, part string, content []byte) {
	s.content[part] = content
	if s.parts[secret] == nil {
		s.parts[secret] = map[string]bool{}
	}
	s.parts[secret][part] = true
}

// remove removes the parts that were seen of a release's Secret, but for some.
func (s *secrets) remove(ctx context.Context, secret string, but []string) error {
	for _, name := range slices.Sorted(maps.Keys(s.parts[secret])) {
		if slices.Contains(but, name) {
			continue
		}
		if err := s.SecretInterface.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove a part of release %s: %w", secret, err)
		}
		delete(s.parts[secret], name)
		delete(s.content, name)
	}
	return nil
}

// partsOf returns the names of the parts that hold the rest of secret's release.
func partsOf(secret *corev1.Secret) []string {
	return strings.FieldsFunc(secret.Annotations[PartsAnnotation], func(r rune) bool { return r == ',' })
}

// sum returns what a part's name says about its content: enough of its SHA-256 that no two are taken for the same.
func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:16])
}
