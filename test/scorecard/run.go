package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// timeout is how long a Collector may take to become ready, or to go.
const timeout = 2 * time.Minute

// trial is one run of one test.
type trial struct {
	client.Client
	discovery discovery.DiscoveryInterface
	namespace string

	csv     csv
	example *unstructured.Unstructured
	log     strings.Builder
}

// csv is what the tests read of a ClusterServiceVersion.
type csv struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		RelatedImages []struct {
			Image string `json:"image"`
		} `json:"relatedImages"`
		CustomResourceDefinitions struct {
			Owned []struct {
				StatusDescriptors []struct {
					Path string `json:"path"`
				} `json:"statusDescriptors"`
			} `json:"owned"`
		} `json:"customresourcedefinitions"`
	} `json:"spec"`
}

// newTrial reads the bundle, and connects to the cluster that the pod is in.
func newTrial(bundle, namespace string) (*trial, error) {
	r := &trial{namespace: namespace}
	if err := r.readBundle(bundle); err != nil {
		return nil, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	if r.Client, err = client.New(config, client.Options{}); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if r.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return r, nil
}

// readBundle reads the bundle's ClusterServiceVersion and its only example.
func (r *trial) readBundle(bundle string) error {
	files, err := filepath.Glob(filepath.Join(bundle, "manifests", "*.clusterserviceversion.yaml"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("find the one ClusterServiceVersion of %s: found %d, %w", bundle, len(files), err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(content, &r.csv); err != nil {
		return fmt.Errorf("%s: %w", files[0], err)
	}
	var examples []map[string]any
	if err := json.Unmarshal([]byte(r.csv.Metadata.Annotations["alm-examples"]), &examples); err != nil {
		return fmt.Errorf("%s: alm-examples: %w", files[0], err)
	}
	if len(examples) != 1 {
		return fmt.Errorf("%s: alm-examples has %d examples, and these tests are made for one", files[0], len(examples))
	}
	r.example = &unstructured.Unstructured{Object: examples[0]}
	return nil
}

// withExample creates the example, waits until it is ready, has it looked at, and removes it.
func (r *trial) withExample(ctx context.Context, look func(collector *unstructured.Unstructured) error) error {
	collector := r.example.DeepCopy()
	collector.SetNamespace(r.namespace)
	if err := r.Create(ctx, collector); err != nil {
		return fmt.Errorf("create the example: %w", err)
	}
	err := r.awaitReady(ctx, collector)
	if err == nil {
		err = look(collector)
	}
	return errors.Join(err, r.remove(ctx, collector))
}

func (r *trial) awaitReady(ctx context.Context, collector *unstructured.Unstructured) error {
	err := wait.PollUntilContextTimeout(ctx, time.Second, timeout, true, func(ctx context.Context) (bool, error) {
		err := r.Get(ctx, client.ObjectKeyFromObject(collector), collector)
		return err == nil && isReady(collector), err
	})
	conditions, _, _ := unstructured.NestedSlice(collector.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("wait until Collector %s is ready: %w; its conditions: %v", collector.GetName(), err, conditions)
	}
	fmt.Fprintf(&r.log, "Collector %s is ready: %v\n", collector.GetName(), conditions)
	return nil
}

func isReady(collector *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(collector.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}

// remove deletes the Collector and waits until it is gone.
func (r *trial) remove(ctx context.Context, collector *unstructured.Unstructured) error {
	if err := r.Delete(ctx, collector.DeepCopy()); err != nil {
		return fmt.Errorf("delete the example: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, time.Second, timeout, true, func(ctx context.Context) (bool, error) {
		err := r.Get(ctx, client.ObjectKeyFromObject(collector), collector.DeepCopy())
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("wait until Collector %s is gone: %w", collector.GetName(), err)
	}
	return nil
}
