package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// ofKubernetes are namespaces that no tenant has.
var ofKubernetes = []string{"kube-system", "kube-public", "kube-node-lease"}

// listNamespaces answers with the namespaces whose Collectors the portal's account may list. An account that cannot list
// namespaces chooses among those that the portal was started with.
func (p *portal) listNamespaces(w http.ResponseWriter, r *http.Request) error {
	candidates := slices.Clone(p.namespaces)
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
	visible := []string{}
	for _, namespace := range slices.Compact(candidates) {
		allowed, err := p.maySee(r.Context(), namespace)
		if err != nil {
			return err
		}
		if allowed {
			visible = append(visible, namespace)
		}
	}
	return answer(w, visible)
}

// maySee asks the API server whether the portal's account may list the Collectors of a namespace.
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
