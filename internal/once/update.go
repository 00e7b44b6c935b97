package once

import (
	"reflect"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kube8/kube8-operator/internal/drift"
)

// Update makes the cluster's objects what target says, for upgrades.
func (c *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	original, target = c.changed(original, target)
	result, err := c.Client.Update(original, target, force)
	return result, c.explain(err, target)
}

// UpdateThreeWayMerge is Update for installs that find objects of the Collector.
func (c *kubeClient) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	original, target = c.changed(original, target)
	result, err := c.Client.UpdateThreeWayMerge(original, target, force)
	return result, c.explain(err, target)
}

// changed returns original and target without the objects that both have alike, and the informer cache too. Helm would
// read such an object twice, to find that there is nothing to do. Should the cache be behind somebody's edit, then the
// news of it is to come, and is drift. It can also be behind what an earlier revision did to the object, but that was
// the same, because original is what the deployed revision has.
func (c *kubeClient) changed(original, target kube.ResourceList) (fewer, changed kube.ResourceList) {
	fewer = slices.Clone(original)
	for _, info := range target {
		if before := original.Get(info); before != nil && c.isInOrder(before, info) {
			fewer = fewer.Difference(kube.ResourceList{info})
			continue
		}
		changed.Append(info)
	}
	return fewer, changed
}

func (c *kubeClient) isInOrder(before, after *resource.Info) bool {
	from, isParsed := before.Object.(*unstructured.Unstructured)
	to, isParsedToo := after.Object.(*unstructured.Unstructured)
	return isParsed && isParsedToo && scheme.Scheme.Recognizes(to.GroupVersionKind()) && isSame(from, to) &&
		drift.InOrder(c.ctx, c.cached, to) != nil
}

// isSame tells whether two revisions have an object alike, but for what is noted on it before an update: whose it is.
func isSame(before, after *unstructured.Unstructured) bool {
	return reflect.DeepEqual(withoutNotes(before), withoutNotes(after))
}

func withoutNotes(object *unstructured.Unstructured) map[string]any {
	bare := object.DeepCopy()
	bare.SetUID("")
	for _, annotation := range []string{"meta.helm.sh/release-name", "meta.helm.sh/release-namespace"} {
		unstructured.RemoveNestedField(bare.Object, "metadata", "annotations", annotation)
	}
	unstructured.RemoveNestedField(bare.Object, "metadata", "labels", "app.kubernetes.io/managed-by")
	for _, field := range []string{"annotations", "labels"} {
		if left, _, _ := unstructured.NestedMap(bare.Object, "metadata", field); len(left) == 0 {
			unstructured.RemoveNestedField(bare.Object, "metadata", field)
		}
	}
	return bare.Object
}
