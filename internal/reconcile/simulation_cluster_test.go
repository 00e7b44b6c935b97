package reconcile

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

var (
	errKilled  = errors.New("the operator was killed")
	errTimeout = apierrors.NewTimeoutError("the answer was lost", 0)
)

// simCluster is the API server for the Collector of one namespace.
type simCluster struct{ *simSpace }

var _ apply.Cluster = simCluster{}

// request is a request of the operator. It tells whether the effect takes place, and what the answer is if it is lost.
func (s *simSpace) request(what string, args ...any) (effect bool, lost error) {
	w := s.world
	w.requests++
	s.requests++
	if w.tracing {
		w.trace("    request %d: "+what, append([]any{w.requests}, args...)...)
	}
	if w.killed {
		return false, errKilled
	}
	w.requested()
	w.shows(s)
	for i, err := range []error{errKilled, errTimeout} {
		fault := &w.faults[i]
		if fault.in == 0 {
			continue
		}
		if fault.in--; fault.in == 0 {
			w.killed = w.killed || i == 0
			w.trace("      %v (%s)", err, fault.how)
			return fault.how == "after", err
		}
	}
	return true, nil
}

func simResource(what live.Reference) schema.GroupResource {
	return schema.GroupResource{Group: what.Kind().Group, Resource: strings.ToLower(what.Kind().Kind)}
}

func (c simCluster) Apply(_ context.Context, r apply.Request) (live.Object, error) {
	verb := "apply"
	if r.DryRun {
		verb = "dry run of"
	}
	effect, lost := c.request("%s %s (UID %s)", verb, r.Ref, r.UID)
	if !effect {
		return live.Object{}, lost
	}
	after, err := c.apply(r)
	if err != nil {
		c.world.trace("      refused: %v", err)
		return live.Object{}, errors.Join(lost, err)
	}
	if lost != nil {
		return live.Object{}, lost
	}
	return after.seen(), nil
}

// apply is what the API server does with an apply.
func (c simCluster) apply(r apply.Request) (*simObject, error) {
	what := r.Ref
	if r.Name != "" {
		what = live.NewReference(r.Ref.Kind(), r.Name)
	}
	current := c.objects[what]
	switch {
	case r.UID == "" && current != nil, r.UID != "" && current == nil, current != nil && r.Version != "" && r.Version != strconv.Itoa(current.version):
		return nil, apierrors.NewConflict(simResource(what), what.Name(), errors.New("the object is another one, or has gone"))
	case current != nil && current.uid != r.UID:
		return nil, simInvalid(what, metav1.CauseTypeFieldValueInvalid, "metadata.uid", "field is immutable")
	}
	fields := c.world.charts.flatten(r.Content)
	if r.Replicas != 0 {
		fields = append(fields, simField{name: simReplicas, value: strconv.Itoa(int(r.Replicas))})
	}
	by := map[string]uint8{managedfields.Manager: simOperator, managedfields.Handover: simHandover, managedfields.Adopter: simAdopter}[r.Manager]
	after := &simObject{ref: what, owner: c.uid, created: c.world.now}
	if current != nil {
		after = current.clone()
	}
	changed := after.apply(fields, by)
	if changed && by == simOperator {
		after.at = c.world.now
	}
	after.seal()
	if err := c.admit(current, after, r.DryRun); err != nil || r.DryRun {
		return after, err
	}
	if current != nil && !changed {
		return current, nil
	}
	if current == nil {
		after.uid = c.newUID()
		after.status.behind = true
	}
	c.wrote(current, after)
	c.store(after)
	return after, nil
}

func (c simCluster) Rewrite(context.Context, apply.Request) error {
	return errors.New("no list of the model has to be rewritten")
}

func (c simCluster) Read(_ context.Context, what live.Reference) (*unstructured.Unstructured, error) {
	if effect, lost := c.request("read %s", what); !effect || lost != nil {
		return nil, lost
	}
	found := c.objects[what]
	if found == nil {
		return nil, nil
	}
	if c.removing[found.uid] { // the operator waits in vain until it has gone
		return nil, context.DeadlineExceeded
	}
	c.reads[found.uid] = found.clone()
	return found.whole(c.namespace()), nil
}

func (c simCluster) Restore(_ context.Context, deleted *unstructured.Unstructured) (live.Object, error) {
	what := live.ReferenceTo(deleted)
	effect, lost := c.request("create %s again", what)
	if !effect {
		return live.Object{}, lost
	}
	if c.objects[what] != nil {
		return live.Object{}, apierrors.NewAlreadyExists(simResource(what), what.Name())
	}
	again := c.reads[deleted.GetUID()].clone()
	if err := c.refuses(true, what, false); err != nil {
		return live.Object{}, err
	}
	again.uid, again.deleting, again.finalizers, again.created = c.newUID(), false, nil, c.world.now
	again.status = simStatus{behind: true}
	for i := range again.fields {
		again.fields[i].owners = simOperator
	}
	again.at = c.world.now
	again.seal()
	c.wrote(nil, again)
	c.store(again)
	return again.seen(), lost
}

func (c simCluster) Delete(_ context.Context, what live.Reference, uid types.UID, orphan, dryRun bool) error {
	effect, lost := c.request("delete %s (UID %s, orphan %t, dry run %t)", what, uid, orphan, dryRun)
	if kept := c.kept(what); !effect || kept != nil {
		return cmp.Or(lost, kept)
	}
	if what.Kind().Kind == "Pod" {
		c.renews(uid)
		return lost
	}
	current := c.objects[what]
	if current == nil || current.uid != uid || dryRun {
		return lost
	}
	c.deletes(current, orphan)
	if orphan {
		for _, pod := range c.pods {
			if pod.owner == uid {
				pod.owner = ""
			}
		}
	}
	c.removing[uid] = true
	c.remove(current)
	return lost
}

func (c simCluster) Claims(context.Context) (claims []corev1.PersistentVolumeClaim, err error) {
	if effect, lost := c.request("list claims"); !effect || lost != nil {
		return nil, lost
	}
	for _, object := range c.sorted() {
		if size := object.get(simSize); object.kind() == "PersistentVolumeClaim" && strings.HasSuffix(size, "Gi") {
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Name: object.ref.Name(), UID: object.uid, ResourceVersion: strconv.Itoa(object.version),
				Annotations: map[string]string{v1alpha1.AppliedAnnotation: object.get(simApplied)},
			}}
			claim.Spec.VolumeName = "a"
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
			claims = append(claims, claim)
		}
	}
	return claims, nil
}

func (c simCluster) Discard(context.Context, apply.Growth) error {
	return errors.New("each claim of the model has a volume")
}

func (c simCluster) Grow(_ context.Context, growth apply.Growth, dryRun bool) error {
	what := simRef("PersistentVolumeClaim", growth.Claim)
	effect, lost := c.request("grow %s to %s, dry run %t", what, growth.Size, dryRun)
	if !effect {
		return lost
	}
	current := c.objects[what]
	if current == nil || current.uid != growth.UID || strconv.Itoa(current.version) != growth.Version {
		return apierrors.NewConflict(simResource(what), growth.Claim, errors.New("it has changed"))
	}
	if err := c.refuses(false, what, dryRun); err != nil || dryRun {
		return errors.Join(err, lost)
	}
	after := current.clone()
	after.find("spec.size").value = growth.Size
	c.store(after)
	return lost
}
