package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// record returns the Secret of a Collector's first revision.
func record(t *testing.T, collector *v1alpha1.Collector) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: collector.Namespace, Name: "sh.helm.release.v1." + collector.Name + ".v1"}
	if err := plane.client.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestADamagedRecordIsInNobodysWay(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*corev1.Secret){
		"no base64":       func(s *corev1.Secret) { s.Data["release"] = []byte("%") },
		"no content":      func(s *corev1.Secret) { s.Data = nil },
		"an empty object": func(s *corev1.Secret) { s.Data["release"] = packed(t, []byte("{}")) },
		"not listed":      func(s *corev1.Secret) { delete(s.Labels, "owner") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := install(t)
			secret := record(t, collector)
			damage(secret)
			if err := plane.client.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			awaitRevision(t, collector, 2)
			awaitTold(t, collector)
			remove(t, collector)
			NewWithT(t).Expect(names(contents(t, collector.Namespace))).To(BeEmpty())
		})
	}
}

func TestALostRecordLeavesNoWorkloadBehind(t *testing.T) {
	t.Parallel()
	collector := install(t)
	if err := plane.client.Delete(t.Context(), record(t, collector)); err != nil {
		t.Fatal(err)
	}
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeStatefulSet })
	NewWithT(t).Eventually(func() []string { return names(contents(t, collector.Namespace)) }).Should(ContainElement("StatefulSet/gateway"))
	serveAs(t, collector, v1alpha1.ModeStatefulSet)
	NewWithT(t).Eventually(func() []string { return names(contents(t, collector.Namespace)) }).Should(
		And(ContainElement("StatefulSet/gateway"), Not(ContainElement("Deployment/gateway"))))
}

func TestARecordReachesNoOtherNamespace(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*testing.T, *v1alpha1.Collector){
		"when the Collector is changed": func(t *testing.T, collector *v1alpha1.Collector) {
			t.Helper()
			upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
			remove(t, collector)
		},
		"when the Collector is deleted": remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector, elsewhere := install(t), newNamespace(t)
			releases := releasesOf(t, collector)
			stored, err := releases.Get(collector.Name, 1)
			if err != nil {
				t.Fatal(err)
			}
			stored.Hooks = []*release.Hook{{
				Name: "reach", Kind: "Secret", Path: "collector/templates/reach.yaml",
				Events:   []release.HookEvent{release.HookPreUpgrade, release.HookPreDelete, release.HookPostDelete},
				Manifest: "apiVersion: v1\nkind: Secret\nmetadata: {name: reach, namespace: " + elsewhere + "}\n",
			}}
			secret := record(t, collector)
			if err := releases.Update(stored); err != nil {
				t.Fatal(err)
			}
			changed := record(t, collector) // Helm's driver has dropped the owner
			changed.OwnerReferences = secret.OwnerReferences
			if err := plane.client.Update(t.Context(), changed); err != nil {
				t.Fatal(err)
			}
			act(t, collector)
			err = plane.client.Get(t.Context(), types.NamespacedName{Namespace: elsewhere, Name: "reach"}, &corev1.Secret{})
			NewWithT(t).Expect(apierrors.IsNotFound(err)).To(BeTrue(), "an object in another tenant's namespace: %v", err)
		})
	}
}

// Not parallel: it measures the shared operator's memory.
func TestARecordThatUnpacksToALotIsNotUnpacked(t *testing.T) {
	collector := install(t)
	secret := record(t, collector)
	secret.Data["release"] = packed(t, append([]byte(`{"name":"gateway","manifest":"`), bytes.Repeat([]byte("a"), 256<<20)...))
	if err := plane.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	before := peak(t)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitRevision(t, collector, 2)
	NewWithT(t).Expect(peak(t)-before).To(BeNumerically("<", 64<<10), "KiB of memory")
	remove(t, collector)
}

// Not parallel: it measures the shared operator's memory.
func TestWhoeverCanLabelSecretsDoesNotFillTheOperatorsMemory(t *testing.T) {
	collector := install(t)
	before := peak(t)
	content := bytes.Repeat([]byte("a"), 1<<20-1024)
	for i := range 200 {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: collector.Namespace, Name: fmt.Sprintf("large-%d", i), Labels: map[string]string{collectorLabel: collector.Name},
			},
			Data: map[string][]byte{"a": content},
		}
		if err := plane.client.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(shared.stop(), shared.start(t.Context())); err != nil { // it lists them all at once
		t.Fatal(err)
	}
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitRevision(t, collector, 2)
	NewWithT(t).Expect(peak(t)-before).To(BeNumerically("<", 64<<10), "KiB of memory")
	if err := plane.client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(collector.Namespace)); err != nil {
		t.Fatal(err)
	}
}

// packed returns a text as Helm stores it.
func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns how much memory the shared operator has had at most, in KiB.
func peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(shared.cmd.Process.Pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := strconv.Atoi(string(peakLine.FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
