package demo

import (
	"context"
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

var (
	//go:embed simulated-node.yaml
	nodeManifest []byte
	//go:embed simulated-storage.yaml
	storageClassManifest []byte
)

// volumes is how many volume claims the simulated node can serve.
const volumes = 4

// simulation is a node that is simulated by this program.
type simulation struct {
	stop context.CancelFunc
	done chan struct{}
	err  error // is set when done is closed
}

// startNode registers the simulated node and plays its kubelet.
func (d *demo) startNode(ctx context.Context) (string, error) {
	node, err := registerNode(ctx, d.client)
	if err != nil {
		return "", err
	}
	if err := d.createStorage(ctx); err != nil {
		return "", err
	}
	kubelet, err := newKubelet(d.plane.Config, node)
	if err != nil {
		return "", err
	}
	// The node ends when it is stopped, not with the context: what ends before is an error.
	nodeCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.node = &simulation{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(d.node.done)
		d.node.err = kubelet.Start(nodeCtx)
	}()
	return node.Name, d.wait(ctx, "node", node.Name, "--for=condition=Ready", "--timeout=30s")
}

// registerNode creates the node with the status that its manifest has.
func registerNode(ctx context.Context, c client.Client) (*corev1.Node, error) {
	node := &corev1.Node{}
	if err := yaml.UnmarshalStrict(nodeManifest, node); err != nil {
		return nil, err
	}
	status, now := node.Status, metav1.Now()
	for i := range status.Conditions {
		status.Conditions[i].LastHeartbeatTime, status.Conditions[i].LastTransitionTime = now, now
	}
	if err := c.Create(ctx, node); err != nil {
		return nil, err
	}
	node.Status = status
	return node, c.Status().Update(ctx, node)
}

// Err says that the node ended by itself, and why; nil while it runs or before it is started.
func (s *simulation) Err() error {
	if s == nil {
		return nil
	}
	select {
	case <-s.done:
		return fmt.Errorf("the simulated node ended by itself: %w", s.err)
	default:
		return nil
	}
}

// Stop ends the node and returns once it has ended.
func (s *simulation) Stop() {
	if s == nil {
		return
	}
	s.stop()
	<-s.done
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
