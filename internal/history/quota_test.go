package history

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
)

func TestAQuotaSaysHowManySecretsAreTooMany(t *testing.T) {
	const begin = `exceeded quota: limit, requested: `
	for refusal, want := range map[string]int{
		begin + "count/secrets=1, used: count/secrets=7, limited: count/secrets=3":                     5,
		begin + "count/secrets=1, used: count/secrets=3, limited: count/secrets=3":                     1,
		begin + "secrets=1, used: secrets=3, limited: secrets=3":                                       1,
		begin + "count/secrets=1,secrets=1, used: count/secrets=7,secrets=7, limited: count/secrets=7": 1,
		begin + "count/pods=1, used: count/pods=7, limited: count/pods=3":                              0,
		`not by me, used: secrets=7, limited: secrets`:                                                 0,
	} {
		forbidden := apierrors.NewForbidden(corev1.Resource("secrets"), "sh.helm.release.v1.c.v4", errors.New(refusal))
		if got := overQuota(fmt.Errorf("record revision 4: %w", forbidden)); got != want {
			t.Errorf("%s: %d are too many, want %d", refusal, got, want)
		}
	}
	for _, other := range []error{nil, errors.New(begin + "secrets=1, used: secrets=3, limited: secrets=3")} {
		if got := overQuota(other); got != 0 {
			t.Errorf("%d are too many by %v", got, other)
		}
	}
}

func TestAQuotaTakesAsManyOldRecordsAsItNeeds(t *testing.T) {
	collector := owner()
	for name, row := range map[string]struct {
		hard, secrets, left int // how many Secrets may be there, how many come with the revision, and how many records stay of four
		begins              bool
	}{
		"there is room":                             {hard: 5, left: 4, begins: true},
		"one has to go":                             {hard: 4, left: 3, begins: true},
		"two have to go, with a configuration":      {hard: 4, secrets: 1, left: 2, begins: true},
		"the deployed one stays":                    {hard: 2, left: 1, begins: true},
		"nothing goes if that would be in vain":     {hard: 1, left: 4},
		"and nothing, with a configuration":         {hard: 2, secrets: 1, left: 4},
		"and nothing, where no Secret may be there": {hard: 0, left: 4},
	} {
		cluster := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				var all corev1.SecretList
				if err := c.List(ctx, &all); err != nil {
					return err
				}
				if len(all.Items) >= row.hard {
					return apierrors.NewForbidden(corev1.Resource("secrets"), object.GetName(), fmt.Errorf(
						"exceeded quota: limit, requested: count/secrets=1, used: count/secrets=%d, limited: count/secrets=%d", len(all.Items), row.hard))
				}
				return c.Create(ctx, object, options...)
			},
		})
		records := &Records{
			Cluster: cluster, Live: cluster, Collector: collector, Chart: &helm.Chart{Metadata: &helm.Metadata{}}, Limit: 10, Deployed: 4,
			History: []v1alpha1.RecordedRevision{},
		}
		hard := row.hard
		row.hard = 9
		for revision := range 4 {
			created, err := records.create(t.Context(), revision+1, Content{})
			if err != nil {
				t.Fatal(err)
			}
			records.History = append(records.History, created)
		}
		row.hard = hard
		_, err := records.Begin(t.Context(), Content{Manifest: "a", Secrets: row.secrets})
		if (err == nil) != row.begins || len(records.Kept()) != row.left {
			t.Errorf("%s: %d records stay, want %d; %v", name, len(records.Kept()), row.left, err)
		}
	}
}

func TestAQuotaThatRefusesAnotherSecretTakesOldRecordsForTheNextAttempt(t *testing.T) {
	const refusal = "exceeded quota: limit, requested: count/secrets=1, used: count/secrets=%d, limited: count/secrets=6"
	for name, row := range map[string]struct {
		refusal error
		left    int // of three
	}{
		"one has to go":                    {fmt.Errorf(refusal, 6), 2},
		"two have to go":                   {fmt.Errorf(refusal, 7), 1},
		"nothing goes, or none would stay": {fmt.Errorf(refusal, 8), 3},
		"nothing goes for another refusal": {errors.New("a policy says no"), 3},
	} {
		collector, cluster := owner(), fake.NewClientBuilder().Build()
		records := &Records{Cluster: cluster, Live: cluster, Collector: collector, Deployed: 3, History: []v1alpha1.RecordedRevision{
			{Revision: 1, UID: "1"}, {Revision: 2, UID: "2"}, {Revision: 3, UID: "3"},
		}}
		records.MakeRoom(t.Context(), fmt.Errorf("create: %w", apierrors.NewForbidden(corev1.Resource("secrets"), "c-config", row.refusal)))
		if kept := records.Kept(); len(kept) != row.left || kept[len(kept)-1].Revision != 3 {
			t.Errorf("%s: %v stay, want %d", name, kept, row.left)
		}
	}
}
