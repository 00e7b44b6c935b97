package owned

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// uninstallTimeout is for how long after its deletion a Collector stays because of objects that have not gone. It is
	// bounded because somebody else's finalizer may hold one for ever.
	uninstallTimeout = 30 * time.Second

	// passTimeout is for how long of that one pass waits. Mostly only the news of the deletions are to come, within
	// milliseconds. The rest is left to further passes, because all Collectors share a few workers.
	passTimeout = time.Second
)

// DeleteWithPropagationPolicy deletes those of resources that are the Collector's, for uninstalls. It is an error if
// they have not gone then, for as long as the Collector should stay for that: Helm keeps the release after an error, and
// the next pass goes on. With Helm's own wait it would forget the release, and a worker would be busy for all that time.
func (c *kubeClient) DeleteWithPropagationPolicy(
	resources kube.ResourceList, policy metav1.DeletionPropagation,
) (*kube.Result, []error) {
	result, errs := c.deleteAll(resources, policy)
	if len(errs) == 0 {
		if err := c.awaitGone(resources); err != nil && c.mayStay() {
			errs = append(errs, err)
		} else if err != nil {
			log.FromContext(c.ctx).Info("let the Collector go without what it became", "because", err.Error())
		}
	}
	c.uninstall = errors.Join(errs...)
	return result, errs
}

// mayStay tells whether the Collector stays for what has not gone.
func (c *kubeClient) mayStay() bool {
	deleted := c.collector.GetDeletionTimestamp()
	return deleted == nil || time.Since(deleted.Time) < uninstallTimeout
}

// awaitGone waits until none of resources is there that is the Collector's, or returns an error that names those that
// are, and what holds them.
func (c *kubeClient) awaitGone(resources kube.ResourceList) error {
	ctx, cancel := context.WithTimeout(c.ctx, passTimeout)
	defer cancel()
	remaining, held := resources, []string(nil)
	backoff := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Cap: passTimeout, Steps: 10}
	err := backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		var err error
		remaining, held, err = c.remaining(ctx, remaining)
		return len(remaining) == 0, err
	})
	switch {
	case wait.Interrupted(err):
		return fmt.Errorf("deleted, but not gone yet: %s; the Collector goes when they have, or after %s",
			strings.Join(held, ", "), uninstallTimeout)
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
