package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// releases follows, by watches of metadata, which revision of each Collector's release is deployed, and which
// Collectors there are. Watching costs the control plane the same whichever operator works, and next to nothing.
type releases struct {
	mutex      sync.Mutex
	secrets    map[client.ObjectKey]secret // of Helm
	collectors map[client.ObjectKey]bool
	lost       error // why there is no news any more
}

type secret struct {
	release  client.ObjectKey
	revision int
	deployed bool
}

// follow begins to follow the releases until ctx ends.
func follow(ctx context.Context, c client.WithWatch) (*releases, error) {
	r := &releases{secrets: map[client.ObjectKey]secret{}, collectors: map[client.ObjectKey]bool{}}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.APIVersion, secrets.Kind = "v1", "SecretList"
	collectors := &metav1.PartialObjectMetadataList{}
	collectors.APIVersion, collectors.Kind = "kube8.dev/v1alpha1", "CollectorList"
	return r, errors.Join(
		r.watch(ctx, c, secrets, r.secretNews, client.MatchingLabels{"owner": "helm"}),
		r.watch(ctx, c, collectors, r.collectorNews),
	)
}

func (r *releases) watch(
	ctx context.Context, c client.WithWatch, list *metav1.PartialObjectMetadataList,
	news func(object *metav1.PartialObjectMetadata, gone bool), options ...client.ListOption,
) error {
	day := int64(24 * 60 * 60)
	// Without a resource version, a watch begins with what there is.
	options = append(options, &client.ListOptions{Raw: &metav1.ListOptions{TimeoutSeconds: &day}})
	watcher, err := c.Watch(ctx, list, options...)
	if err != nil {
		return fmt.Errorf("watch %s: %w", list.Kind, err)
	}
	go func() {
		defer watcher.Stop()
		for event := range watcher.ResultChan() {
			r.mutex.Lock()
			if object, ok := event.Object.(*metav1.PartialObjectMetadata); ok {
				news(object, event.Type == watch.Deleted)
			}
			r.mutex.Unlock()
		}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.lost = fmt.Errorf("the watch of %s has ended", list.Kind)
	}()
	return nil
}

func (r *releases) secretNews(object *metav1.PartialObjectMetadata, gone bool) {
	key := client.ObjectKeyFromObject(object)
	if gone {
		delete(r.secrets, key)
		return
	}
	revision, err := strconv.Atoi(object.Labels["version"])
	if err != nil {
		return // a part of a release
	}
	r.secrets[key] = secret{
		release:  client.ObjectKey{Namespace: object.Namespace, Name: object.Labels["name"]},
		revision: revision,
		deployed: object.Labels["status"] == "deployed",
	}
}

func (r *releases) collectorNews(object *metav1.PartialObjectMetadata, gone bool) {
	if key := client.ObjectKeyFromObject(object); gone {
		delete(r.collectors, key)
	} else {
		r.collectors[key] = true
	}
}

// deployed returns how many releases are deployed in a revision above another one.
func (r *releases) deployed(above int) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found := map[client.ObjectKey]bool{}
	for _, s := range r.secrets {
		if s.deployed && s.revision > above {
			found[s.release] = true
		}
	}
	return len(found)
}

// revision returns the newest revision of any release.
func (r *releases) revision() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	newest := 0
	for _, s := range r.secrets {
		newest = max(newest, s.revision)
	}
	return newest
}

// gone says whether there are neither Collectors nor releases.
func (r *releases) gone() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.collectors) == 0 && len(r.secrets) == 0
}

// await waits until all of n releases are deployed in a revision above another one.
func (r *releases) await(ctx context.Context, p *process, n, above int) error {
	err := r.until(ctx, p, func() bool { return r.deployed(above) >= n })
	if err != nil {
		return fmt.Errorf("wait for releases above revision %d, of which %d of %d are deployed: %w", above, r.deployed(above), n, err)
	}
	return nil
}

// awaitGone waits until there are neither Collectors nor releases.
func (r *releases) awaitGone(ctx context.Context, p *process) error {
	if err := r.until(ctx, p, r.gone); err != nil {
		return fmt.Errorf("wait until no Collector is left: %w", err)
	}
	return nil
}

func (r *releases) until(ctx context.Context, p *process, done func() bool) error {
	return poll(ctx, patience, func() (bool, error) {
		r.mutex.Lock()
		lost := r.lost
		r.mutex.Unlock()
		return done(), errors.Join(lost, p.alive())
	})
}
