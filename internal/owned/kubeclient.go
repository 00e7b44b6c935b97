package owned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// helmClient is what Helm's actions need of a kube client.
type helmClient interface {
	kube.Interface
	kube.InterfaceExt
	kube.InterfaceThreeWayMerge
}

// kubeClient is Helm's kube client for one pass over one Collector.
type kubeClient struct {
	helmClient
	lookup
	ctx       context.Context //nolint:containedctx // of that pass; the interface has no room for it
	kinds     meta.RESTMapper
	collector client.Object

	uninstall error // why it failed
}

// verify returns a *ConflictError if an object of resources is there and is not the Collector's. It looks for all of them
// at the same time: a worker waits for it.
func (c *kubeClient) verify(resources kube.ResourceList) error {
	errs := make([]error, len(resources))
	var looking sync.WaitGroup
	for i, info := range resources {
		looking.Go(func() {
			found, err := c.find(c.ctx, info)
			if err == nil && found != nil {
				err = Verify(found, c.collector)
			}
			errs[i] = err
		})
	}
	looking.Wait()
	return cmp.Or(errs...)
}

// Update makes the cluster's objects what target says, for upgrades. If one of them is not the Collector's, it returns
// a *ConflictError and changes nothing.
func (c *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, force, c.helmClient.Update)
}

// UpdateThreeWayMerge is Update for installs that find objects of the Collector, whose release was lost.
func (c *kubeClient) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, force, c.helmClient.UpdateThreeWayMerge)
}

func (c *kubeClient) update(
	original, target kube.ResourceList, force bool,
	next func(original, target kube.ResourceList, force bool) (*kube.Result, error),
) (*kube.Result, error) {
	there, err := c.pin(target)
	if err != nil {
		return &kube.Result{}, err
	}
	keepReplicas(original, target)
	// Helm creates what is not in before, and fails rather than patch it if somebody else has just created it.
	var before kube.ResourceList
	for _, info := range there {
		if known := original.Get(info); known != nil {
			info = known
		}
		before.Append(info)
	}
	result, err := next(before, target, force)
	if err != nil {
		return result, err
	}
	deleted, errs := c.deleteAll(original.Difference(target).Filter(isNotKept), metav1.DeletePropagationBackground)
	result.Deleted = append(result.Deleted, deleted.Deleted...)
	return result, errors.Join(errs...)
}

// pin returns those of target that are there, with the UID of the object that was verified: the API server refuses a
// patch that would change the UID, should another object have taken the name meanwhile.
func (c *kubeClient) pin(target kube.ResourceList) (there kube.ResourceList, err error) {
	for _, info := range target {
		found, err := c.find(c.ctx, info)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if err := Verify(found, c.collector); err != nil {
			return nil, err
		}
		if err := setUID(info, found.GetUID()); err != nil {
			return nil, err
		}
		there.Append(info)
	}
	return there, nil
}

func setUID(info *resource.Info, uid types.UID) error {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return fmt.Errorf("set the UID of %s: %w", describe(info), err)
	}
	object.SetUID(uid)
	return nil
}

// isNotKept tells whether Helm may delete the object when it leaves the release.
func isNotKept(info *resource.Info) bool {
	object, err := meta.Accessor(info.Object)
	return err != nil || object.GetAnnotations()[kube.ResourcePolicyAnno] != kube.KeepPolicy
}

// Delete deletes those of resources that are the Collector's.
func (c *kubeClient) Delete(resources kube.ResourceList) (*kube.Result, []error) {
	return c.deleteAll(resources, metav1.DeletePropagationBackground)
}

// deleteAll deletes those of resources that are the Collector's. The result names all that are not there any more.
func (c *kubeClient) deleteAll(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	result, errs := &kube.Result{}, []error(nil)
	for _, info := range resources {
		err := c.delete(info, policy)
		conflict, isForeign := errors.AsType[*ConflictError](err)
		switch {
		case err == nil:
			result.Deleted.Append(info)
		case isForeign:
			log.FromContext(c.ctx).Info("left alone what is not the Collector's",
				"kind", info.Mapping.GroupVersionKind.Kind, "name", info.Name, "because", conflict.Error())
		default:
			errs = append(errs, err)
		}
	}
	return result, errs
}

// delete deletes one object, or returns a *ConflictError if it is not the Collector's. The precondition has the API
// server delete no other object than the one that was verified.
func (c *kubeClient) delete(info *resource.Info, policy metav1.DeletionPropagation) error {
	found, err := c.find(c.ctx, info)
	for range 3 {
		if err != nil || found == nil {
			return err
		}
		if err := Verify(found, c.collector); err != nil {
			return err
		}
		if err = c.deleteThis(info, found, policy); !apierrors.IsConflict(err) {
			return err
		}
		found, err = live(info)
	}
	return fmt.Errorf("delete %s: replaced again and again", describe(info))
}

func (c *kubeClient) deleteThis(info *resource.Info, found *unstructured.Unstructured, policy metav1.DeletionPropagation) error {
	uid := found.GetUID()
	_, err := resource.NewHelper(info.Client, info.Mapping).DeleteWithOptions(info.Namespace, info.Name, &metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", describe(info), err)
	}
	return nil
}
