package owned

import (
	"context"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

// uninstallTimeout is how long an uninstall waits for what it deleted. It is bounded because somebody else's finalizer
// may hold an object for ever, and the wait takes one of the workers that all Collectors share. Helm forgets the
// release after that; the next pass finds none and lets the Collector go.
const uninstallTimeout = 30 * time.Second

// untilGone has an uninstall wait for what it deletes.
func untilGone(uninstall *action.Uninstall) error {
	uninstall.Wait = true
	uninstall.Timeout = uninstallTimeout
	return nil
}

// WaitForDelete waits until none of resources is there that is the Collector's. After the timeout it returns an error
// that names those that are, and what holds them.
func (c *kubeClient) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	remaining, held := resources, []string(nil)
	// Mostly only the news of the deletions are to come, within milliseconds.
	backoff := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Cap: time.Second, Steps: 10}
	err := backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		var err error
		remaining, held, err = c.remaining(ctx, remaining)
		return len(remaining) == 0, err
	})
	switch {
	case wait.Interrupted(err):
		return fmt.Errorf("not gone within %s: %s; see what holds them", timeout, strings.Join(held, ", "))
	case err != nil:
		return fmt.Errorf("wait for what was deleted: %w", err)
	}
	return nil
}

// remaining returns those of resources that are there and are the Collector's, and the same in words.
func (c *kubeClient) remaining(ctx context.Context, resources kube.ResourceList) (remaining kube.ResourceList, held []string, err error) {
	for _, info := range resources {
		found, err := c.findOwn(ctx, info)
		if err != nil {
			return nil, nil, err
		}
		if found == nil || Verify(found, c.collector) != nil {
			continue
		}
		remaining.Append(info)
		held = append(held, describe(info)+finalizersOf(found))
	}
	return remaining, held, nil
}

func finalizersOf(obj *unstructured.Unstructured) string {
	if len(obj.GetFinalizers()) == 0 {
		return ""
	}
	return " with finalizers " + strings.Join(obj.GetFinalizers(), ", ")
}
