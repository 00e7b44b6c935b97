package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	collectorLabel = "kube8.dev/collector"
	hashAnnotation = "kube8.dev/config-sha256"
)

// config is a configuration whose bytes a parser would not keep: comments, an anchor, no line break at the end.
const config = `# ` + secret + `
receivers:
  otlp: {protocols: {grpc: &all {endpoint: "0.0.0.0:4317"}, http: *all}}
exporters:
  otlp/` + secret + `:
    endpoint: "https://user:` + secret + `@example.com"
    headers: {authorization: "${env:TOKEN} ` + secret + `"}
service: {pipelines: {traces: {receivers: [otlp], exporters: [otlp/` + secret + `]}}}`

// newCollector returns a Collector with nothing but what is required.
func newCollector(namespace, name string) *v1alpha1.Collector {
	return &v1alpha1.Collector{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.CollectorSpec{
			Collector: v1alpha1.CollectorConfig{
				Name: "opentelemetry-collector", Version: "0.150.0", Configuration: []byte(config),
			},
			Tenant:  v1alpha1.Tenant{ID: "1042", Reference: "acme"},
			Cluster: "prod-eu-1",
		},
	}
}

// create creates a Collector and waits until the operator has done with it.
func create(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	since := shared.log.mark()
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitRevision(t, collector, 1)
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
	awaitTold(t, collector)
	NewWithT(t).Eventually(func() string { return get(t, collector, "", &v1alpha1.Collector{}).Status.DeployedRelease.Digest }).
		ShouldNot(HaveSuffix("-"), "the status is written once more when the informer cache has all objects")
}

// awaitTold waits until the operator has said all that there is to say of a Collector that is deployed.
func awaitTold(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		revision := deployedRevision(t, collector)
		found := get(t, collector, "", &v1alpha1.Collector{})
		g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
		g.Expect(found.Status.DeployedRelease).To(HaveValue(HaveField("Revision", BeEquivalentTo(revision))))
		g.Expect(condition(t, collector, "Ready").Message).NotTo(Or(ContainSubstring("the informer cache does not have"), ContainSubstring("no workload is there")))
		g.Expect(events(t, collector)).To(HaveKey(ContainSubstring("revision %d", revision)))
	}).Should(Succeed())
}

// install creates a minimal Collector in a namespace of its own.
func install(t *testing.T, edits ...func(*v1alpha1.Collector)) *v1alpha1.Collector {
	t.Helper()
	collector := newCollector(newNamespace(t), "gateway")
	for _, edit := range edits {
		edit(collector)
	}
	create(t, collector)
	return collector
}

// keepsThree keeps three revisions of a Collector.
func keepsThree(c *v1alpha1.Collector) { c.Spec.RevisionHistoryLimit = new(int32(3)) }

// change changes a Collector without waiting.
func change(t *testing.T, collector *v1alpha1.Collector, edit func(*v1alpha1.Collector)) {
	t.Helper()
	before := collector.DeepCopy()
	edit(collector)
	if err := plane.client.Patch(t.Context(), collector, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// upgrade changes a Collector and waits until the change is deployed.
func upgrade(t *testing.T, collector *v1alpha1.Collector, edit func(*v1alpha1.Collector)) {
	t.Helper()
	revision := deployedRevision(t, collector)
	since := shared.log.mark()
	change(t, collector, edit)
	awaitRevision(t, collector, revision+1)
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
	awaitTold(t, collector)
}

// touch changes a Collector without changing what it asks for, and waits until the operator has looked at it.
func touch(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "example.com/touched", strconv.Itoa(since))
		metav1.SetMetaDataLabel(&c.ObjectMeta, "example.com/touched", strconv.Itoa(since))
	})
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
}

// awaitRevision waits until a revision of a Collector's release is deployed; Helm says so once all objects are applied.
func awaitRevision(t *testing.T, collector *v1alpha1.Collector, revision int) {
	t.Helper()
	NewWithT(t).Eventually(func() int { return deployedRevision(t, collector) }).
		Should(BeNumerically(">=", revision), "deployed revision of Collector %s", client.ObjectKeyFromObject(collector))
}

// deployedRevision returns the number of the release's revision that is accepted, or 0. Its record is there before.
func deployedRevision(t *testing.T, collector *v1alpha1.Collector) int {
	t.Helper()
	if deployed := get(t, collector, "", &v1alpha1.Collector{}).Status.DeployedRelease; deployed != nil {
		return int(deployed.Revision)
	}
	return 0
}

// revisions returns the Secrets in which Helm keeps a Collector's release.
func revisions(t *testing.T, collector *v1alpha1.Collector) []corev1.Secret {
	t.Helper()
	var secrets corev1.SecretList
	err := plane.client.List(t.Context(), &secrets, client.InNamespace(collector.Namespace),
		client.MatchingLabels{"owner": "helm", "name": collector.Name})
	if err != nil {
		t.Fatal(err)
	}
	return secrets.Items
}

// get reads an object with the Collector's name, or that name and a suffix.
func get[T client.Object](t *testing.T, collector *v1alpha1.Collector, suffix string, object T) T {
	t.Helper()
	key := types.NamespacedName{Namespace: collector.Namespace, Name: collector.Name + suffix}
	if err := plane.client.Get(t.Context(), key, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// condition reads one of a Collector's conditions.
func condition(t *testing.T, collector *v1alpha1.Collector, conditionType string) v1alpha1.Condition {
	t.Helper()
	for _, condition := range get(t, collector, "", &v1alpha1.Collector{}).Status.Conditions {
		if condition.Type == conditionType {
			return condition
		}
	}
	return v1alpha1.Condition{}
}

// filesOf returns the end of the name of the Secret that a Collector has for a configuration.
func filesOf(config string) string {
	return "-config-" + sha256Of(sha256Of(config) + "  config.yaml\n")[:10]
}

func sha256Of(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}
