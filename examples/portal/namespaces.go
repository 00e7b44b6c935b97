package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// ofKubernetes are namespaces that no tenant has.
var ofKubernetes = []string{"kube-system", "kube-public", "kube-node-lease"}

// listNamespaces answers with the namespaces whose Collectors the portal's account may list. An account that cannot list
// namespaces chooses among those that the portal was started with.
func (p *portal) listNamespaces(w http.ResponseWriter, r *http.Request) error {
	candidates := append([]string{}, p.namespaces...)
	var list corev1.NamespaceList
	switch err := p.collectors.List(r.Context(), &list); {
	case err == nil:
		for _, namespace := range list.Items {
			if !slices.Contains(ofKubernetes, namespace.Name) {
				candidates = append(candidates, namespace.Name)
			}
		}
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("list namespaces: %w", err)
	}
	slices.Sort(candidates)
	visible, err := p.visible(r.Context(), slices.Compact(candidates))
	if err != nil {
		return err
	}
	return answer(w, visible)
}

// askedAtOnce is how many namespaces the API server is asked about at a time: one after the other, hundreds take longer than a page waits.
const askedAtOnce = 16

// visible returns the namespaces whose Collectors the portal's account may list. It asks once if the account may list all Collectors.
func (p *portal) visible(ctx context.Context, candidates []string) ([]string, error) {
	if all, err := p.maySee(ctx, metav1.NamespaceAll); err != nil || all {
		return candidates, err
	}
	allowed, failed := make([]bool, len(candidates)), make([]error, len(candidates))
	var asking sync.WaitGroup
	places := make(chan struct{}, askedAtOnce)
	for i, namespace := range candidates {
		places <- struct{}{}
		asking.Go(func() {
			allowed[i], failed[i] = p.maySee(ctx, namespace)
			<-places
		})
	}
	asking.Wait()
	visible := []string{}
	for i, namespace := range candidates {
		if allowed[i] {
			visible = append(visible, namespace)
		}
	}
	return visible, cmp.Or(failed...)
}

// maySee asks the API server whether the portal's account may list the Collectors of a namespace, or of all.
func (p *portal) maySee(ctx context.Context, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "collectors", Namespace: namespace,
		},
	}}
	if err := p.collectors.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask what the account may see: %w", err)
	}
	return review.Status.Allowed, nil
}
