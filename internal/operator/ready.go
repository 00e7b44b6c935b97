package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Ready waits until an operator renews the leader Lease, and returns the name of that operator. Only an operator that reaches the API
// server, and has its rights, renews the Lease. An error says that the API server does not serve Collectors, that the Lease cannot be
// read, or that no operator has renewed it when timeout is over.
func Ready(ctx context.Context, cfg *rest.Config, opts Options, timeout time.Duration) (holder string, err error) {
	opts.findNamespace()
	name, namespace := opts.Manager.LeaderElectionID, cmp.Or(opts.Manager.LeaderElectionNamespace, opts.namespace())
	server, err := discovery.NewDiscoveryClientForConfig(cfg)
	leases, leasesErr := coordinationclient.NewForConfig(cfg)
	if err := errors.Join(err, leasesErr); err != nil {
		return "", fmt.Errorf("create clients: %w", err)
	}
	if _, err := server.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String()); err != nil {
		return "", fmt.Errorf("the API server does not serve Collectors, install the CRD: %w", err)
	}
	var first *coordinationv1.Lease
	err = wait.PollUntilContextTimeout(ctx, time.Second, timeout, true, func(ctx context.Context) (bool, error) {
		lease, err := leases.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if first == nil {
			first = lease
		}
		holder = ptr.Deref(lease.Spec.HolderIdentity, "")
		return renews(first, lease), nil
	})
	if wait.Interrupted(err) {
		return "", fmt.Errorf("no operator has renewed the Lease %s/%s for %s, look at the operator's pods and logs", namespace, name, timeout)
	}
	if err != nil {
		return "", fmt.Errorf("read the Lease %s/%s: %w", namespace, name, err)
	}
	return holder, nil
}

// renews tells whether an operator holds the Lease, and has renewed it since it was read first. It reads no clock, because that of the
// operator's node can be another one.
func renews(first, now *coordinationv1.Lease) bool {
	isHeld := ptr.Deref(now.Spec.HolderIdentity, "") != ""
	return isHeld && !now.Spec.RenewTime.Equal(first.Spec.RenewTime)
}
