package owned_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/kube8/kube8-operator/internal/owned"
)

// releaseSecret is a Secret of a release, controlled by a Collector with the UID owner, or by nobody.
func releaseSecret(name string, owner types.UID) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, UID: types.UID("of " + name)}}
	if owner != "" {
		secret.OwnerReferences = []metav1.OwnerReference{{Kind: "Collector", Name: "gateway", UID: owner, Controller: new(true)}}
	}
	return secret
}

func TestSecretsOfSomebodyElse(t *testing.T) {
	const name = "sh.helm.release.v1.gateway.v1"
	for title, test := range map[string]struct {
		owner    types.UID
		deleted  bool // the Collector is being deleted
		found    bool
		conflict string
	}{
		"a release of the Collector":                      {owner: "ours", found: true},
		"a release of the Collector, which is deleted":    {owner: "ours", deleted: true, found: true},
		"somebody's release blocks no deletion":           {deleted: true},
		"an earlier Collector's release blocks none":      {owner: "earlier", deleted: true},
		"somebody's release is not taken":                 {conflict: "nobody that it names"},
		"a release of an earlier Collector of this name ": {owner: "earlier", conflict: "an earlier Collector/gateway"},
	} {
		t.Run(title, func(t *testing.T) {
			collector := newCollector()
			if test.deleted {
				collector.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			}
			stored := fake.NewClientset(releaseSecret(name, test.owner)).CoreV1().Secrets("tenant")
			secrets := owned.NewSecrets(stored, collector)

			list, listErr := secrets.List(t.Context(), metav1.ListOptions{})
			secret, getErr := secrets.Get(t.Context(), name, metav1.GetOptions{})
			switch {
			case test.conflict != "":
				want := `Helm release "gateway" was not made by this operator: Secret ` + name + " belongs to " + test.conflict +
					"; uninstall it, or rename the Collector"
				for verb, err := range map[string]error{"get": getErr, "list": listErr} {
					if conflict, ok := errors.AsType[*owned.ConflictError](err); !ok || conflict.Error() != want {
						t.Errorf("%s: got %v\nwant %s", verb, err, want)
					}
				}
			case test.found:
				if listErr != nil || len(list.Items) != 1 || getErr != nil || secret.Name != name {
					t.Errorf("got %v, %v and %v, %v; want the Secret", list, listErr, secret, getErr)
				}
			default:
				if listErr != nil || len(list.Items) != 0 || !apierrors.IsNotFound(getErr) {
					t.Errorf("got %v, %v and %v, %v; want nothing", list, listErr, secret, getErr)
				}
			}
		})
	}
}

func TestNoOtherSecretIsChangedThanWasVerified(t *testing.T) {
	const name = "sh.helm.release.v1.gateway.v1"
	stored := fake.NewClientset(releaseSecret(name, "ours"))
	secrets := owned.NewSecrets(stored.CoreV1().Secrets("tenant"), newCollector())
	_, listed := secrets.List(t.Context(), metav1.ListOptions{})
	rewritten := releaseSecret(name, "ours") // as Helm's driver makes it anew
	rewritten.UID = ""
	_, updated := secrets.Update(t.Context(), rewritten, metav1.UpdateOptions{})
	deleted := secrets.Delete(t.Context(), name, metav1.DeleteOptions{})
	if err := errors.Join(listed, updated, deleted); err != nil {
		t.Fatal(err)
	}
	want := types.UID("of " + name)
	for _, action := range stored.Actions() {
		switch action := action.(type) {
		case k8stesting.UpdateActionImpl:
			if got := action.Object.(*corev1.Secret).UID; got != want {
				t.Errorf("update of the Secret with UID %q, want %q", got, want)
			}
		case k8stesting.DeleteActionImpl:
			if got := action.DeleteOptions.Preconditions; got == nil || *got.UID != want {
				t.Errorf("delete with preconditions %v, want UID %q", got, want)
			}
		}
	}
}
