package integration

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// parts returns the Secrets that hold what of a Collector's releases does not fit into theirs.
func parts(t *testing.T, collector *v1alpha1.Collector) []string {
	t.Helper()
	var found []string
	for _, stored := range list(t, collector.Namespace, "v1", "Secret", client.MatchingFields{"type": "kube8.dev/release-part"}) {
		found = append(found, stored.GetName())
	}
	return found
}

func TestAReleaseTooLargeForOneSecretIsStoredAnyway(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	setLarge(t, collector)
	create(t, collector)
	g := NewWithT(t)
	first := parts(t, collector)
	g.Expect(first).NotTo(BeEmpty(), "this release is too large for one Secret")

	requests := plane.audit.mark(t)
	touch(t, collector)
	g.Expect(plane.audit.writes(t, requests, collector.Namespace)).To(BeEmpty())

	upgrade(t, collector, func(c *v1alpha1.Collector) { setLarge(t, c) })
	g.Expect(len(parts(t, collector))).To(Equal(2*len(first)), "of two revisions, both whole")
	for range 4 { // more revisions than are kept
		upgrade(t, collector, func(c *v1alpha1.Collector) { setLarge(t, c) })
	}
	g.Expect(revisions(t, collector)).To(HaveLen(3))
	g.Expect(len(parts(t, collector))).To(Equal(3 * len(first)))

	small := func(version string) func(c *v1alpha1.Collector) {
		return func(c *v1alpha1.Collector) {
			c.Spec.Env = nil
			c.Spec.Collector.Version = version
		}
	}
	for _, version := range []string{"0.151.0", "0.152.0", "0.153.0"} {
		upgrade(t, collector, small(version))
	}
	g.Expect(parts(t, collector)).To(BeEmpty(), "parts of revisions that are gone")

	upgrade(t, collector, func(c *v1alpha1.Collector) { setLarge(t, c) })
	remove(t, collector)
	g.Expect(names(contents(t, collector.Namespace))).To(BeEmpty())
}
