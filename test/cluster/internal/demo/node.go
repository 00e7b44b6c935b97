package demo

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

var (
	//go:embed simulated-node.yaml
	nodeManifest []byte
	//go:embed simulated-storage.yaml
	storageClassManifest []byte
	//go:embed kwok.yaml
	kwokConfig []byte
)

// volumes is how many volume claims the simulated node can serve.
const volumes = 4

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

	if err := d.createStorage(ctx); err != nil {
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
	return node.Name, d.wait(ctx, "node", node.Name, "--for=condition=Ready", "--timeout=30s")
}

func (d *demo) createStorage(ctx context.Context) error {
	class := &storagev1.StorageClass{}
	if err := yaml.UnmarshalStrict(storageClassManifest, class); err != nil {
		return err
	}
	if err := d.client.Create(ctx, class); err != nil {
		return err
	}
	for i := range volumes {
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("simulated-%d", i)},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName: class.Name,
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Capacity:         corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: "/simulated"},
				},
			},
		}
		if err := d.client.Create(ctx, volume); err != nil {
			return err
		}
	}
	return nil
}

// waitForStorage waits until the controllers have seen the volumes: a claim
// that comes before finds none, and is looked at again 15 seconds later.
func (d *demo) waitForStorage(ctx context.Context) (string, error) {
	return fmt.Sprintf("%d volumes are available", volumes),
		d.wait(ctx, "persistentvolumes", "--all", "--for=jsonpath={.status.phase}=Available", "--timeout=30s")
}
