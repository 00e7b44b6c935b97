package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// releases follows, by informers of metadata, which revision of each Collector's release is deployed, and which
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
func follow(ctx context.Context, config *rest.Config) (*releases, error) {
	r := &releases{secrets: map[client.ObjectKey]secret{}, collectors: map[client.ObjectKey]bool{}}
	secrets := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	collectors := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Collector"}}
	informers, err := cache.New(config, cache.Options{ByObject: map[client.Object]cache.ByObject{
		secrets: {Label: labels.SelectorFromSet(labels.Set{"owner": "helm"})}, collectors: {},
	}})
	if err != nil {
		return nil, err
	}
	for object, news := range map[client.Object]func(*metav1.PartialObjectMetadata, bool){secrets: r.secretNews, collectors: r.collectorNews} {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		tell := func(object any, gone bool) {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			if last, isGone := object.(toolscache.DeletedFinalStateUnknown); isGone {
				object = last.Obj
			}
			news(object.(*metav1.PartialObjectMetadata), gone)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { tell(object, false) },
			UpdateFunc: func(_, object any) { tell(object, false) },
			DeleteFunc: func(object any) { tell(object, true) },
		}); err != nil {
			return nil, err
		}
	}
	go func() { r.end(informers.Start(ctx)) }()
	return r, nil
}

// end notes that there is no news any more.
func (r *releases) end(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lost = err
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
	return poll(ctx, func() (bool, error) {
		r.mutex.Lock()
		lost := r.lost
		r.mutex.Unlock()
		return done(), errors.Join(lost, p.alive())
	})
}
