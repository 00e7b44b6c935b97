package integration

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// setLarge gives a Collector a spec of which two copies, as a release has them, do not fit into one Secret, however
// well they are compressed.
func setLarge(t *testing.T, c *v1alpha1.Collector) {
	t.Helper()
	c.Spec.Env = nil
	for i := range 8 {
		noise := make([]byte, 60<<10)
		if _, err := rand.Read(noise); err != nil {
			t.Fatal(err)
		}
		c.Spec.Env = append(c.Spec.Env, corev1.EnvVar{Name: fmt.Sprintf("NOISE_%d", i), Value: base64.StdEncoding.EncodeToString(noise)})
	}
}

func TestAReleaseTooLargeForOneSecretIsRecordedInPart(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	keepsThree(collector)
	setLarge(t, collector)
	create(t, collector)
	requests := plane.audit.mark(t)
	touch(t, collector)
	g := NewWithT(t)
	g.Expect(plane.audit.writes(t, requests, collector.Namespace)).To(BeEmpty())

	for range 4 { // more revisions than are kept
		upgrade(t, collector, func(c *v1alpha1.Collector) { setLarge(t, c) })
	}
	g.Expect(revisions(t, collector)).To(HaveLen(3))
	recorded, err := releasesOf(t, collector).Deployed(collector.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(recorded.Info.Description).To(ContainSubstring("too large to record the values"))
	g.Expect(recorded.Manifest).To(ContainSubstring("NOISE_7"))

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Env = nil })
	recorded, err = releasesOf(t, collector).Deployed(collector.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(recorded.Config).To(HaveKey("collector"))
	remove(t, collector)
	g.Expect(names(contents(t, collector.Namespace))).To(BeEmpty())
}

// releasesOf returns the storage of a Collector's releases, as the helm command has it.
func releasesOf(t *testing.T, collector *v1alpha1.Collector) *storage.Storage {
	t.Helper()
	return storage.Init(driver.NewSecrets(kubernetes.NewForConfigOrDie(plane.env.Config).CoreV1().Secrets(collector.Namespace)))
}
