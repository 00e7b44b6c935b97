package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumes is how many volume claims the node can serve. A volume is not used
// again once its claim is gone.
const volumes = 40

// createStorage makes volumes ahead, of a default StorageClass, because nothing
// on this cluster makes them when they are claimed. They are local volumes: a
// hostPath volume would not be given to the pod's fsGroup.
func (c *Cluster) createStorage(ctx context.Context) error {
	objects := []any{storagev1.StorageClass{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "local", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:          "kubernetes.io/no-provisioner",
		AllowVolumeExpansion: new(true), // a local volume grows when its PersistentVolume says so
	}}
	for i := range volumes {
		name := fmt.Sprintf("local-%02d", i)
		path := c.path("volumes", name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		objects = append(objects, localVolume(name, path))
	}
	var manifest []byte
	for _, object := range objects {
		encoded, err := json.Marshal(object)
		if err != nil {
			return err
		}
		manifest = append(append(manifest, encoded...), '\n')
	}
	kubectl := c.kubectl()
	if _, err := kubectl.Run(ctx, manifest, "apply", "--filename=-"); err != nil {
		return err
	}
	// A claim that comes before its volume is available is looked at again
	// only 15 seconds later.
	return c.until(ctx, func(ctx context.Context) error {
		out, err := kubectl.Run(ctx, nil, "get", "persistentvolumes", "--output=jsonpath={.items[*].status.phase}")
		if err != nil {
			return err
		}
		if available := strings.Count(string(out), string(corev1.VolumeAvailable)); available < volumes {
			return fmt.Errorf("%d of %d volumes are available", available, volumes)
		}
		return nil
	})
}

func localVolume(name, path string) corev1.PersistentVolume {
	return corev1.PersistentVolume{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "local",
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: path},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchFields: []corev1.NodeSelectorRequirement{{
						Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{nodeName},
					}},
				}},
			}},
		},
	}
}
