package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// label is on every object that a Collector became; its value is the name.
const label = "kube8.dev/collector"

// collector is what can be seen of one Collector and its workload.
type collector struct {
	types.NamespacedName
	waits    string // for what it is not ready; empty if it says that it is
	workload string // kind of the workload; empty if there is none
	ready    int32
	want     int32
	settled  bool // the workload's status speaks of its latest spec
}

func (c collector) done() bool {
	return c.waits == "" && c.workload != "" && c.settled && c.want > 0 && c.ready == c.want
}

func (c collector) state() string {
	switch {
	case c.waits != "":
		return c.waits
	case c.workload == "":
		return "no workload has the label " + label + "=" + c.Name
	default:
		return fmt.Sprintf("%s, %d of %s ready", c.workload, c.ready, plural(int(c.want), "pod"))
	}
}

func (d *demo) applySamples(ctx context.Context) (string, error) {
	_, err := d.kubectl.Run(ctx, nil, "apply", "--server-side", "-k", filepath.Join(d.Root, "config", "samples"))
	return "config/samples", err
}

// waitForCollectors waits until every Collector is deployed and its pods are
// ready, and tells of each once it is.
func (d *demo) waitForCollectors(ctx context.Context, tell func(name, detail string)) (collectors []collector, err error) {
	told := map[types.NamespacedName]bool{}
	err = d.until(ctx, 90*time.Second, func() (bool, string, error) {
		if collectors, err = d.collectors(ctx); err != nil {
			return false, "", err
		}
		var waiting []string
		for _, c := range collectors {
			switch {
			case !c.done():
				waiting = append(waiting, fmt.Sprintf("\n  %s: %s", c.NamespacedName, c.state()))
			case !told[c.NamespacedName]:
				told[c.NamespacedName] = true
				tell(c.String(), c.state())
			}
		}
		return len(collectors) > 0 && len(waiting) == 0, strings.Join(waiting, ""), nil
	})
	return collectors, err
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

func (d *demo) collectors(ctx context.Context) ([]collector, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "kube8.dev", Version: "v1alpha1", Kind: "CollectorList"})
	if err := d.client.List(ctx, list); err != nil {
		return nil, err
	}
	var out []collector
	for _, item := range list.Items {
		out = append(out, collector{NamespacedName: client.ObjectKeyFromObject(&item), waits: waitsFor(&item)})
	}
	slices.SortFunc(out, func(a, b collector) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})

	var deployments appsv1.DeploymentList
	var daemonSets appsv1.DaemonSetList
	var statefulSets appsv1.StatefulSetList
	for _, list := range []client.ObjectList{&deployments, &daemonSets, &statefulSets} {
		if err := d.client.List(ctx, list, client.HasLabels{label}); err != nil {
			return nil, err
		}
	}
	set := func(object client.Object, kind string, ready, want int32, settled bool) {
		of := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[label]}
		if i := slices.IndexFunc(out, func(c collector) bool { return c.NamespacedName == of }); i >= 0 {
			out[i].workload, out[i].ready, out[i].want, out[i].settled = kind, ready, want, settled
		}
	}
	for _, o := range deployments.Items {
		set(&o, "Deployment", o.Status.ReadyReplicas, *o.Spec.Replicas, o.Status.ObservedGeneration >= o.Generation)
	}
	for _, o := range daemonSets.Items {
		set(&o, "DaemonSet", o.Status.NumberReady, o.Status.DesiredNumberScheduled, o.Status.ObservedGeneration >= o.Generation)
	}
	for _, o := range statefulSets.Items {
		set(&o, "StatefulSet", o.Status.ReadyReplicas, *o.Spec.Replicas, o.Status.ObservedGeneration >= o.Generation)
	}
	return out, nil
}

// waitsFor says what a Collector says that it waits for.
func waitsFor(item *unstructured.Unstructured) string {
	if condition(item, "Deployed")["status"] == "True" {
		if c := condition(item, "Ready"); c["status"] != "True" {
			return fmt.Sprintf("%v: %v", c["reason"], c["message"])
		}
		return ""
	}
	if c := condition(item, "Irreconcilable"); c["status"] == "True" {
		return fmt.Sprintf("Irreconcilable: %v", c["message"])
	}
	return "no condition Deployed yet"
}

// condition returns one condition of an object, nil if there is none.
func condition(object *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}
