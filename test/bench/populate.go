package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crowd is how many namespaces the unrelated objects are in.
const crowd = 20

// populate creates the namespaces of n Collectors, and objects that are not any Collector's business.
func (b *bench) populate(ctx context.Context, n, secrets, deployments int) error {
	b.say("creating %d unrelated Secrets and %d unrelated Deployments", secrets, deployments)
	if err := b.createNamespaces(ctx, "tenant", (n-1)/perNamespace+1); err != nil {
		return err
	}
	if err := b.createNamespaces(ctx, "unrelated", crowd); err != nil {
		return err
	}
	content := make([]byte, 1024)
	unrelated := make([]client.Object, 0, secrets+deployments)
	for i := range secrets {
		unrelated = append(unrelated, &corev1.Secret{ObjectMeta: unrelatedMeta(i), Data: map[string][]byte{"content": content}})
	}
	for i := range deployments {
		labels := map[string]string{"app": fmt.Sprintf("unrelated-%05d", i)}
		unrelated = append(unrelated, &appsv1.Deployment{ObjectMeta: unrelatedMeta(i), Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1"}}},
			},
		}})
	}
	return each(ctx, writers, unrelated, func(ctx context.Context, object client.Object) error {
		return b.plane.client.Create(ctx, object)
	})
}

func unrelatedMeta(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: fmt.Sprintf("unrelated-%03d", i%crowd), Name: fmt.Sprintf("unrelated-%05d", i),
		Labels: map[string]string{"app": fmt.Sprintf("unrelated-%05d", i)},
	}
}
