package apply

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// script is a cluster whose objects are given, and that refuses what refuse says. It notes what is asked of it.
type script struct {
	claims []corev1.PersistentVolumeClaim
	live   map[live.Reference]*unstructured.Unstructured
	refuse func(request Request) error
	keeps  error // refuses deletions
	asked  []string
}

func (c *script) Apply(_ context.Context, request Request) (live.Object, error) {
	line := "apply " + request.Ref.Use()
	if request.DryRun {
		line = "try " + request.Ref.Use()
	}
	for _, part := range []string{"as " + request.Name, "of " + string(request.UID), "at " + request.Version} {
		if !strings.HasSuffix(part, " ") {
			line = strings.Join([]string{line, part}, " ")
		}
	}
	if request.Replicas != 0 {
		line += fmt.Sprintf(" with %d pods", request.Replicas)
	}
	if request.Manager != managedfields.Manager {
		line += " by " + request.Manager
	}
	c.asked = append(c.asked, line)
	if c.refuse != nil {
		if err := c.refuse(request); err != nil {
			return live.Object{}, err
		}
	}
	return live.Object{UID: "new", Version: "9"}, nil
}

func (c *script) Rewrite(_ context.Context, request Request) error {
	c.asked = append(c.asked, "rewrite "+request.Ref.Use())
	return nil
}

func (c *script) Read(_ context.Context, what live.Reference) (*unstructured.Unstructured, error) {
	c.asked = append(c.asked, "read "+what.Use())
	return c.live[what], nil
}

func (c *script) Restore(_ context.Context, deleted *unstructured.Unstructured) (live.Object, error) {
	c.asked = append(c.asked, "restore "+live.ReferenceTo(deleted).Use())
	return live.Object{UID: "restored"}, nil
}

func (c *script) Delete(_ context.Context, what live.Reference, uid types.UID, orphan, dryRun bool) error {
	c.asked = append(c.asked, fmt.Sprintf("delete %s of %s orphan %t dry run %t", what.Use(), uid, orphan, dryRun))
	if !dryRun && c.keeps == nil {
		delete(c.live, what)
	}
	return c.keeps
}

func (c *script) Claims(context.Context) ([]corev1.PersistentVolumeClaim, error) {
	return c.claims, nil
}

func (c *script) Retain(_ context.Context, set live.Reference, uid types.UID) error {
	c.asked = append(c.asked, fmt.Sprintf("retain claims of %s %s", set.Use(), uid))
	return nil
}

func (c *script) Discard(_ context.Context, claim Growth) error {
	c.asked = append(c.asked, "discard "+claim.Claim)
	return nil
}

func (c *script) Grow(_ context.Context, growth Growth, dryRun bool) error {
	c.asked = append(c.asked, fmt.Sprintf("grow %s, dry run %t", growth.Claim, dryRun))
	return nil
}
