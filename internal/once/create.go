package once

import (
	"cmp"
	"errors"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/kube8/kube8-operator/internal/specpath"
)

// Create creates objects: first those that pods may need, all at the same time, then what runs pods, then the rest. Helm
// waits for each kind before it goes on to the next, and a worker with it.
func (c *kubeClient) Create(resources kube.ResourceList) (*kube.Result, error) {
	for _, group := range grouped(resources) {
		errs := make([]error, len(group))
		var creating sync.WaitGroup
		for i, info := range group {
			creating.Go(func() { _, errs[i] = c.Client.Create(kube.ResourceList{info}) })
		}
		creating.Wait()
		if err := cmp.Or(errs...); err != nil { // always the same one, so that a status that tells it stays as it is
			return nil, c.explain(err, group)
		}
	}
	return &kube.Result{Created: resources}, nil
}

// explain returns err by the Collector's own fields, if it is the API server's refusal of one of resources.
func (c *kubeClient) explain(err error, resources kube.ResourceList) error {
	refusal, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || refusal.ErrStatus.Details == nil {
		return err
	}
	for _, info := range resources {
		object, isParsed := info.Object.(*unstructured.Unstructured)
		if isParsed && object.GetKind() == refusal.ErrStatus.Details.Kind && object.GetName() == refusal.ErrStatus.Details.Name {
			return specpath.Explain(err, c.collector, object)
		}
	}
	return err
}

// grouped splits resources, which Helm has put in order, wherever what runs pods begins or ends.
func grouped(resources kube.ResourceList) (groups []kube.ResourceList) {
	for i, info := range resources {
		if i == 0 || runsPods(info) != runsPods(resources[i-1]) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1].Append(info)
	}
	return groups
}

func runsPods(info *resource.Info) bool {
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	_, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "spec", "containers")
	return found
}
