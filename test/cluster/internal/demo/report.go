package demo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// configAnnotation marks the Secret that holds a Collector's decoded config.
const configAnnotation = "kube8.dev/configuration"

// report shows the Collectors, the objects they became, and one config.
func (d *demo) report(ctx context.Context) error {
	table, err := d.kubectl.Run(ctx, nil, "get", "collectors", "-A")
	if err != nil {
		return err
	}
	d.heading("kubectl get collectors -A")
	fmt.Fprintf(d.Out, "%s", table)

	objects, err := d.objects(ctx)
	if err != nil {
		return fmt.Errorf("list objects: %w", err)
	}
	d.heading("what each Collector became")
	collectors := slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range collectors {
		fmt.Fprintf(d.Out, "%s\n", c)
		for _, object := range objects[c] {
			fmt.Fprintf(d.Out, "  %s\n", object)
		}
	}

	first := collectors[0]
	if err := d.showConfig(ctx, first); err != nil {
		return err
	}

	if d.Command != "" {
		return nil
	}
	d.heading("up until Ctrl-C; in another terminal")
	fmt.Fprint(d.Out, d.next(first))
	return nil
}

// next is what to type next.
func (d *demo) next(c types.NamespacedName) string {
	return d.exports() + fmt.Sprintf(`kubectl collector list -A
kubectl collector status %[2]s -n %[1]s
kubectl collector config edit %[2]s -n %[1]s
tail -f %[3]s
`, c.Namespace, c.Name, d.operator.Log)
}

// exports is what to type first. The folders come first in PATH, so that kubectl is of the version of the control plane.
func (d *demo) exports() string {
	return fmt.Sprintf("export KUBECONFIG=%s\nexport PATH=\"%s:%s:$PATH\"\n", d.plane.Kubeconfig, d.bin(), filepath.Dir(d.kubectl.Path))
}

func (d *demo) heading(text string) {
	fmt.Fprintf(d.Out, "\n--- %s %s\n", text, strings.Repeat("-", max(0, 88-len(text))))
}

// objects lists, for each Collector, what carries its label and was not made
// from something else that does: a Deployment, and not its pods.
func (d *demo) objects(ctx context.Context) (map[types.NamespacedName][]string, error) {
	discovered, err := discovery.NewDiscoveryClientForConfig(d.plane.Config)
	if err != nil {
		return nil, err
	}
	lists, err := discovered.ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	reader, err := metadata.NewForConfig(d.plane.Config)
	if err != nil {
		return nil, err
	}
	out := map[types.NamespacedName][]string{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			// Endpoints are a Service's shadow that names no owner.
			if !slices.Contains(resource.Verbs, "list") || resource.Kind == "Endpoints" {
				continue
			}
			found, err := reader.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{LabelSelector: label})
			if err != nil {
				return nil, err
			}
			for _, item := range found.Items {
				if owner := metav1.GetControllerOf(&item); owner != nil && owner.Kind != "Collector" {
					continue
				}
				of := types.NamespacedName{Namespace: item.Namespace, Name: item.Labels[label]}
				out[of] = append(out[of], fmt.Sprintf("%-24s %s", resource.Kind, item.Name))
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out, nil
}

// showConfig prints the decoded config that the operator wrote for a Collector.
func (d *demo) showConfig(ctx context.Context, c types.NamespacedName) error {
	var secrets corev1.SecretList
	if err := d.client.List(ctx, &secrets, client.InNamespace(c.Namespace), client.MatchingLabels{label: c.Name}); err != nil {
		return err
	}
	for _, secret := range secrets.Items {
		if _, ok := secret.Annotations[configAnnotation]; !ok {
			continue
		}
		d.heading(fmt.Sprintf("the decoded config of %s, in Secret %s", c, secret.Name))
		for _, content := range secret.Data {
			fmt.Fprintf(d.Out, "%s\n", bytes.TrimSpace(content))
		}
		return nil
	}
	return fmt.Errorf("no Secret of %s has the annotation %s", c, configAnnotation)
}
