package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// notDeployable are configurations that the API server accepts, and what the Collector then says.
var notDeployable = []struct{ name, config, want string }{
	{"a list", "# a comment\n- " + secret, "spec.collector.configuration: line 2 is not a YAML mapping"},
	{"a word", secret, "spec.collector.configuration: line 1 is not a YAML mapping"},
	{"not YAML", "receivers: {}\nexporters: [" + secret, "spec.collector.configuration: line 2 has a [ or { that is not closed"},
	{"a key twice", secret + ": 1\n" + secret + ": 2", "spec.collector.configuration: duplicate key near line 2"},
	{"an unknown alias", "a: *" + secret, "spec.collector.configuration: line 1 has an alias without its anchor"},
	{"a tag that does not fit", "a: 1\nb: !!int " + secret, "spec.collector.configuration: value or key of the wrong type"},
	{"a NUL byte", "a: " + secret + "\nb: \x00" + secret, "spec.collector.configuration: line 2 has a NUL byte"},
	{"Latin-1", "a: " + secret + "\xe9", "spec.collector.configuration: line 1 is not UTF-8"},
	{"a template", "a: 1\nb: {{ ." + secret + " }}", "spec.collector.configuration: line 2 has {{ }} without quotes"},
	{"two documents", "a: " + secret + "\n---\nb: " + secret, "spec.collector.configuration: more than one YAML document"},
	{"only a comment", "# " + secret, "spec.collector.configuration: empty when decoded"},
}

// createRefused creates a Collector and waits until the operator has failed to deploy it, and said so.
func createRefused(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	since := shared.log.mark()
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitFailures(t, since, collector, 2)
}

// awaitFailures waits until a number of reconciles of a Collector, begun since a mark, have failed. The delay doubles after each, so that
// five of them can take 30 s.
func awaitFailures(t *testing.T, since int, collector *v1alpha1.Collector, count int) {
	t.Helper()
	NewWithT(t).Eventually(func() (failures int) {
		for _, failure := range shared.log.reconciles(since, client.ObjectKeyFromObject(collector)) {
			if failure != "" {
				failures++
			}
		}
		return failures
	}).WithTimeout(time.Minute).Should(BeNumerically(">=", count), "failed reconciles of Collector %s", client.ObjectKeyFromObject(collector))
}

func TestAConfigurationThatIsNoYAMLMappingIsNeverDeployed(t *testing.T) {
	t.Parallel()
	for _, row := range notDeployable {
		t.Run("at first: "+row.name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Collector.Configuration = []byte(row.config)
			createRefused(t, collector)

			g := NewWithT(t)
			refused := condition(t, collector, "Irreconcilable")
			g.Expect(refused.Status).To(Equal(corev1.ConditionTrue))
			g.Expect(refused.Message).To(ContainSubstring(row.want))
			g.Expect(condition(t, collector, "Deployed").Status).NotTo(Equal(corev1.ConditionTrue))
			g.Expect(names(contents(t, collector.Namespace))).To(ConsistOf("Collector/gateway"))

			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(config) })
			awaitRecovery(t, collector, 1)
		})
	}
	t.Run("later: the release stays as it was", func(t *testing.T) {
		t.Parallel()
		collector := install(t)
		before := contents(t, collector.Namespace)
		delete(before, "Collector/gateway")
		for _, row := range notDeployable {
			since, requests := shared.log.mark(), plane.audit.mark(t)
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(row.config) })
			awaitFailures(t, since, collector, 2)

			g := NewWithT(t)
			g.Expect(condition(t, collector, "Irreconcilable").Message).To(ContainSubstring(row.want), row.name)
			after := contents(t, collector.Namespace)
			delete(after, "Collector/gateway")
			g.Expect(after).To(Equal(before), row.name)
			g.Expect(plane.audit.writes(t, requests, collector.Namespace)).To(
				HaveEach(Or(HavePrefix("patch collectors/status"), ContainSubstring(" events/"))), row.name)
		}
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("fixed: " + secret) })
		awaitRecovery(t, collector, 2)
		NewWithT(t).Expect(get(t, collector, filesOf("fixed: "+secret), &corev1.Secret{}).Data).To(
			Equal(map[string][]byte{"config.yaml": []byte("fixed: " + secret)}))
	})
}

// awaitRecovery waits until a Collector that failed is deployed, and says so.
func awaitRecovery(t *testing.T, collector *v1alpha1.Collector, revision int) {
	t.Helper()
	awaitRevision(t, collector, revision)
	g := NewWithT(t)
	for conditionType, want := range map[string]corev1.ConditionStatus{
		"Deployed": "True", "Irreconcilable": "False", "ReleaseFailed": "False",
	} {
		g.Eventually(func() corev1.ConditionStatus { return condition(t, collector, conditionType).Status }).
			Should(Equal(want), conditionType)
	}
	g.Expect(deployedRevision(t, collector)).To(Equal(revision))
	g.Expect(condition(t, collector, "Irreconcilable").Message).To(BeEmpty())
}

// spoils make a Collector one that cannot be deployed.
var spoils = map[string]func(*v1alpha1.Collector){
	"refused by the post-renderer": func(c *v1alpha1.Collector) {
		c.Spec.Collector.Configuration = []byte("- " + secret)
	},
	"refused by the chart": func(c *v1alpha1.Collector) {
		c.Spec.Ports = map[string]v1alpha1.Port{"nameless": {}}
	},
	"refused by the API server": func(c *v1alpha1.Collector) {
		c.Spec.NodeSelector = map[string]string{"Not A Name": ""}
		c.Spec.Env = []corev1.EnvVar{{Name: "TOKEN", Value: secret}}
	},
}

func TestACollectorThatKeepsFailingDoesNotKeepWriting(t *testing.T) {
	t.Parallel()
	for name, spoil := range spoils {
		for _, deployed := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", at first", true: ", later"}[deployed], func(t *testing.T) {
				t.Parallel()
				collector := newCollector(newNamespace(t), "gateway")
				since := shared.log.mark()
				var before map[string]unstructured.Unstructured
				if deployed {
					create(t, collector)
					before = contents(t, collector.Namespace, client.HasLabels{collectorLabel})
					since = shared.log.mark()
					change(t, collector, spoil)
				} else {
					spoil(collector)
					if err := plane.client.Create(t.Context(), collector); err != nil {
						t.Fatal(err)
					}
				}
				// The first failure is news, and the second can be seen with an outdated cache; no later one is.
				awaitFailures(t, since, collector, 3)
				settled, requests := get(t, collector, "", &v1alpha1.Collector{}).Status, plane.audit.mark(t)
				for range 5 { // they would come by themselves, in a minute
					touch(t, collector)
				}

				g := NewWithT(t)
				g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Status).To(Equal(settled))
				g.Expect(plane.audit.writes(t, requests, collector.Namespace)).NotTo(ContainElement(ContainSubstring("collectors/")))
				if deployed {
					g.Expect(contents(t, collector.Namespace, client.HasLabels{collectorLabel})).To(Equal(before))
					g.Expect(deployedRevision(t, collector)).To(Equal(1))
				}
				g.Expect(settled.Conditions).To(ContainElement(And(
					HaveField("Type", "Irreconcilable"), HaveField("Status", corev1.ConditionTrue), HaveField("Message", Not(BeEmpty())))))
				remove(t, collector)
				// Helm removes what the failed revision has. What only the deployed one had is the garbage collector's.
				for name, object := range contents(t, collector.Namespace) {
					g.Expect(metav1.IsControlledBy(&object, collector)).To(BeTrue(), "%s is left behind", name)
				}
			})
		}
	}
}
