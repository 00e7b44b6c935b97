package demo

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// label is on every object that a Collector became; its value is the name.
const label = "kube8.dev/collector"

func (d *demo) applySamples(ctx context.Context) (string, error) {
	_, err := d.kubectl.Run(ctx, nil, "apply", "--server-side", "-k", filepath.Join(d.Root, "config", "samples"))
	return "config/samples", err
}

// waitForCollectors waits until every Collector of the samples is ready, and so are its pods.
func (d *demo) waitForCollectors(ctx context.Context) (string, error) {
	if err := d.wait(ctx, "collectors", "-A", "--selector=demo!=base", "--for=condition=Ready", "--timeout=90s"); err != nil {
		return "", fmt.Errorf("%w%s%s", err, d.reasons(ctx), d.warnings(ctx))
	}
	return "and their pods", nil
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
