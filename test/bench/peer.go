package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// peer is an operator that is written by hand for the same task: flag -peer is its binary.
const peer = "opentelemetry-operator"

// peerArgs are the peer's flags. Outside of a cluster, it finds no certificates for webhooks and no namespace for a Lease.
var peerArgs = []string{"--enable-webhooks=false", "--metrics-addr=127.0.0.1:0", "--health-probe-addr=127.0.0.1:0"}

// madeByPeer are how many objects of each kind the peer makes of an OpenTelemetryCollector, apart from ConfigMaps, of which it keeps
// an earlier one.
var madeByPeer = map[string]int{
	"apps/v1 Deployment": 1, "v1 Service": 4, "v1 ServiceAccount": 1,
	"policy/v1 PodDisruptionBudget": 1, "networking.k8s.io/v1 NetworkPolicy": 1,
}

// ofPeer selects what the peer has made.
var ofPeer = client.MatchingLabels{"app.kubernetes.io/managed-by": peer}

// admitPeer installs the peer's CRDs, and gives it the rights of its own role.
func (b *bench) admitPeer(ctx context.Context) error {
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(b.peerConfig, "crd", "bases")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(b.plane.env.Config, crds); err != nil {
		return fmt.Errorf("install the CRDs of -peer-config: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(b.peerConfig, "rbac", "role.yaml"))
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(text, role); err != nil {
		return fmt.Errorf("read the role of -peer-config: %w", err)
	}
	role.Name = "bench-" + peer
	if err := b.plane.client.Create(ctx, role); err != nil {
		return err
	}
	return b.plane.addAccount(ctx, peer, role.Name)
}

// asPeer returns the OpenTelemetryCollector that runs what a Collector does, with an object of each kind that a Collector has.
func asPeer(c *v1alpha1.Collector) (client.Object, error) {
	spec := map[string]any{
		"mode": "deployment", "managementState": "managed", "upgradeStrategy": "automatic", "replicas": int64(1), // as its webhook sets
		"image":         "registry.example.com/collector:" + c.Spec.Collector.Version,
		"networkPolicy": map[string]any{"enabled": true},
	}
	var config map[string]any
	if err := yaml.Unmarshal(c.Spec.Collector.Configuration, &config); err != nil {
		return nil, err
	}
	if config != nil {
		spec["config"] = config
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "opentelemetry.io/v1beta1", "kind": "OpenTelemetryCollector", "spec": spec,
	}}
	object.SetNamespace(c.Namespace)
	object.SetName(c.Name)
	return object, nil
}

// verifyPeer returns an error unless the cluster has what the peer makes of n OpenTelemetryCollectors, with this timeout.
func (b *bench) verifyPeer(ctx context.Context, n int, timeout string) error {
	wanted := map[string]int{}
	for kind, each := range madeByPeer {
		wanted[kind] = n * each
	}
	if err := b.plane.count(ctx, wanted, ofPeer); err != nil {
		return err
	}
	var configurations corev1.ConfigMapList
	if err := b.plane.client.List(ctx, &configurations, ofPeer); err != nil {
		return err
	}
	found := map[string]bool{}
	for _, c := range configurations.Items {
		if strings.Contains(c.Data["collector.yaml"], "timeout: "+timeout) {
			found[c.Labels["app.kubernetes.io/instance"]] = true
		}
	}
	if len(found) != n {
		return fmt.Errorf("there are %d configurations with timeout %s, want %d", len(found), timeout, n)
	}
	return nil
}

// removeOfPeer removes what the peer has made, as the garbage collector of a cluster does.
func (b *bench) removeOfPeer(ctx context.Context) error {
	for kind := range madeByPeer {
		if err := b.removeKind(ctx, kind); err != nil {
			return err
		}
	}
	return b.removeKind(ctx, "v1 ConfigMap")
}

func (b *bench) removeKind(ctx context.Context, kind string) error {
	list, err := b.plane.list(ctx, kind, ofPeer)
	if err != nil {
		return err
	}
	return each(ctx, writers, list.Items, func(ctx context.Context, object metav1.PartialObjectMetadata) error {
		return client.IgnoreNotFound(b.plane.client.Delete(ctx, &object))
	})
}
