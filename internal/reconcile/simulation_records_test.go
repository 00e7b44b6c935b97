package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/history"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
)

// simRecord is the record of a revision, and what the model knows of it.
type simRecord struct {
	*corev1.Secret
	revision int
	want     plan.Want
	of       simInputs
	spec     int64 // the generation of the Collector
	told     bool  // the status told of that generation when it was created
}

// simRecords are those of one Collector, kept by the product's code. The model notes what is accepted.
type simRecords struct {
	*history.Records
	space *simSpace
}

func (s *simSpace) recordsOf(r *reconcile) records {
	secrets := simSecrets{simSpace: s}
	return simRecords{&history.Records{
		Cluster: secrets, Live: secrets, Collector: r.collector, Chart: &helm.Chart{Metadata: &helm.Metadata{Name: "collector"}},
		Limit: history.LimitOf(r.collector), Deployed: r.deployed.Revision, History: r.deployed.History,
	}, s}
}

func (r simRecords) Accept(ctx context.Context, begun v1alpha1.RecordedRevision) {
	s, added := r.space, r.space.rendered[begun.Hash] // the record may be deleted
	added.revision, added.spec = int(begun.Revision), begun.Generation
	s.accepts(added)
	s.known[added.revision] = added
	s.accepted, s.acceptedOf, s.acceptedAs = added.want, added.of, added.revision
	s.dropTouched()
	r.Records.Accept(ctx, begun)
}

// simSecrets are the Secrets of the records, as the API server has them.
type simSecrets struct {
	client.Client // for what is not asked
	*simSpace
}

// find returns where a record is, or an error as the API server's. uid may be nil.
func (s simSecrets) find(name string, uid *types.UID) (int, error) {
	i := slices.IndexFunc(s.records, func(known simRecord) bool { return known.Name == name })
	resource := schema.GroupResource{Resource: "secrets"}
	switch {
	case i < 0:
		return i, apierrors.NewNotFound(resource, name)
	case uid != nil && *uid != s.records[i].UID:
		return i, apierrors.NewConflict(resource, name, errors.New("the UID is another one"))
	}
	return i, nil
}

func (s simSecrets) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	effect, lost := s.request("list the records")
	found, is := list.(*metav1.PartialObjectMetadataList)
	if !effect || lost != nil || !is {
		return lost
	}
	for _, known := range s.records {
		found.Items = append(found.Items, metav1.PartialObjectMetadata{ObjectMeta: *known.ObjectMeta.DeepCopy()})
	}
	return nil
}

func (s simSecrets) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if effect, lost := s.request("read %s", key.Name); !effect || lost != nil {
		return lost
	}
	if s.recalled++; s.recalled <= 2 { // before it repairs something, and at the first reconcile that is in order
		s.world.reads++
	}
	i, err := s.find(key.Name, nil)
	if secret, is := object.(*corev1.Secret); is && err == nil {
		s.records[i].DeepCopyInto(secret)
	}
	return err
}

func (s simSecrets) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	secret, is := object.(*corev1.Secret)
	effect, lost := s.request("create %s", object.GetName())
	if !effect || !is {
		return lost
	}
	if err := s.refuses(true, simRef("Secret", "record"), false); err != nil {
		s.world.trace("      refused: %v", err)
		return err
	}
	if _, err := s.find(secret.Name, nil); err == nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, secret.Name)
	}
	of, err := helm.Unpack(secret.Data["release"])
	if err != nil {
		return err
	}
	added, stored := s.rendered[of.Manifest], secret.DeepCopy()
	stored.UID = s.newUID()
	added.Secret, added.revision, added.told = stored, of.Version, s.state.ObservedGeneration == s.generation
	s.records = append(s.records, added)
	if lost == nil {
		secret.UID = stored.UID
	}
	return lost
}

func (s simSecrets) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	effect, lost := s.request("write that %s is superseded", object.GetName())
	if !effect || lost != nil {
		return lost
	}
	_, err := s.find(object.GetName(), nil)
	return cmp.Or(s.refuses(false, simRef("Secret", "record"), false), err)
}

func (s simSecrets) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	effect, lost := s.request("delete %s", object.GetName())
	if !effect {
		return lost
	}
	asked := (&client.DeleteOptions{}).ApplyOptions(options)
	i, err := s.find(object.GetName(), asked.Preconditions.UID)
	if err == nil {
		s.records = slices.Delete(s.records, i, i+1)
	}
	return cmp.Or(lost, err)
}

// recalls has what the status tells accepted: an operator that starts knows no more. Pods of what was accepted may start nevertheless.
func (s *simSpace) recalls() {
	if told := int(s.state.revision()); s.acceptedAs != told {
		if workload := s.accepted.First(render.Workloads); workload != nil {
			s.proven[s.templateOf(workload)] = true
		}
		known := s.known[told]
		s.accepted, s.acceptedOf, s.acceptedAs = known.want, known.of, told
	}
}

// simBroken stands for what a broken configuration is rendered to, and simRefusalText is why nothing is.
const simBroken, simRefusalText = "broken", "the configuration is broken"

// simRevisions are rendered by the model's chart.
type simRevisions struct {
	*history.Source
	world *simWorld
	chart int
}

// Render renders as history.Source does: versions of what is read are taken before it is read.
func (r simRevisions) Render(
	ctx context.Context, collector *unstructured.Unstructured, _ map[string]any, _ string,
) (*history.Revision, error) {
	now, _, err := r.Inputs(ctx, collector)
	if err != nil {
		return nil, err
	}
	s := r.world.of(collector)
	spec := s.spec.Effective()
	if spec.Configuration == 0 {
		if effect, lost := s.request("read the user's Secret"); !effect || lost != nil {
			return nil, lost
		}
		s.world.reads++
		now.Configuration = strconv.Itoa(s.secret)
	}
	again, _, err := r.Inputs(ctx, collector) // the base may have changed meanwhile
	if now.Bases = again.Bases; err != nil {
		return nil, err
	}
	in := simInputs{spec, s.secret, r.chart, r.world.base, r.world.hashes, string(s.uid)}
	if s.current = in; in.isBroken() {
		s.world.refused++
		s.want = plan.Want{Hash: simBroken}
		made := &history.Revision{Inputs: now, ConfigHash: strconv.Itoa(in.configuration())}
		return made, &history.RenderError{Of: made, Err: errors.New(simRefusalText)}
	}
	want := s.world.charts.render(in)
	s.want = want
	s.rendered[want.Hash] = simRecord{want: want, of: in, spec: s.generation}
	return &history.Revision{
		Want: want, Manifest: func() string { return want.Hash }, ConfigHash: strconv.Itoa(in.configuration()), Inputs: now,
	}, nil
}

// Recorded returns a revision of the model's records.
func (r simRevisions) Recorded(
	_ context.Context, collector *unstructured.Unstructured, of history.Content, _ *history.Revision,
) (*history.Revision, error) {
	s := r.world.of(collector)
	found, isKnown := s.rendered[of.Manifest]
	if !isKnown {
		return nil, errors.New("the record is not of this Collector")
	}
	in := found.of
	in.hashes = r.world.hashes
	want := s.world.charts.render(in)
	secret := func(what live.Reference) (*render.Object, error) { return want.Has(what), nil }
	return &history.Revision{
		Want: want, Inputs: history.Inputs{Generation: of.Generation}, ConfigHash: strconv.Itoa(in.configuration()), Secret: secret,
		Record: of.UID,
	}, nil
}

// showsDeployed checks that Helm's last revision is the deployed one. It need not be while a change is on its way, or if the operator cannot
// restore the deployed revision. The next operator does not ask about a Collector whose generation had failed before, and whose operator was
// killed when it had recorded the first revision and nothing more.
func (s *simSpace) showsDeployed(when string) {
	isLast := func(known simRecord) bool {
		return s.isLater(known) && (s.state.revision() > 0 || len(s.objects) > 0 || !known.told)
	}
	isDeployed := func(known simRecord) bool { return int64(known.revision) == s.state.revision() }
	if when != "in the end" || len(s.refusals) > 0 || s.state.update() != "" || !slices.ContainsFunc(s.records, isLast) {
		return
	}
	if s.world.pass(simPeriod); !slices.ContainsFunc(s.records, isLast) {
		return // an operator that starts asks at its next periodic reconcile
	}
	deployed := slices.IndexFunc(s.records, isDeployed)
	canRestore := deployed >= 0 && s.records[deployed].of.hashes == s.world.hashes
	if s.state.revision() == 0 || canRestore {
		s.world.violates("S10", "%s, Helm shows another revision than %d, which is deployed", when, s.state.revision())
	}
}

// isLater tells whether a record is of a later revision than the deployed one.
func (s *simSpace) isLater(known simRecord) bool { return int64(known.revision) > s.state.revision() }
