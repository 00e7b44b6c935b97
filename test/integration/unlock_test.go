package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// releasesOf returns the storage of a Collector's releases, as the operator has it.
func releasesOf(t *testing.T, collector *v1alpha1.Collector) *storage.Storage {
	t.Helper()
	core, err := corev1client.NewForConfig(plane.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	owner := metav1.NewControllerRef(collector, v1alpha1.GroupVersion.WithKind("Collector"))
	secrets := helmclient.NewOwnerRefSecretClient(core.Secrets(collector.Namespace), []metav1.OwnerReference{*owner}, nil)
	return storage.Init(driver.NewSecrets(secrets))
}

// leavePending makes a second revision of a Collector's release, as another operator that is upgrading it does.
func leavePending(t *testing.T, collector *v1alpha1.Collector) *release.Release {
	t.Helper()
	releases := releasesOf(t, collector)
	rel, err := releases.Last(collector.Name)
	if err != nil {
		t.Fatal(err)
	}
	rel.Version, rel.Info.LastDeployed = 2, helmtime.Now()
	rel.Labels["kube8.dev/operator"] = "another"
	rel.SetStatus(release.StatusPendingUpgrade, "Preparing upgrade")
	if err := releases.Create(rel); err != nil {
		t.Fatal(err)
	}
	return rel
}

// It stops the shared operator, and so is not parallel.
func TestWithoutLeaderElectionAPendingReleaseIsTakenOverAfterAWhile(t *testing.T) {
	namespace := newNamespace(t)
	if err := shared.stop(); err != nil {
		t.Error(err)
	}
	startSharedAgain(t)
	one := startAnother(t, namespace)
	changed, deleted := newCollector(namespace, "changed"), newCollector(namespace, "deleted")
	var pending []*release.Release
	for _, collector := range []*v1alpha1.Collector{changed, deleted} {
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		awaitSettled(t, collector, config)
		pending = append(pending, leavePending(t, collector))
	}
	change(t, changed, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("changed: {}") })
	if err := plane.client.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Eventually(func() string { return condition(t, changed, "Irreconcilable").Message }).Should(
		ContainSubstring("release changed is pending-upgrade since"))
	g.Eventually(func() string { return condition(t, deleted, "ReleaseFailed").Message }).Should(
		ContainSubstring("release deleted is pending-upgrade since"))
	for i, collector := range []*v1alpha1.Collector{changed, deleted} {
		g.Expect(statusesOfRevisions(t, collector)).To(Equal([]string{"1 deployed", "2 pending-upgrade"}))
		pending[i].Info.LastDeployed = helmtime.Now().Add(-5 * time.Minute)
		g.Expect(releasesOf(t, collector).Update(pending[i])).To(Succeed())
	}

	awaitUnlocked(t, one, changed)
	awaitSettled(t, changed, "changed: {}")
	awaitGone(t, deleted)
	remove(t, changed)
	g.Expect(names(contents(t, namespace))).To(BeEmpty())
}
