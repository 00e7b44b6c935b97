package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	helmmanager "github.com/operator-framework/helm-operator-plugins/pkg/manager"
	"github.com/operator-framework/helm-operator-plugins/pkg/watches"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/render"
)

// leftOutPeriod is how often the operator looks whether it may work in a namespace that it has left out.
const leftOutPeriod = 10 * time.Second

// leftOut are namespaces that the operator is for, and whose objects it may not list. It is a manager.Runnable.
type leftOut struct {
	live       client.Reader
	kinds      []schema.GroupVersionKind
	namespaces []string
}

// isForAll tells whether the operator is for all namespaces, as the library reads WATCH_NAMESPACE: a list of no names is none.
func isForAll() bool {
	var read manager.Options
	helmmanager.ConfigureWatchNamespaces(&read, logr.Discard())
	return len(read.Cache.DefaultNamespaces) == 0
}

// leaveOut removes the namespaces from the options whose objects the operator may not list. Its informer cache would wait for them for
// ever, and no namespace would be served. It is an error if none is left, and if an operator for all namespaces may not list a kind.
func leaveOut(ctx context.Context, cfg *rest.Config, options *cache.Options, ws []watches.Watch) (*leftOut, error) {
	core := corev1.SchemeGroupVersion // what it follows beside the chart's kinds
	left := &leftOut{kinds: []schema.GroupVersionKind{core.WithKind("Pod"), core.WithKind("ConfigMap")}}
	live, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("create client for namespaces: %w", err)
	}
	left.live = live
	for _, watch := range ws {
		chrt, err := render.NewChart(watch.Chart)
		if err != nil {
			return nil, err
		}
		left.kinds = append(append(left.kinds, watch.GroupVersionKind), chrt.Kinds...)
	}
	if len(options.DefaultNamespaces) == 0 { // it is for all
		if err := left.tryLists(ctx, metav1.NamespaceAll); apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("%w; apply the roles of this version of the operator", err)
		}
		return left, nil
	}
	var refused error
	for namespace := range options.DefaultNamespaces {
		if err := left.tryLists(ctx, namespace); apierrors.IsForbidden(err) {
			ctrl.Log.Error(err, "left out a namespace of WATCH_NAMESPACE; bind the operator's role there", "namespace", namespace)
			left.namespaces, refused = append(left.namespaces, namespace), err
		}
	}
	if len(left.namespaces) == len(options.DefaultNamespaces) {
		return nil, fmt.Errorf("may not work in any namespace of WATCH_NAMESPACE; bind the operator's role there: %w", refused)
	}
	for _, namespace := range left.namespaces {
		delete(options.DefaultNamespaces, namespace)
	}
	return left, nil
}

// Start waits until the operator may work in one of the namespaces, and ends it then, so that it starts again with that.
func (l *leftOut) Start(ctx context.Context) error {
	if len(l.namespaces) == 0 {
		return nil
	}
	err := wait.PollUntilContextCancel(ctx, leftOutPeriod, false, func(ctx context.Context) (bool, error) {
		for _, namespace := range l.namespaces {
			if l.tryLists(ctx, namespace) == nil {
				return false, fmt.Errorf("the operator may work in namespace %s again, and starts again for that", namespace)
			}
		}
		return false, nil
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it is asked to end
	}
	return err //nolint:wrapcheck // it is of the function above
}

// tryLists returns why the operator cannot list what it follows in a namespace, or nil. It reads one object of a Collector at most.
func (l *leftOut) tryLists(ctx context.Context, namespace string) error {
	labelled := client.HasLabels{v1alpha1.CollectorLabel}
	for _, kind := range l.kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := l.live.List(ctx, list, client.InNamespace(namespace), labelled, client.Limit(1)); err != nil {
			return err //nolint:wrapcheck // it names kind and namespace
		}
	}
	return nil
}
