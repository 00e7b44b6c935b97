package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// pullLabel is the label of pods whose image cannot be pulled, as kwok.yaml has it: they never become ready.
const pullLabel = "example.com/pull"

// breakage follows, by informers, which Collectors are broken: those that are not ready, and those whose Deployment has a pod
// that is not available, or is to have pods that never are.
type breakage struct {
	mutex       sync.Mutex
	ready       map[client.ObjectKey]bool // of each Collector, whether it is
	unavailable map[client.ObjectKey]bool // Deployments
	waiting     map[client.ObjectKey]bool // Collectors that have not got a change yet
	most        int                       // Collectors that were broken at once, since the last forget
	told        map[client.ObjectKey]string
	worst       string // what was told of these
}

// followBreakage begins to follow the fleet until ctx ends.
func followBreakage(ctx context.Context, config *rest.Config) (*breakage, error) {
	b := &breakage{
		told: map[client.ObjectKey]string{}, ready: map[client.ObjectKey]bool{}, unavailable: map[client.ObjectKey]bool{},
		waiting: map[client.ObjectKey]bool{},
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	informers, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	for _, object := range []client.Object{&v1alpha1.Collector{}, &appsv1.Deployment{}} {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: b.news, UpdateFunc: func(_, object any) { b.news(object) },
		}); err != nil {
			return nil, err
		}
	}
	go func() { _ = informers.Start(ctx) }() // it ends with ctx
	return b, nil
}

// news takes an object as it is now. None is deleted.
func (b *breakage) news(object any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch found := object.(type) {
	case *v1alpha1.Collector:
		key := client.ObjectKeyFromObject(found)
		has := func(conditionType string, status corev1.ConditionStatus) bool {
			return slices.ContainsFunc(found.Status.Conditions, func(c v1alpha1.Condition) bool {
				return c.Type == conditionType && (c.Status == status || status == "")
			})
		}
		b.told[key] = fmt.Sprint(found.Status.Conditions)
		b.ready[key], b.waiting[key] = has("Ready", corev1.ConditionTrue), has(v1alpha1.UpdatePending, "")
	case *appsv1.Deployment:
		b.unavailable[client.ObjectKeyFromObject(found)] = found.Status.UnavailableReplicas > 0 ||
			found.Spec.Template.Labels[pullLabel] != "" || found.Spec.Template.Annotations[basesAnnotation] == stampOf(brokenBase)
	}
	if count := b.count(); count > b.most {
		b.most, b.worst = count, b.describe()
	}
}

// describe tells of those that are broken.
func (b *breakage) describe() string {
	var told []string
	for key, ready := range b.ready {
		if !ready || b.unavailable[key] {
			told = append(told, fmt.Sprintf("%s ready %t, with broken pods %t: %s", key.Name, ready, b.unavailable[key], b.told[key]))
		}
	}
	return strings.Join(told, "; ")
}

// count returns how many Collectors are broken.
func (b *breakage) count() (broken int) {
	for key, ready := range b.ready {
		if !ready || b.unavailable[key] {
			broken++
		}
	}
	return broken
}

// now returns how many Collectors are broken.
func (b *breakage) now() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.count()
}

// atMost returns how many were broken at once since the last forget.
func (b *breakage) atMost() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.most
}

// forget forgets who was broken before.
func (b *breakage) forget() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.most = 0
}

// settled tells whether all of n Collectors are there and ready, and wait for nothing.
func (b *breakage) settled(n int) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, waits := range b.waiting {
		if waits {
			return false
		}
	}
	return len(b.ready) == n && b.count() == 0
}
