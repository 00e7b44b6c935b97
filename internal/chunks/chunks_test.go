package chunks_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kube8/kube8-operator/internal/chunks"
)

var errKilled = errors.New("the operator was killed")

// server stores Secrets as the API server does. After a number of writes nothing reaches it any more.
type server struct {
	corev1client.SecretInterface
	secrets  map[string]*corev1.Secret
	requests []string
	writes   int
}

func newServer() *server { return &server{secrets: map[string]*corev1.Secret{}, writes: 1000} }

func (s *server) request(verb, name string, isWrite bool) error {
	if isWrite {
		if s.writes == 0 {
			return errKilled
		}
		s.writes--
	}
	s.requests = append(s.requests, strings.TrimSpace(verb+" "+name))
	return nil
}

func (s *server) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	if err := s.request("get", name, false); err != nil {
		return nil, err
	}
	stored, ok := s.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return stored.DeepCopy(), nil
}

func (s *server) List(_ context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	selector, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &corev1.SecretList{}
	for _, name := range slices.Sorted(maps.Keys(s.secrets)) {
		if selector.Matches(labels.Set(s.secrets[name].Labels)) {
			list.Items = append(list.Items, *s.secrets[name].DeepCopy())
		}
	}
	return list, s.request("list", "", false)
}

func (s *server) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	if err := s.request("create", secret.Name, true); err != nil {
		return nil, err
	}
	if _, ok := s.secrets[secret.Name]; ok {
		return nil, apierrors.NewAlreadyExists(corev1.Resource("secrets"), secret.Name)
	}
	return s.store(secret)
}

func (s *server) Update(_ context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	if err := s.request("update", secret.Name, true); err != nil {
		return nil, err
	}
	return s.store(secret)
}

func (s *server) store(secret *corev1.Secret) (*corev1.Secret, error) {
	size := 0
	for _, value := range secret.Data {
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		return nil, apierrors.NewRequestEntityTooLargeError("Secret")
	}
	s.secrets[secret.Name] = secret.DeepCopy()
	return secret.DeepCopy(), nil
}

func (s *server) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	if err := s.request("delete", name, true); err != nil {
		return err
	}
	if _, ok := s.secrets[name]; !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	delete(s.secrets, name)
	return nil
}

// helmSecret is a Secret as Helm's driver makes it.
func helmSecret(release []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1.gateway.v1", Labels: map[string]string{"owner": "helm", "name": "gateway"}},
		Data:       map[string][]byte{"release": release},
	}
}

// noise returns a release of a size. No two are the same.
func noise(seed uint64, size int) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	release := make([]byte, size)
	for i := range release {
		release[i] = byte(random.Uint32())
	}
	return release
}

// stored returns the release as a new pass reads it, by both ways of reading. It is empty if there is none.
func stored(t *testing.T, from *server) string {
	t.Helper()
	list, err := chunks.NewSecrets(from).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatalf("the release cannot be read: %v", err)
	}
	if len(list.Items) == 0 {
		return ""
	}
	secret, err := chunks.NewSecrets(from).Get(t.Context(), list.Items[0].Name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the release cannot be read: %v", err)
	}
	if string(secret.Data["release"]) != string(list.Items[0].Data["release"]) {
		t.Fatal("get and list give different releases")
	}
	return string(secret.Data["release"])
}

func TestAReleaseIsStoredWhateverItsSize(t *testing.T) {
	for name, test := range map[string]struct{ size, secrets int }{
		"a normal one":             {1000, 1},
		"one that just fits":       {corev1.MaxSecretSize, 1},
		"one that just does not":   {corev1.MaxSecretSize + 1, 2},
		"one of three Secrets":     {3 * corev1.MaxSecretSize, 3},
		"one of more than three":   {3*corev1.MaxSecretSize + 1, 4},
		"one that has no contents": {0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server, release := newServer(), noise(1, test.size)
			if _, err := chunks.NewSecrets(server).Create(t.Context(), helmSecret(release), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if len(server.secrets) != test.secrets {
				t.Errorf("got %d Secrets, want %d", len(server.secrets), test.secrets)
			}
			if stored(t, server) != string(release) {
				t.Error("what is read is not what was stored")
			}
			for name, secret := range server.secrets {
				if name != helmSecret(nil).Name && len(secret.Labels) > 0 {
					t.Errorf("part %s has labels %v, by which others would take it for something else", name, secret.Labels)
				}
			}
		})
	}
}

func TestANormalReleaseTakesNoMoreRequests(t *testing.T) {
	server := newServer()
	secrets := chunks.NewSecrets(server)
	use(t, secrets, noise(1, 1000), noise(2, 1000), func() {})
	want := []string{
		"create sh.helm.release.v1.gateway.v1", "list", "update sh.helm.release.v1.gateway.v1",
		"get sh.helm.release.v1.gateway.v1", "delete sh.helm.release.v1.gateway.v1",
	}
	if diff := cmp.Diff(want, server.requests); diff != "" {
		t.Error(diff)
	}
}

// use stores a release, reads it, changes it, and deletes it as Helm's driver does. Between the last two it calls
// afterUpdate.
func use(t *testing.T, secrets corev1client.SecretInterface, first, second []byte, afterUpdate func()) {
	t.Helper()
	_, created := secrets.Create(t.Context(), helmSecret(first), metav1.CreateOptions{})
	_, listed := secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	_, updated := secrets.Update(t.Context(), helmSecret(second), metav1.UpdateOptions{})
	afterUpdate()
	_, read := secrets.Get(t.Context(), helmSecret(nil).Name, metav1.GetOptions{})
	deleted := secrets.Delete(t.Context(), helmSecret(nil).Name, metav1.DeleteOptions{})
	if err := errors.Join(created, listed, updated, read, deleted); err != nil {
		t.Fatal(err)
	}
}

func TestNoPartIsLeftBehind(t *testing.T) {
	large, other, small := noise(1, 2*corev1.MaxSecretSize+1), noise(2, 2*corev1.MaxSecretSize), noise(3, 1000)
	for name, test := range map[string]struct {
		first, second []byte
		secrets       int // of the second
	}{
		"of a release that changes": {large, other, 2},
		"of one that shrinks":       {large, small, 1},
		"of one that grows":         {small, large, 3},
		"of one that stays":         {large, large, 3},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer()
			use(t, chunks.NewSecrets(server), test.first, test.second, func() {
				if len(server.secrets) != test.secrets {
					t.Errorf("got %d Secrets after the change, want %d", len(server.secrets), test.secrets)
				}
			})
			if len(server.secrets) > 0 {
				t.Errorf("left behind: %v", slices.Sorted(maps.Keys(server.secrets)))
			}
		})
	}
}

func TestAKilledOperatorLeavesAReleaseThatCanBeRead(t *testing.T) {
	first, second := noise(1, 2*corev1.MaxSecretSize+1), noise(2, 3*corev1.MaxSecretSize)
	for _, releases := range [][2][]byte{{first, second}, {first, noise(3, 10)}, {noise(3, 10), first}} {
		for writes := 0; ; writes++ {
			server := newServer()
			if _, err := chunks.NewSecrets(server).Create(t.Context(), helmSecret(releases[0]), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			// A new pass, as after a restart, that ends after so many writes.
			killed := chunks.NewSecrets(server)
			if _, err := killed.List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"}); err != nil {
				t.Fatal(err)
			}
			server.writes = writes
			_, err := killed.Update(t.Context(), helmSecret(releases[1]), metav1.UpdateOptions{})
			if now := stored(t, server); now != string(releases[0]) && now != string(releases[1]) {
				t.Fatalf("killed after %d writes of an update: the release is neither the old nor the new one", writes)
			}
			server.writes = 1000
			if _, err := chunks.NewSecrets(server).Update(t.Context(), helmSecret(releases[1]), metav1.UpdateOptions{}); err != nil {
				t.Fatalf("killed after %d writes of an update, which cannot be repeated: %v", writes, err)
			}
			if err == nil {
				break // it was done before it was killed
			}
		}
	}
	for writes := 0; ; writes++ {
		server := newServer()
		server.writes = writes
		_, err := chunks.NewSecrets(server).Create(t.Context(), helmSecret(first), metav1.CreateOptions{})
		if now := stored(t, server); (err == nil && now == "") || (now != "" && now != string(first)) {
			t.Fatalf("killed after %d writes of an install: got %d bytes of a release", writes, len(now))
		}
		if err == nil {
			break
		}
	}
}

func TestAReleaseWithoutOneOfItsPartsIsNotReadAsNone(t *testing.T) {
	for name, spoil := range map[string]func(*server, string){
		"a part is gone":              func(s *server, name string) { delete(s.secrets, name) },
		"a part holds something else": func(s *server, name string) { s.secrets[name].Data["release"] = []byte("?") },
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer()
			head, err := chunks.NewSecrets(server).Create(t.Context(), helmSecret(noise(1, 2*corev1.MaxSecretSize)), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			spoil(server, head.Annotations[chunks.PartsAnnotation])
			_, err = chunks.NewSecrets(server).Get(t.Context(), head.Name, metav1.GetOptions{})
			// Helm takes either for "there is no release".
			if err == nil || apierrors.IsNotFound(err) || strings.Contains(err.Error(), "not found") {
				t.Errorf("got %v, want another error", err)
			}
		})
	}
}
