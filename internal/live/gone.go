package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// AwaitGone waits until a Collector has nothing more: look says what it has. The error names what there is, and what holds it. For what
// a finalizer holds it does not wait.
func AwaitGone(ctx context.Context, most time.Duration, look func() (map[Reference]Object, error)) error {
	var names []string
	err := wait.PollUntilContextTimeout(ctx, 2*time.Millisecond, most, true, func(context.Context) (bool, error) {
		found, err := look()
		if err != nil {
			return false, err
		}
		var areHeld bool
		names, areHeld = left(found)
		return areHeld, nil
	})
	switch {
	case len(names) > 0:
		return fmt.Errorf("deleted, but still there: %s", strings.Join(names, ", "))
	case err != nil:
		return fmt.Errorf("wait for what was deleted: %w", err)
	}
	return nil
}

// left names objects that are being deleted, and what holds them. It tells whether there is nothing to wait for but finalizers.
func left(objects map[Reference]Object) (names []string, areHeld bool) {
	areHeld = true
	for what, object := range objects {
		name := what.String()
		if len(object.Finalizers) > 0 {
			name += " with finalizers " + strings.Join(object.Finalizers, ", ")
		}
		names, areHeld = append(names, name), areHeld && object.Deleting && len(object.Finalizers) > 0
	}
	slices.Sort(names)
	return names, areHeld
}
