package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/test/docs"
)

// newBase creates a base, whose name no other test has. It goes with the test.
func newBase(t *testing.T, name, position, content string) *corev1.ConfigMap {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}
	if err := plane.client.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	base := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name, Labels: map[string]string{v1alpha1.BaseLabel: position}},
		Data:       map[string]string{"part.yaml": content},
	}
	if err := plane.client.Create(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(plane.client.Delete(context.Background(), base)); err != nil {
			t.Error(err)
		}
	})
	return base
}

// writeBase gives a base another content.
func writeBase(t *testing.T, base *corev1.ConfigMap, content string) {
	t.Helper()
	before := base.DeepCopy()
	for key := range base.Data {
		base.Data[key] = content
	}
	if err := plane.client.Patch(t.Context(), base, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// basesOf returns the stamp of the bases that a Deployment's pods have.
func basesOf(deployment *appsv1.Deployment) string {
	return deployment.Spec.Template.Annotations["kube8.dev/bases-sha256"]
}

// stampOf returns the stamp of one base.
func stampOf(file, content string) string {
	return sha256Of(fmt.Sprintf("%s  %s\n", sha256Of(content), file))
}

// versionOf returns a base with its version, as a status has it.
func versionOf(name, content string) string {
	return name + "@" + sha256Of(content)[:20]
}

func named(name string, position v1alpha1.BasePosition) v1alpha1.Base {
	return v1alpha1.Base{Name: name, Position: position}
}

func TestACollectorHasTheBasesThatItAndItsNamespaceName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for name, position := range map[string]string{"t-outer-first": "first", "t-outer-last": "last", "t-inner": "last", "t-turned": "last"} {
		newBase(t, name, position, "processors: {"+name+": {}}\n")
	}
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Bases = []v1alpha1.Base{named("t-inner", ""), named("t-turned", v1alpha1.BaseFirst), named("t-outer-last", v1alpha1.BaseFirst)}
	setLabel(t, collector.Namespace, v1alpha1.BasesLabel, "t-outer-first_t-outer-last")
	create(t, collector)
	files := []string{"base-t-outer-first.yaml", "base-t-turned.yaml", "config.yaml", "base-t-inner.yaml", "base-t-outer-last.yaml"}
	var wantArgs, wantTold []string
	for _, file := range files {
		wantArgs = append(wantArgs, "--config=/etc/collector/"+file)
		if name, isBase := strings.CutPrefix(strings.TrimSuffix(file, ".yaml"), "base-"); isBase {
			wantTold = append(wantTold, versionOf(name, "processors: {"+name+": {}}\n"))
		}
	}
	g.Eventually(func() []string {
		return get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Args
	}).Should(Equal(wantArgs))
	g.Eventually(func() []string { return get(t, collector, "", &v1alpha1.Collector{}).Status.Bases }).Should(Equal(wantTold))
	deployment := get(t, collector, "", &appsv1.Deployment{})
	mounted := get(t, collector, strings.TrimPrefix(deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName, collector.Name), &corev1.Secret{})
	g.Expect(slices.Sorted(maps.Keys(mounted.Data))).To(ConsistOf(files))
	g.Expect(string(mounted.Data["base-t-inner.yaml"])).To(Equal("processors: {t-inner: {}}\n"))
	g.Expect(mounted.Data["config.yaml"]).To(Equal([]byte(config)), "byte for byte")

	t.Run("and not those that it names no more", func(t *testing.T) {
		g := NewWithT(t)
		upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Bases = nil })
		g.Eventually(func() []string {
			return get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Args
		}).Should(Equal([]string{wantArgs[0], wantArgs[2], wantArgs[4]}))
	})
}

// The spellings are those of opentelemetry-collector#8754, of sumologic-otel-collector#708 and of the OpenTelemetry Collector's own
// documents; signoz-otel-collector#816 is of a program that reads the last file only.
func TestNoBaseIsLostInSilence(t *testing.T) {
	t.Parallel()
	newBase(t, "t-read", "first", "processors: {read: {}}\n")
	const file, own = "/etc/collector/base-t-read.yaml", "/etc/collector/config.yaml"
	for name, row := range map[string]struct{ args, want []string }{
		"two words":               {[]string{"--config", own}, []string{"--config", file, "--config", own}},
		"a scheme":                {[]string{"--config=file:" + own}, []string{"--config=file:" + file, "--config=file:" + own}},
		"two words with a scheme": {[]string{"--config", "file:" + own}, []string{"--config", "file:" + file, "--config", "file:" + own}},
		"a variable":              {[]string{"--config=$(OWN)"}, []string{"--config=" + file, "--config=" + own}},
		"a pattern":               {[]string{"--config=/etc/collector/*.yaml"}, []string{"--config=/etc/collector/*.yaml"}},
		"another option":          {[]string{"-c", own}, nil},
		"another source":          {[]string{"--config=env:OWN"}, nil},
		"no file":                 {[]string{"--set=processors::batch=null"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Env = []corev1.EnvVar{{Name: "OWN", Value: own}}
			create(t, collector)
			before := get(t, collector, "", &appsv1.Deployment{})
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Args, c.Spec.Collector.Bases = row.args, []v1alpha1.Base{named("t-read", "")}
			})
			if row.want == nil {
				awaitReady(t, collector, "False", "ConfigInvalid", `spec.args: the collector would not read base "t-read": no argument names `+file+
					"; add --config="+own+", or name the base's file in args or, where the program includes files, in the configuration")
				expectUntouched(t, before)
				g.Expect(get(t, collector, "", &v1alpha1.Collector{}).Status.Bases).To(BeEmpty())
				return
			}
			g.Eventually(func() []string {
				return get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Args
			}).Should(Equal(row.want))
			g.Eventually(func() []string { return get(t, collector, "", &v1alpha1.Collector{}).Status.Bases }).Should(HaveLen(1))
		})
	}
}

// setLabel gives a namespace a label, or takes it if the value is empty.
func setLabel(t *testing.T, name, label, value string) {
	t.Helper()
	text := fmt.Sprintf("%q", value)
	if value == "" {
		text = "null"
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata": {"labels": {%q: %s}}}`, label, text))
	if err := plane.client.Patch(t.Context(), namespace, patch); err != nil {
		t.Fatal(err)
	}
}

func TestThePageOnBasesDoesWhatItSays(t *testing.T) {
	gateway := installSample(t)
	script, err := docs.Script("docs/how-to/bases.md", "Create a base")
	runScript(t, t.TempDir(), script, err)
	NewWithT(t).Eventually(func() []string { return get(t, gateway, "", &v1alpha1.Collector{}).Status.Bases }).Should(
		HaveExactElements(HavePrefix("limits@")))
	script, err = docs.Script("docs/how-to/bases.md", "Change it")
	runScript(t, t.TempDir(), script, err)
	base := &corev1.ConfigMap{}
	if err := plane.client.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "limits"}, base); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() []string { return get(t, gateway, "", &v1alpha1.Collector{}).Status.Bases }).Should(
		Equal([]string{versionOf("limits", base.Data["part.yaml"])}))
	setLabel(t, gateway.Namespace, v1alpha1.BasesLabel, "")
	if err := plane.client.Delete(t.Context(), base); err != nil {
		t.Fatal(err)
	}
}

// Whoever takes the label from a Secret changes nothing of the Collector, so a base that waits goes on to wait for its turn.
func TestASecretThatIsFollowedNoMoreBringsNoBaseThatWaits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	base := newBase(t, "t-held", "last", "exporters: {debug: {}}\n")
	namespace := newNamespace(t)
	backend := createBackend(t, namespace, places[0].object, true)
	collector := newCollector(namespace, "gateway")
	collector.Labels = map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold}
	collector.Spec.Collector.Bases = []v1alpha1.Base{named(base.Name, "")}
	places[0].refer(collector)
	create(t, collector)
	writeBase(t, base, "exporters: {otlp: {}}\n")
	g.Eventually(func() string { return condition(t, collector, v1alpha1.UpdatePending).Reason }).Should(Equal(v1alpha1.ReasonLeftOut))
	label(t, backend, collectorLabel, nil)
	label(t, get(t, collector, "", &v1alpha1.Collector{}), v1alpha1.RolloutLabel, nil)
	awaitRevision(t, collector, 2)
	var told []string
	for _, recorded := range revisions(t, collector) {
		revision, err := helm.Unpack(recorded.Data["release"])
		g.Expect(err).NotTo(HaveOccurred())
		told = append(told, revision.Info.Description)
	}
	g.Expect(told).To(ContainElement(ContainSubstring("the platform's bases")), "who has changed it")
}
