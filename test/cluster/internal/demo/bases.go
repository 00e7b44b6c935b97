package demo

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/test/cluster/internal/progress"
)

// baseManifest is of two tenants that share a base. They are in namespaces whose rings differ.
//
//go:embed bases.yaml
var baseManifest []byte

// rings are the namespaces of the tenants, in the order in which a changed base reaches them.
var rings = [...]string{"tenant-early", "tenant-late"}

// sharing selects the Collectors that share the base.
var sharing = labels.Set{"demo": "base"}

// baseChange gives the base another content.
const baseChange = `data:
  part.yaml: |
    extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
    exporters: {debug: {verbosity: detailed}}
`

func (d *demo) applyBase(ctx context.Context) (string, error) {
	_, err := d.kubectl.Run(ctx, baseManifest, "apply", "--server-side", "-f", "-")
	return "shared by tenant-early (ring 0), tenant-late (1)", err
}

// changeBase changes the base, and returns when it has reached the tenants, one after the other.
func (d *demo) changeBase(ctx context.Context) (string, error) {
	if err := d.wait(ctx, "collectors", "-A", "--selector="+sharing.String(), "--for=condition=Ready", "--timeout=90s"); err != nil {
		return "", err
	}
	before, err := d.bases(ctx)
	if err != nil {
		return "", err
	}
	if _, err := d.kubectl.Run(ctx, nil, "patch", "configmap", "shared", "-n", operatorNamespace, "--patch", baseChange); err != nil {
		return "", err
	}
	start := time.Now()
	var after [len(rings)]time.Duration
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		now, err := d.bases(ctx)
		if err != nil {
			return false, err
		}
		for i, namespace := range rings {
			if after[i] == 0 && now[namespace] != before[namespace] {
				after[i] = time.Since(start)
			}
		}
		if after[0] == 0 && after[1] > 0 {
			return false, fmt.Errorf("the base reached %s before %s", rings[1], rings[0])
		}
		return after[0] > 0 && after[1] > 0, d.ended()
	})
	return fmt.Sprintf("ring 0 has it after %s, ring 1 after %s", progress.Duration(after[0]), progress.Duration(after[1])), err
}

// bases returns the bases that the tenants' Collectors have, by namespace. They are read at once.
func (d *demo) bases(ctx context.Context) (map[string]string, error) {
	collectors := &unstructured.UnstructuredList{}
	collectors.SetGroupVersionKind(collectorList)
	if err := d.client.List(ctx, collectors, client.MatchingLabels(sharing)); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, collector := range collectors.Items {
		bases, _, err := unstructured.NestedStringSlice(collector.Object, "status", "bases")
		if err != nil {
			return nil, err
		}
		found[collector.GetNamespace()] = strings.Join(bases, " ")
	}
	return found, nil
}
