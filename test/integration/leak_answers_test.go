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
	registrationv1 "k8s.io/api/admissionregistration/v1"
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

// repeating has a webhook refuse requests for a resource, in words that repeat the object.
func repeating(
	t *testing.T, namespace string, rule registrationv1.Rule, refuses func(*admissionv1.AdmissionRequest) bool,
) {
	t.Helper()
	config := answerReviews(t, func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if !refuses(r) {
			return &admissionv1.AdmissionResponse{Allowed: true}
		}
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: 403, Message: "not by me: " + string(r.Object.Raw)}}
	})
	register(t, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "repeats-" + namespace},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "repeats.example.com", ClientConfig: config,
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update}, Rule: rule,
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:       new(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
}

var ofSecrets = registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}}

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
	repeating(t, collector.Namespace, ofSecrets,
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
	rule := registrationv1.Rule{APIGroups: []string{"kube8.dev"}, APIVersions: []string{"*"}, Resources: []string{"collectors"}}
	var isOver atomic.Bool
	repeating(t, collector.Namespace, rule, func(r *admissionv1.AdmissionRequest) bool {
		isAsked := strings.Contains(r.UserInfo.Username, "controller-manager") || strings.HasPrefix(r.Name, "probe")
		return isAsked && !isOver.Load()
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
	repeating(t, collector.Namespace, ofSecrets,
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
