package node

import (
	"context"
	"errors"
	"os"
	"strings"
)

// shareRoot lets pods see what is mounted below a folder of the machine after they started, which a pod that mounts the whole
// root asks for. With systemd, the root is shared already.
func (c *Cluster) shareRoot(ctx context.Context) error {
	was, err := command(ctx, "findmnt", "--noheadings", "--output=PROPAGATION", "/")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path("root-propagation"), []byte(strings.TrimSpace(was)), 0o600); err != nil {
		return err
	}
	_, err = command(ctx, "mount", "--make-shared", "/")
	return err
}

// restoreRoot undoes shareRoot.
func (c *Cluster) restoreRoot(ctx context.Context) error {
	was, err := os.ReadFile(c.path("root-propagation"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && string(was) == "private" {
		_, err = command(ctx, "mount", "--make-private", "/")
	}
	return err
}
