package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// newReferring returns a Collector that takes its configuration from the Secret team-config.
func newReferring(namespace, name string) *v1alpha1.Collector {
	collector := newCollector(namespace, name)
	collector.Spec.Collector.Configuration = nil
	collector.Spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: "team-config", Key: "collector.yaml"}
	return collector
}

// createSecret creates a Secret as a user does for a Collector to refer to.
func createSecret(t *testing.T, namespace, name, content string) *corev1.Secret {
	t.Helper()
	created := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{collectorLabel: "shared"}},
		Data:       map[string][]byte{"collector.yaml": []byte(content)},
	}
	if err := plane.client.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	return created
}

func changeSecret(t *testing.T, changed *corev1.Secret, edit func(*corev1.Secret)) {
	t.Helper()
	before := changed.DeepCopy()
	edit(changed)
	if err := plane.client.Patch(t.Context(), changed, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func deployedHash(t *testing.T, collector *v1alpha1.Collector) string {
	t.Helper()
	return get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Annotations[hashAnnotation]
}

func TestAReferencedSecretIsTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		format  v1alpha1.Format
		content string
		copies  *bool
	}{
		{"in YAML", v1alpha1.FormatYAML, config, nil},
		{"in YAML, as it is", v1alpha1.FormatYAML, config, new(false)},
		{"in another format", v1alpha1.FormatRaw, "\x00[" + secret + "\n\xff", new(true)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := newReferring(newNamespace(t), "gateway")
			collector.Spec.Collector.Format = row.format
			collector.Spec.Collector.ConfigurationSecret.Copy = row.copies
			referenced := createSecret(t, collector.Namespace, "team-config", row.content)
			create(t, collector)

			g := NewWithT(t)
			g.Expect(deployedHash(t, collector)).To(Equal(sha256Of(row.content)))
			if row.copies == nil || *row.copies {
				g.Expect(mounts(t, collector)).To(Equal("gateway" + filesOf(row.content)))
				copied := get(t, collector, filesOf(row.content), &corev1.Secret{})
				g.Expect(copied.Data).To(Equal(map[string][]byte{"config.yaml": []byte(row.content)}))
				g.Expect(copied.Immutable).To(HaveValue(BeTrue()))
			} else {
				g.Expect(mounts(t, collector)).To(Equal("team-config"))
				g.Expect(names(contents(t, collector.Namespace))).NotTo(ContainElement(HavePrefix("Secret/gateway-config")))
			}
			remove(t, collector)
			after := &corev1.Secret{}
			g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(referenced), after)).To(Succeed())
			g.Expect(after).To(Equal(referenced), "the user's Secret")
		})
	}
}

func TestTheSecretIsCopiedOnceTheCollectorDoesNotRefuseIt(t *testing.T) {
	t.Parallel()
	collector := newReferring(newNamespace(t), "gateway")
	createSecret(t, collector.Namespace, "team-config", config)
	collector.Spec.Collector.ConfigurationSecret.Copy = new(false)
	create(t, collector)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.ConfigurationSecret.Copy = nil })
	NewWithT(t).Expect(mounts(t, collector)).To(Equal("gateway" + filesOf(config)))
}

func TestAChangedSecretRollsThePodsOfTheCollectorsThatReferToIt(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	one, two, other := newReferring(namespace, "one"), newReferring(namespace, "two"), newReferring(namespace, "other")
	other.Spec.Collector.ConfigurationSecret.Name = "other-config"
	referenced := createSecret(t, namespace, "team-config", config)
	createSecret(t, namespace, "other-config", config)
	for _, collector := range []*v1alpha1.Collector{one, two, other} {
		create(t, collector)
	}

	changed := "exporters: {debug: {}} # " + secret
	changeSecret(t, referenced, func(s *corev1.Secret) { s.Data["collector.yaml"] = []byte(changed) })
	g := NewWithT(t)
	for _, collector := range []*v1alpha1.Collector{one, two} {
		g.Eventually(func() string { return deployedHash(t, collector) }).Should(Equal(sha256Of(changed)))
		awaitRevision(t, collector, 2)
		g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Generation).To(BeEquivalentTo(1))
	}
	g.Expect(deployedHash(t, other)).To(Equal(sha256Of(config)))
	g.Expect(deployedRevision(t, other)).To(Equal(1))

	t.Run("but not if what changed is not the configuration", func(t *testing.T) {
		before, since := beside(t, one), shared.log.mark()
		changeSecret(t, referenced, func(s *corev1.Secret) {
			s.Data["another.yaml"] = []byte("another: key")
			s.Annotations = map[string]string{"example.com/changed": "yes"}
			s.Labels[collectorLabel] = "another"
		})
		for _, collector := range []*v1alpha1.Collector{one, two} {
			shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
		}
		NewWithT(t).Expect(beside(t, one)).To(Equal(before))
	})
}

// unusable are Secrets that cannot be deployed, and what the Collector then says.
var unusable = []struct {
	name         string
	spoil        func(*corev1.Secret) // nil for a Secret that is not there
	reason, want string
}{
	{
		name:   "the Secret is missing",
		reason: v1alpha1.ReasonConfigMissing,
		want:   `spec.collector.configurationSecret: namespace NAMESPACE has no Secret "team-config"; create it, with the label kube8.dev/collector`,
	},
	{
		name:   "the Secret has no label",
		spoil:  func(s *corev1.Secret) { s.Labels = nil },
		reason: v1alpha1.ReasonConfigMissing,
		want: `spec.collector.configurationSecret: Secret "team-config" lacks the label kube8.dev/collector, by which the operator ` +
			"follows its changes; run `kubectl label secret team-config -n NAMESPACE kube8.dev/collector=gateway`",
	},
	{
		name:   "the key is missing",
		spoil:  func(s *corev1.Secret) { s.Data = map[string][]byte{"config.yaml": []byte(config)} },
		reason: v1alpha1.ReasonConfigMissing,
		want:   `spec.collector.configurationSecret.key: Secret "team-config" has no key "collector.yaml"; add it, or name another`,
	},
	{
		name:   "the content is no YAML mapping",
		spoil:  func(s *corev1.Secret) { s.Data["collector.yaml"] = []byte("# a comment\n- " + secret) },
		reason: v1alpha1.ReasonConfigInvalid,
		want:   `spec.collector.configurationSecret: key "collector.yaml" of Secret "team-config": line 2 is not a YAML mapping`,
	},
	{
		name:   "the content is too long",
		spoil:  func(s *corev1.Secret) { s.Data["collector.yaml"] = []byte(strings.Repeat("#", 256<<10+1)) },
		reason: v1alpha1.ReasonConfigInvalid,
		want:   `spec.collector.configurationSecret: key "collector.yaml" of Secret "team-config": more than 262144 bytes when decoded`,
	},
}

// spoil edits a Secret, or deletes it if there is no edit.
func spoil(t *testing.T, spoilt *corev1.Secret, edit func(*corev1.Secret)) {
	t.Helper()
	if edit != nil {
		changeSecret(t, spoilt, edit)
	} else if err := plane.client.Delete(t.Context(), spoilt); err != nil {
		t.Fatal(err)
	}
}

// mend undoes what spoil did.
func mend(t *testing.T, spoilt *corev1.Secret, edit func(*corev1.Secret)) *corev1.Secret {
	t.Helper()
	if edit == nil {
		return createSecret(t, spoilt.Namespace, spoilt.Name, config)
	}
	changeSecret(t, spoilt, func(s *corev1.Secret) {
		s.Labels = map[string]string{collectorLabel: "gateway"}
		s.Data = map[string][]byte{"collector.yaml": []byte(config)}
	})
	return spoilt
}

// awaitRefusal waits until a Collector says why it is not deployed.
func awaitRefusal(t *testing.T, collector *v1alpha1.Collector, reason, want string) {
	t.Helper()
	NewWithT(t).Eventually(func() v1alpha1.Condition { return condition(t, collector, "Ready") }).Should(And(
		HaveField("Status", corev1.ConditionFalse), HaveField("Reason", reason),
		HaveField("Message", HavePrefix(strings.ReplaceAll(want, "NAMESPACE", collector.Namespace)))))
}

func TestACollectorIsDeployedAsSoonAsItsSecretCanBe(t *testing.T) {
	t.Parallel()
	for _, row := range unusable {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := newReferring(newNamespace(t), "gateway")
			referenced := createSecret(t, collector.Namespace, "team-config", config)
			spoil(t, referenced, row.spoil)
			since := shared.log.mark()
			if err := plane.client.Create(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			// By then the operator waits longer between two reconciles than the test does for the deployment.
			awaitFailures(t, since, collector, 4)
			awaitRefusal(t, collector, row.reason, row.want)
			NewWithT(t).Expect(names(contents(t, collector.Namespace))).To(
				HaveEach(BeElementOf("Collector/gateway", "Secret/team-config")))

			mend(t, referenced, row.spoil)
			NewWithT(t).Eventually(func() int { return deployedRevision(t, collector) }).
				WithTimeout(12*time.Second).Should(Equal(1), "deployed revision")
			awaitRecovery(t, collector, 1)
			NewWithT(t).Expect(deployedHash(t, collector)).To(Equal(sha256Of(config)))
			NewWithT(t).Expect(get(t, collector, "", &v1alpha1.Collector{}).Generation).To(BeEquivalentTo(1))
		})
	}
}

func TestASecretThatIsSpoiltLaterHarmsNothing(t *testing.T) {
	t.Parallel()
	for _, row := range unusable {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := newReferring(newNamespace(t), "gateway")
			referenced := createSecret(t, collector.Namespace, "team-config", config)
			create(t, collector)
			before := beside(t, collector)

			spoil(t, referenced, row.spoil)
			awaitRefusal(t, collector, row.reason, row.want)
			NewWithT(t).Expect(beside(t, collector)).To(Equal(before))
			referenced = mend(t, referenced, row.spoil)
			awaitRecovery(t, collector, 1) // the same configuration again
			NewWithT(t).Expect(beside(t, collector)).To(Equal(before))

			spoil(t, referenced, row.spoil)
			awaitRefusal(t, collector, row.reason, row.want)
			remove(t, collector)
			NewWithT(t).Expect(names(beside(t, collector))).To(BeEmpty())
		})
	}
}

// beside returns what is in a Collector's namespace beside Collectors and the Secret team-config.
func beside(t *testing.T, collector *v1alpha1.Collector) map[string]unstructured.Unstructured {
	t.Helper()
	objects := contents(t, collector.Namespace)
	maps.DeleteFunc(objects, func(name string, _ unstructured.Unstructured) bool {
		return name == "Secret/team-config" || strings.HasPrefix(name, "Collector/")
	})
	return objects
}

func TestTheOperatorKeepsOnlySecretsThatHaveTheLabel(t *testing.T) {
	t.Parallel()
	install(t) // the operator has its cache by then
	NewWithT(t).Expect(watchesOf(t, "secrets")).To(And(
		Not(BeEmpty()), HaveEach(selected)))
}

// selected matches a watch of objects with the label.
var selected = ContainSubstring("labelSelector=kube8.dev%2Fcollector&")

// watchesOf returns the requests by which operators watch a resource in all namespaces.
func watchesOf(t *testing.T, resource string) (watches []string) {
	t.Helper()
	for _, r := range plane.audit.read(t) {
		if r.ObjectRef.Resource == resource && slices.Contains([]string{"list", "watch"}, r.Verb) && r.ObjectRef.Namespace == "" {
			watches = append(watches, r.RequestURI)
		}
	}
	return watches
}
