package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
)

func TestPodsUseWhatTheCollectorHas(t *testing.T) {
	secret := func(name string) corev1.Volume {
		return corev1.Volume{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
	}
	var many []corev1.Volume
	for i := range 100 {
		many = append(many, secret(fmt.Sprintf("gateway-%d", i)))
	}
	collector := &unstructured.Unstructured{Object: map[string]any{}}
	collector.SetNamespace("acme")
	collector.SetName("gateway")
	secrets := corev1.SchemeGroupVersion.WithKind("Secret")
	a, b := NewReference(secrets, "gateway-a"), NewReference(secrets, "gateway-b")
	serving := map[Reference]Object{NewReference(appsv1.SchemeGroupVersion.WithKind("Deployment"), "gateway"): {Uses: cache.UsesOf([]string{a.Use()})}}
	for name, row := range map[string]struct {
		volumes []corev1.Volume
		objects map[Reference]Object
		want    []Reference
	}{
		"a volume of the pod":              {volumes: []corev1.Volume{secret("gateway-a")}, want: []Reference{a}},
		"what is not the Collector's":      {volumes: []corev1.Volume{secret("c")}},
		"more than is kept may be of all":  {volumes: many, want: []Reference{a, b}},
		"what a workload's pods would use": {objects: serving, want: []Reference{a}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "acme", Name: "gateway-1",
			Labels: map[string]string{v1alpha1.CollectorLabel: "gateway", appsv1.StatefulSetPodNameLabel: "gateway-1"},
		}}
		pod.Spec.Volumes = row.volumes
		cache.KeepPod(&pod.ObjectMeta, pod)
		reader := Reader{Cache: fake.NewClientBuilder().WithObjects(pod).Build()}
		used, pods, err := reader.Used(t.Context(), collector, row.objects)
		got := slices.DeleteFunc([]Reference{a, b}, func(what Reference) bool { return !used.Has(what) })
		if err != nil || !slices.Equal(got, row.want) || Orphans(pods) != 1 {
			t.Errorf("%s: used %s, want %s, pods %v, error %v", name, got, row.want, pods, err)
		}
	}
}

func TestAPodTellsWhichDaemonSetControlsIt(t *testing.T) {
	for kind, want := range map[string]types.UID{"DaemonSet": "a", "ReplicaSet": "", "StatefulSet": ""} {
		owner := metav1.OwnerReference{Kind: kind, Name: "gateway", UID: "a", Controller: new(true)}
		kept := &corev1.Pod{}
		cache.KeepPod(&kept.ObjectMeta, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}}})
		if got := PodOf(kept).DaemonSet; got != want {
			t.Errorf("of a %s: %q, want %q", kind, got, want)
		}
	}
}

func TestAPodHasAllItsClaimsHoweverLongTheirNamesAre(t *testing.T) {
	pod, templates := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gateway-0"}}, []string{}
	for i := range 16 {
		name := fmt.Sprintf("%s-%02d", strings.Repeat("q", 60), i)
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name + "-gateway-0"}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
		templates = append(templates, name)
	}
	kept := &corev1.Pod{}
	cache.KeepPod(&kept.ObjectMeta, pod)
	if PodOf(kept).Lacks(strings.Join(templates, " ")) {
		t.Error("a pod lacks a claim that it has")
	}
}
