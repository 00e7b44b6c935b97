package release

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Only the object that was verified in the cache is changed. A creation never changes an object that exists.
func TestAnApplyIsPinned(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("Secret")
	for name, test := range map[string]struct {
		before       client.Object
		uid, version string
	}{
		"a change, to the object that was verified": {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "1-2-3"}}, "1-2-3", ""},
		"a creation, to a version that nothing has": {nil, "", absent},
	} {
		r := clientOf(t, "apiVersion: v1\nkind: Secret\n")
		r.ctx = t.Context()
		var sent metav1.PartialObjectMetadata
		fake, ok := r.cluster.(client.WithWatch)
		if !ok {
			t.Fatal("the fake client cannot watch")
		}
		r.cluster = interceptor.NewClient(fake, interceptor.Funcs{
			Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
				text, err := patch.Data(obj)
				if err != nil || patch.Type() != types.ApplyPatchType {
					t.Errorf("%s: a %s, error %v", name, patch.Type(), err)
				}
				return json.Unmarshal(text, &sent)
			},
		})
		s := &step{object: objectIn(kind, "acme"), ref: newRef(kind, "a"), before: test.before}
		if err := r.applyStep(s); err != nil {
			t.Fatal(err)
		}
		if string(sent.UID) != test.uid || sent.ResourceVersion != test.version {
			t.Errorf("%s: sent UID %q and version %q", name, sent.UID, sent.ResourceVersion)
		}
	}
}
