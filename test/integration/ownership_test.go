package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// foreignObjects bear the name of one of a Collector's objects.
var foreignObjects = []struct{ name, object, owner string }{
	{
		"an applied Service",
		`{apiVersion: v1, kind: Service, metadata: {name: gateway}, spec: {ports: [{port: 80}]}}`,
		"has no owner",
	},
	{
		"a Service of another Helm release",
		`{apiVersion: v1, kind: Service, metadata: {name: gateway, labels: {app.kubernetes.io/managed-by: Helm},
			annotations: {meta.helm.sh/release-name: other}}, spec: {ports: [{port: 80}]}}`,
		`belongs to Helm release "other"`,
	},
	{
		"a Service that Helm alone would adopt",
		`{apiVersion: v1, kind: Service, metadata: {name: gateway, labels: {app.kubernetes.io/managed-by: Helm},
			annotations: {meta.helm.sh/release-name: gateway, meta.helm.sh/release-namespace: its}}, spec: {ports: [{port: 80}]}}`,
		`belongs to Helm release "gateway"`,
	},
	{
		"a Service that has the label by which the operator knows its own",
		`{apiVersion: v1, kind: Service, metadata: {name: gateway, labels: {kube8.dev/collector: gateway}}, spec: {ports: [{port: 80}]}}`,
		"has no owner",
	},
	{
		"a Deployment of another controller",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: gateway, ownerReferences: [
			{apiVersion: example.com/v1, kind: Proxy, name: eu, uid: 5e9d8cc8-6a9f-4cb4-8b7e-9f1c7a2d3b10, controller: true}]},
			spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`,
		"belongs to Proxy/eu",
	},
	{
		"a Secret",
		`{apiVersion: v1, kind: Secret, metadata: {name: gateway` + filesOf(config) + `}, stringData: {a: b}}`,
		"has no owner",
	},
	{
		"a custom resource",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: gateway}, spec: {endpoints: []}}`,
		"has no owner",
	},
}

func createForeign(t *testing.T, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	if annotations := object.GetAnnotations(); annotations["meta.helm.sh/release-namespace"] != "" {
		annotations["meta.helm.sh/release-namespace"] = namespace
		object.SetAnnotations(annotations)
	}
	if err := plane.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// expectUntouched fails the test if an object is not just as it was.
func expectUntouched(t *testing.T, object client.Object) {
	t.Helper()
	now := &unstructured.Unstructured{}
	kind, err := plane.client.GroupVersionKindFor(object)
	if err != nil {
		t.Fatal(err)
	}
	now.SetGroupVersionKind(kind)
	if err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(object), now); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Expect([]any{now.GetUID(), now.GetResourceVersion(), now.GetDeletionTimestamp()}).To(
		Equal([]any{object.GetUID(), object.GetResourceVersion(), object.GetDeletionTimestamp()}))
}

// awaitConflict waits until a Collector says what is in its way.
func awaitConflict(t *testing.T, collector *v1alpha1.Collector, message string) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return condition(t, collector, "Irreconcilable").Message }).Should(Equal(message))
	NewWithT(t).Expect(condition(t, collector, "Ready").Status).To(Equal(corev1.ConditionFalse))
}

func TestAnObjectOfSomebodyElseIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, row := range foreignObjects {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			foreign := createForeign(t, namespace, row.object)
			before := names(contents(t, namespace))
			collector := newCollector(namespace, "gateway")
			collector.Spec.ServiceMonitor = &v1alpha1.Monitor{Enabled: true}
			if err := plane.client.Create(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			awaitConflict(t, collector, foreign.GetKind()+` "`+foreign.GetName()+`" exists and `+row.owner+
				"; delete or rename it, or rename the Collector")
			NewWithT(t).Expect(names(contents(t, namespace))).To(ConsistOf("Collector/gateway", before[0]), "nothing else is begun")
			touch(t, collector)
			expectUntouched(t, foreign)

			remove(t, collector)
			expectUntouched(t, foreign)
			NewWithT(t).Expect(names(contents(t, namespace))).To(Equal(before))
		})
	}
}

func TestACollectorIsDeployedOnceNothingIsInItsWay(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	foreign := createForeign(t, collector.Namespace, foreignObjects[0].object)
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitConflict(t, collector, `Service "gateway" exists and has no owner; `+
		"delete or rename it, or rename the Collector")
	if err := plane.client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	awaitRecovery(t, collector, 1)
}

// replaceService puts somebody else's Service in the place of a Collector's, unseen by the operator.
func replaceService(t *testing.T, collector *v1alpha1.Collector, text string) *unstructured.Unstructured {
	t.Helper()
	pause(t, collector)
	if err := plane.client.Delete(t.Context(), get(t, collector, "", &corev1.Service{})); err != nil {
		t.Fatal(err)
	}
	return createForeign(t, collector.Namespace, text)
}

func unpause(c *v1alpha1.Collector) { delete(c.Annotations, v1alpha1.PausedAnnotation) }

func TestAServiceThatHasTakenThePlaceOfOursIsNotTouched(t *testing.T) {
	t.Parallel()
	for _, row := range foreignObjects[:4] {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			foreign := replaceService(t, collector, row.object)
			before := contents(t, collector.Namespace, client.HasLabels{collectorLabel})

			conflict := `Service "gateway" exists and ` + row.owner + "; delete or rename it, or rename the Collector"
			change(t, collector, unpause)
			awaitConflict(t, collector, conflict)
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			touch(t, collector)
			awaitConflict(t, collector, conflict)
			g := NewWithT(t)
			g.Expect(contents(t, collector.Namespace, client.HasLabels{collectorLabel})).To(Equal(before), "nothing is half done")
			g.Expect(revisions(t, collector)).To(HaveLen(1))
			expectUntouched(t, foreign)

			remove(t, collector)
			expectUntouched(t, foreign)
			g.Expect(names(contents(t, collector.Namespace))).To(ConsistOf("Service/gateway"))
		})
	}
}

func TestAServiceThatHasTakenThePlaceOfOursIsNotDeletedWithWhatTheSpecNoLongerHas(t *testing.T) {
	t.Parallel()
	for _, row := range foreignObjects[:4] {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			foreign := replaceService(t, collector, row.object)
			upgrade(t, collector, func(c *v1alpha1.Collector) {
				unpause(c)
				c.Spec.Service = &v1alpha1.Service{Enabled: new(false)}
			})
			expectUntouched(t, foreign)
			remove(t, collector)
			expectUntouched(t, foreign)
		})
	}
}

func TestAHelmReleaseOfSomebodyElseIsNotTaken(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	secrets := driver.NewSecrets(kubernetes.NewForConfigOrDie(plane.env.Config).CoreV1().Secrets(namespace))
	if err := storage.Init(secrets).Create(&release.Release{
		Name: "gateway", Namespace: namespace, Version: 1,
		Info:     &release.Info{Status: release.StatusDeployed},
		Chart:    &chart.Chart{Metadata: &chart.Metadata{Name: "another", Version: "1.0.0"}},
		Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: " + namespace + "}\n",
	}); err != nil {
		t.Fatal(err)
	}
	theirs := createForeign(t, namespace, `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}`)
	stored := &list(t, namespace, "v1", "Secret")[0]
	collector := newCollector(namespace, "gateway")
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}

	awaitConflict(t, collector, `Helm release "gateway" was not made by this operator: Secret sh.helm.release.v1.gateway.v1 `+
		"has no owner; uninstall it, or rename the Collector")
	touch(t, collector)
	NewWithT(t).Expect(names(contents(t, namespace))).To(
		ConsistOf("Collector/gateway", "ConfigMap/theirs", "Secret/sh.helm.release.v1.gateway.v1"))
	remove(t, collector)
	expectUntouched(t, stored)
	expectUntouched(t, theirs)
}

func TestACollectorWhoseReleaseWasLostKeepsItsObjects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lost client.ListOption
	}{
		"all of it":           {lost: client.MatchingLabels{"owner": "helm"}},
		"its newest revision": {lost: client.MatchingLabels{"version": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true} })
			// One that was made again does not have Helm's annotations.
			want := shape(t, collector)
			if err := plane.client.Delete(t.Context(), get(t, collector, "", &networkingv1.NetworkPolicy{})); err != nil {
				t.Fatal(err)
			}
			awaitContents(t, collector, want)
			deployment, policy := get(t, collector, "", &appsv1.Deployment{}), get(t, collector, "", &networkingv1.NetworkPolicy{})

			for _, stored := range list(t, collector.Namespace, "v1", "Secret", test.lost) {
				if err := plane.client.Delete(t.Context(), &stored); err != nil {
					t.Fatal(err)
				}
			}
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			awaitRecovery(t, collector, 3) // no number is used twice: Collectors and operators know a revision by it
			g := NewWithT(t)
			g.Expect(get(t, collector, "", &networkingv1.NetworkPolicy{}).UID).To(Equal(policy.UID))
			upgraded := get(t, collector, "", &appsv1.Deployment{})
			g.Expect(upgraded.UID).To(Equal(deployment.UID))
			g.Expect(upgraded.Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":0.151.0"))
		})
	}
}

func TestAnUpgradeAfterAFailedOneCanBringNewObjects(t *testing.T) {
	t.Parallel()
	collector := install(t)
	since := shared.log.mark()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.NodeSelector = map[string]string{"Not A Name": ""} })
	awaitFailures(t, since, collector, 1)

	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.NodeSelector = nil
		c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	})
	NewWithT(t).Expect(shared.log.reconciles(since, client.ObjectKeyFromObject(collector))).To(
		HaveEach(Or(BeEmpty(), ContainSubstring("Not A Name"))), "nothing but the mistake has failed")
}
