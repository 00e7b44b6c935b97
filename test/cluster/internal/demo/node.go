package demo

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

var (
	//go:embed simulated-node.yaml
	nodeManifest []byte
	//go:embed kwok.yaml
	kwokConfig []byte
)

// startNode registers the simulated node and has kwok play its kubelet.
func (d *demo) startNode(ctx context.Context) (string, error) {
	node := &corev1.Node{}
	if err := yaml.UnmarshalStrict(nodeManifest, node); err != nil {
		return "", err
	}
	status := node.Status
	if err := d.client.Create(ctx, node); err != nil {
		return "", err
	}
	node.Status = status
	if err := d.client.Status().Update(ctx, node); err != nil {
		return "", err
	}

	// kwok writes the status of nodes and of pods, and leases.
	kubeconfig, err := d.plane.AddUser(envtest.User{Name: "kwok", Groups: []string{"system:masters"}})
	if err != nil {
		return "", err
	}
	config := filepath.Join(d.dir, "kwok.yaml")
	if err := os.WriteFile(config, kwokConfig, 0o600); err != nil {
		return "", err
	}
	if _, err := d.plane.Run("kwok", exec.Command(d.kwok, "--kubeconfig="+kubeconfig, "--config="+config)); err != nil {
		return "", err
	}
	return node.Name, d.until(ctx, 30*time.Second, func() (bool, string, error) {
		if err := d.client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return false, "", err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return true, "", nil
			}
		}
		return false, fmt.Sprintf("node %s is not ready", node.Name), nil
	})
}
