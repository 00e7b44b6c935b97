package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
)

// faulty is a cluster in memory. It gives UIDs, looks at those of preconditions, and refuses what a schedule says.
type faulty struct {
	client.WithWatch
	random *rand.Rand
	uids   int
	left   int  // requests until the operator is killed, or -1
	isDown bool // it is killed
	share  int  // of 100 requests, how many are refused
}

var errFault = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("a policy refuses it"))

// fault returns why a request fails.
func (f *faulty) fault() error {
	if f.left == 0 {
		f.isDown = true
	}
	f.left--
	if f.isDown || f.random.IntN(100) < f.share {
		return errFault
	}
	return nil
}

func newFaulty(seed uint64) *faulty {
	f := &faulty{random: rand.New(rand.NewPCG(seed, 41)), left: -1}
	f.WithWatch = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return errors.Join(f.fault(), c.Get(ctx, key, object, options...))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return errors.Join(f.fault(), c.List(ctx, list, options...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := f.fault(); err != nil {
				return err
			}
			if err := c.Patch(ctx, object, patch, options...); err != nil && !apierrors.IsNotFound(err) {
				return apierrors.NewInvalid(schema.GroupKind{}, object.GetName(), nil) // as an API server answers a test or a move that fails
			}
			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := f.fault(); err != nil {
				return err
			}
			f.uids++
			object.SetUID(types.UID(strconv.Itoa(f.uids)))
			return c.Create(ctx, object, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := f.fault(); err != nil {
				return err
			}
			wanted := (&client.DeleteOptions{}).ApplyOptions(options)
			found := &corev1.Secret{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
				return err
			}
			if *wanted.Preconditions.UID != found.UID {
				return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, found.Name, errors.New("another UID"))
			}
			return c.Delete(ctx, object)
		},
	})
	return f
}

// take deletes a Secret as another client does, and tells whether there was one.
func (f *faulty) take(ctx context.Context, secret *corev1.Secret) bool {
	return f.Get(ctx, client.ObjectKeyFromObject(secret), secret) == nil && f.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}) == nil
}

// recreate replaces a Secret by an equal one, as another client does.
func (f *faulty) recreate(ctx context.Context, secret *corev1.Secret) {
	if !f.take(ctx, secret) {
		return
	}
	secret.ResourceVersion = ""
	_ = f.Create(ctx, secret)
}

// After any schedule of changes, kills between two requests, and requests that are refused, two changes leave the last revisions recorded
// and no other. The next operator knows them from the status.
func TestNoScheduleLeavesOldRecords(t *testing.T) {
	collector := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "1"}}
	collector.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	for seed := range uint64(300) {
		cluster, deployed := newFaulty(seed), 0
		random := cluster.random
		var records *Records
		var told []v1alpha1.RecordedRevision // by the status
		start := func(limit int) {
			cluster.left, cluster.isDown = -1, false
			records = &Records{
				Cluster: cluster, Live: cluster, Collector: collector, Chart: &helm.Chart{Metadata: &helm.Metadata{}},
				Limit: limit, Deployed: deployed, History: told,
			}
		}
		change := func() error {
			if err := records.Prepare(t.Context()); err != nil {
				return err
			}
			begun, err := records.Begin(t.Context(), Content{Manifest: "a"})
			if err != nil {
				return err
			}
			if int(begun.Revision) <= deployed {
				t.Errorf("seed %d: revision %d is recorded after revision %d", seed, begun.Revision, deployed)
			}
			records.Accept(t.Context(), begun)
			if !cluster.isDown { // the status tells of it
				deployed, told = int(begun.Revision), records.Kept()
				records.Deployed = deployed
			}
			return nil
		}
		start(1 + random.IntN(4))
		var happened []string
		isGap := false // another client has deleted a record
		for range 3 + random.IntN(12) {
			switch cluster.share = 0; random.IntN(8) {
			case 0:
				cluster.left = random.IntN(6)
			case 1:
				cluster.share = 40
			case 2: // an earlier version of the operator has written the status
				told = nil
			case 3:
				cluster.recreate(t.Context(), records.secretOf(deployed-1))
				cluster.share = 20
			case 4:
				isGap = cluster.take(t.Context(), records.secretOf(deployed)) || isGap
			}
			happened = append(happened, fmt.Sprintf("limit %d, share %d, killed after %d", records.Limit, cluster.share, cluster.left))
			_ = change()
			if cluster.isDown || random.IntN(4) == 0 {
				start(1 + random.IntN(4))
			}
		}
		if cluster.share = 0; cluster.isDown || random.IntN(2) == 0 {
			start(records.Limit)
		}
		cluster.left = -1
		for range 2 {
			if err := change(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		list := &corev1.SecretList{}
		if err := cluster.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var left []int
		for _, secret := range list.Items {
			revision, _ := RevisionOf(secret.Name, "gateway")
			left = append(left, revision)
		}
		slices.Sort(left)
		for i, revision := range left {
			if len(left) > records.Limit || !isGap && revision != deployed-len(left)+1+i {
				t.Fatalf("seed %d: with a limit of %d, %v are left after %q", seed, records.Limit, left, happened)
			}
		}
	}
}

// A tenant who may write Secrets can write one that looks like a record.
func TestANumberThatSomebodyForgesCostsNoRecord(t *testing.T) {
	collector := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "1"}}
	collector.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	for number, want := range map[int]int{1000: 1001, maxRevision: maxRevision + 1, maxRevision + 1: 4, math.MaxInt: 4} {
		cluster := newFaulty(1)
		next := func(deployed int) int {
			records := &Records{
				Cluster: cluster, Live: cluster, Collector: collector, Chart: &helm.Chart{Metadata: &helm.Metadata{}}, Limit: 10, Deployed: deployed,
			}
			if err := records.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			begun, err := records.Begin(t.Context(), Content{Manifest: "a"})
			if err != nil {
				t.Fatal(err)
			}
			records.Accept(t.Context(), begun)
			return int(begun.Revision)
		}
		next(next(next(0)))
		forged := (&Records{Collector: collector}).secretOf(number)
		forged.Labels = map[string]string{"owner": "helm", "name": "gateway"}
		forged.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(collector, collector.GroupVersionKind())}
		if err := cluster.Create(t.Context(), forged); err != nil {
			t.Fatal(err)
		}
		if got := next(0); got != want {
			t.Errorf("%d is followed by %d, want %d", number, got, want)
		}
		if got := next(number); number > maxRevision && got != want+1 {
			t.Errorf("%d in the status is followed by %d, want %d", number, got, want+1)
		}
		for revision := range 3 {
			secret := (&Records{Collector: collector}).secretOf(revision + 1)
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
				t.Errorf("after %d: %v", number, err)
			}
		}
	}
}

func TestARefusalThatLooksLikeAnotherRecordIsTold(t *testing.T) {
	collector := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "gateway", UID: "1"}}
	cluster := newFaulty(1)
	records := &Records{
		Live: cluster, Collector: collector, Chart: &helm.Chart{Metadata: &helm.Metadata{}}, Limit: 3,
		Cluster: interceptor.NewClient(cluster, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, "no records on Fridays")
			},
		}),
	}
	if _, err := records.Begin(t.Context(), Content{}); err == nil || !strings.Contains(err.Error(), "no records on Fridays") {
		t.Errorf("the webhook's words are not told: %v", err)
	}
}

func TestWhoTakesTheNamesOfManyRecordsCostsFewRequests(t *testing.T) {
	collector := owner()
	cluster, tries := newFaulty(1), 0
	for revision := 2; revision < 2000; revision++ {
		forged := (&Records{Collector: collector}).secretOf(revision)
		forged.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(collector, v1alpha1.GroupVersion.WithKind("Collector"))}
		if err := cluster.Create(t.Context(), forged); err != nil {
			t.Fatal(err)
		}
	}
	records := &Records{
		Live: cluster, Collector: collector, Chart: &helm.Chart{Metadata: &helm.Metadata{}}, Limit: 3,
		History: []v1alpha1.RecordedRevision{{Revision: 1}},
		Cluster: interceptor.NewClient(cluster, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				tries++
				return c.Create(ctx, object, options...)
			},
		}),
	}
	if begun, err := records.Begin(t.Context(), Content{Manifest: "a"}); err != nil || begun.Revision < 2000 || tries > 16 {
		t.Errorf("revision %d after %d tries, %v", begun.Revision, tries, err)
	}
}
