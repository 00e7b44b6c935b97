package demo

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

var collectorList = schema.GroupVersionKind{Group: "kube8.dev", Version: "v1alpha1", Kind: "CollectorList"}

// label is on every object that a Collector became; its value is the name.
const label = "kube8.dev/collector"

func (d *demo) applySamples(ctx context.Context) (string, error) {
	_, err := d.kubectl.Run(ctx, nil, "apply", "--server-side", "-k", filepath.Join(d.Root, "config", "samples"))
	return "config/samples", err
}

// waitForCollectors waits until every Collector is ready, those with the changed base as well, and so are their pods.
func (d *demo) waitForCollectors(ctx context.Context) (string, error) {
	var ready, all int
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 90*time.Second, true, func(ctx context.Context) (bool, error) {
		collectors := &unstructured.UnstructuredList{}
		collectors.SetGroupVersionKind(collectorList)
		if err := d.client.List(ctx, collectors); err != nil {
			return false, err
		}
		ready, all = 0, len(collectors.Items)
		for _, collector := range collectors.Items {
			if isReady(collector) {
				ready++
			}
		}
		return ready == all, d.ended()
	})
	if err != nil {
		return "", fmt.Errorf("%d of %d: %w%s%s", ready, all, err, d.reasons(ctx), d.warnings(ctx))
	}
	return fmt.Sprintf("all %d, and their pods", all), nil
}

// isReady says whether a Collector's condition Ready is true.
func isReady(collector unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(collector.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Ready" && fields["status"] == "True"
	})
}

// reasons are what the Collectors say of themselves.
func (d *demo) reasons(ctx context.Context) string {
	const ready = `.status.conditions[?(@.type=="Ready")]`
	table, err := d.kubectl.Run(ctx, nil, "get", "collectors", "-A", "-o=custom-columns=NAMESPACE:.metadata.namespace,"+
		"NAME:.metadata.name,READY:"+ready+".status,REASON:"+ready+".reason,MESSAGE:"+ready+".message")
	if err != nil {
		return ""
	}
	return "\n\n" + strings.TrimSpace(string(table))
}

// warnings are the events that tell why pods do not come, such as a node
// without room or a refusal by Pod Security.
func (d *demo) warnings(ctx context.Context) string {
	events, err := d.kubectl.Run(ctx, nil, "get", "events", "-A", "--field-selector=type=Warning", "--no-headers",
		"-o=custom-columns=:metadata.namespace,:involvedObject.kind,:involvedObject.name,:message")
	if err != nil || len(events) == 0 {
		return ""
	}
	// One for each object: what is tried again fails again for the same reason.
	last := map[string]string{}
	for line := range strings.Lines(string(events)) {
		if fields := strings.Fields(line); len(fields) > 3 {
			last[strings.Join(fields[:3], " ")] = strings.Join(fields[3:], " ")
		}
	}
	lines := []string{"\n\nwarning events:"}
	for _, object := range slices.Sorted(maps.Keys(last)) {
		lines = append(lines, "  "+object+": "+last[object])
	}
	return strings.Join(lines, "\n")
}
