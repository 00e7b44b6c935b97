package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// repeatedWord is a password in the configuration of these tests. The password of the others is looked for in the audit log too, where
// webhooks' answers are.
const repeatedWord = "this-is-another-password"

func withRepeatedWord(c *v1alpha1.Collector) {
	c.Spec.Collector.Configuration = bytes.ReplaceAll(c.Spec.Collector.Configuration, []byte(secret), []byte(repeatedWord))
}

// expectUntold fails if the word is in the status, an event or the log.
func expectUntold(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	told := map[string]string{
		"status": fmt.Sprint(get(t, collector, "", &v1alpha1.Collector{}).Status), "events": fmt.Sprint(events(t, collector)),
		"log": shared.log.about(collector.Namespace),
	}
	for place, text := range told {
		for _, form := range formsOf(repeatedWord) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("LEAK in %s: …%s", place, text[max(0, at-400):at+len(form)])
				break
			}
		}
	}
}

// refuseRepeating has a webhook refuse some of the writes of some resources in a namespace, in words that repeat the object.
func refuseRepeating(t *testing.T, namespace, group, resources string, refuses func(*admissionv1.AdmissionRequest) bool) {
	t.Helper()
	refuseWith(t, namespace, group, resources, func(r *admissionv1.AdmissionRequest) *metav1.Status {
		if refuses(r) {
			return &metav1.Status{Code: 403, Message: "not by me: " + string(r.Object.Raw)}
		}
		return nil
	})
}

func TestAWebhookThatRepeatsASecretDoesNotMakeTheOperatorTellIt(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"the configuration's": "gateway-config-", "the record": "sh.helm.release."} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			collector := newCollector(newNamespace(t), "gateway")
			withRepeatedWord(collector)
			refuseRepeating(t, collector.Namespace, "", "secrets", func(r *admissionv1.AdmissionRequest) bool {
				return strings.HasPrefix(r.Name, prefix)
			})
			probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: prefix + "probe"}}
			g.Eventually(func() error { return plane.client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) }).ShouldNot(Succeed())
			g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
			awaitFailed(t, collector, "not by me")
			g.Expect(condition(t, collector, "Ready").Message).To(ContainSubstring(`:"(hidden)"`))
			expectUntold(t, collector)
		})
	}
}

func TestARefusalToOwnASecretAloneTellsNoConfiguration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := install(t, withRepeatedWord)
	name := filesOf(string(collector.Spec.Collector.Configuration))
	live := get(t, collector, name, &corev1.Secret{})
	applied := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: live.Namespace, Name: live.Name, Labels: live.Labels, Annotations: live.Annotations},
		Data:       live.Data, Immutable: live.Immutable, Type: live.Type,
	}
	text, err := json.Marshal(applied)
	g.Expect(err).NotTo(HaveOccurred())
	byApply := client.RawPatch(types.ApplyPatchType, text)
	g.Expect(plane.client.Patch(t.Context(), applied, byApply, client.FieldOwner("gitops"), client.ForceOwnership)).To(Succeed())
	touch(t, collector)
	refuseRepeating(t, collector.Namespace, "", "secrets",
		func(r *admissionv1.AdmissionRequest) bool {
			return r.Operation == admissionv1.Update && strings.HasPrefix(r.Name, "gateway-config-")
		})
	g.Eventually(func() error {
		probe := get(t, collector, name, &corev1.Secret{})
		metav1.SetMetaDataAnnotation(&probe.ObjectMeta, "example.com/probe", "any")
		return plane.client.Update(t.Context(), probe, client.DryRunAll)
	}).ShouldNot(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Cluster = "prod-eu-2" })
	awaitFailed(t, collector, "not by me")
	expectUntold(t, collector)
}

func TestARefusalOfFinalizersTellsNoConfiguration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newCollector(newNamespace(t), "gateway")
	withRepeatedWord(collector)
	var isOver atomic.Bool
	refuseRepeating(t, collector.Namespace, "kube8.dev", "collectors", func(r *admissionv1.AdmissionRequest) bool {
		isAsked := strings.Contains(r.UserInfo.Username, "controller-manager") || strings.HasPrefix(r.Name, "probe")
		return isAsked && !isOver.Load() && r.Operation != admissionv1.Delete
	})
	g.Eventually(func() error {
		return plane.client.Create(t.Context(), newCollector(collector.Namespace, "probe"), client.DryRunAll)
	}).ShouldNot(Succeed())
	g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
	g.Eventually(func() string { return fmt.Sprint(events(t, collector)) }).Should(ContainSubstring("FinalizerRefused"))
	expectUntold(t, collector)
	isOver.Store(true)
}

func TestARefusalToCreateASecretAgainTellsNoConfiguration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := install(t, withRepeatedWord)
	end := filesOf(string(collector.Spec.Collector.Configuration))
	pause(t, collector)
	old := get(t, collector, end, &corev1.Secret{})
	g.Expect(plane.client.Delete(t.Context(), old)).To(Succeed())
	g.Expect(plane.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels, OwnerReferences: old.OwnerReferences},
		Immutable:  new(true), Data: map[string][]byte{"config.yaml": []byte("edited: " + repeatedWord)},
	})).To(Succeed())
	refuseRepeating(t, collector.Namespace, "", "secrets",
		func(r *admissionv1.AdmissionRequest) bool {
			return r.Operation == admissionv1.Create && strings.HasPrefix(r.Name, "gateway-config-") && !*r.DryRun
		})
	g.Eventually(func() error {
		probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "gateway-config-probe"}}
		err := plane.client.Create(t.Context(), probe)
		if err == nil {
			_ = plane.client.Delete(t.Context(), probe)
		}
		return err
	}).ShouldNot(Succeed())
	change(t, collector, unpause)
	awaitFailed(t, collector, "not by me")
	expectUntold(t, collector)
}
