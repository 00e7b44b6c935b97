package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// runSets runs Kubernetes' own controller of StatefulSets in a namespace. Claims of the class "missing" get no volume, and others do. A pod is
// ready as soon as all of its claims have one.
func runSets(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	ctx := t.Context()
	clientset, err := kubernetes.NewForConfig(plane.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(collector) // read here: the test's goroutine writes the Collector
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(key.Namespace))
	controller := statefulset.NewStatefulSetController(ctx, factory.Core().V1().Pods(), factory.Apps().V1().StatefulSets(),
		factory.Core().V1().PersistentVolumeClaims(), factory.Apps().V1().ControllerRevisions(), clientset)
	factory.Start(ctx.Done())
	go controller.Run(ctx, 1)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			bindAndStart(ctx, key.Namespace)
			collectGarbage(ctx, key)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
}

// collectGarbage is a moment of the garbage collector: a StatefulSet that is deleted without what it owns goes when that has no owner any more.
func collectGarbage(ctx context.Context, key client.ObjectKey) {
	set := &appsv1.StatefulSet{}
	if err := plane.client.Get(ctx, key, set); err != nil || set.DeletionTimestamp == nil {
		return
	}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &appsv1.ControllerRevisionList{}} {
		_ = plane.client.List(ctx, list, client.InNamespace(key.Namespace))
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			object, _ := item.(client.Object)
			for _, owner := range object.GetOwnerReferences() {
				if owner.UID == set.UID {
					object.SetOwnerReferences(nil)
					return plane.client.Update(ctx, object)
				}
			}
			return nil
		})
	}
	isOwned := slices.ContainsFunc(ownersIn(ctx, key.Namespace), func(uid types.UID) bool { return uid == set.UID })
	if !isOwned {
		set.Finalizers = nil
		_ = plane.client.Update(ctx, set)
	}
}

// ownersIn returns the UIDs of the owners of pods and claims.
func ownersIn(ctx context.Context, namespace string) (owners []types.UID) {
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}} {
		_ = plane.client.List(ctx, list, client.InNamespace(namespace))
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			object, _ := item.(client.Object)
			for _, owner := range object.GetOwnerReferences() {
				owners = append(owners, owner.UID)
			}
			return nil
		})
	}
	return owners
}

// bindAndStart is a moment of a provisioner and of a kubelet. What fails is tried again in the next one.
func bindAndStart(ctx context.Context, namespace string) {
	var claims corev1.PersistentVolumeClaimList
	var pods corev1.PodList
	_ = plane.client.List(ctx, &claims, client.InNamespace(namespace))
	isBound := map[string]bool{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if isBound[claim.Name] = claim.Status.Phase == corev1.ClaimBound; isBound[claim.Name] {
			continue
		}
		if claim.DeletionTimestamp != nil { // as the controller of claims does, because no pod that uses it is on a node
			claim.Finalizers = nil
			_ = plane.client.Update(ctx, claim)
		} else if *claim.Spec.StorageClassName != "missing" {
			claim.Spec.VolumeName = "pv-" + string(claim.UID)
			_ = plane.client.Update(ctx, claim)
			claim.Status.Phase = corev1.ClaimBound
			_ = plane.client.Status().Update(ctx, claim)
		}
	}
	_ = plane.client.List(ctx, &pods, client.InNamespace(namespace))
	for i := range pods.Items {
		pod, isReady := &pods.Items[i], true
		for _, volume := range pod.Spec.Volumes {
			isReady = isReady && (volume.PersistentVolumeClaim == nil || isBound[volume.PersistentVolumeClaim.ClaimName])
		}
		switch {
		case !isReady && len(pod.Status.Conditions) == 0: // as the scheduler says
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
				Message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."}}
			_ = plane.client.Status().Update(ctx, pod)
		case isReady && pod.Status.Phase != corev1.PodRunning:
			pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.1.1.1", []corev1.PodIP{{IP: "10.1.1.1"}}
			pod.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))},
			}
			_ = plane.client.Status().Update(ctx, pod)
		}
	}
}

// templatesOf returns claim templates, such as "queue=fast".
func templatesOf(texts ...string) (templates []v1alpha1.VolumeClaimTemplate) {
	for _, text := range texts {
		name, class, _ := strings.Cut(text, "=")
		template := queueOf(class, "1Gi")[0]
		template.Metadata.Name = name
		templates = append(templates, template)
	}
	return templates
}

// claimsAndPods returns the claims by their names, with their classes, and the UIDs of claims and of pods that are ready.
func claimsAndPods(t *testing.T, namespace string) (classes map[string]string, claims, ready map[string]types.UID) {
	t.Helper()
	var all corev1.PersistentVolumeClaimList
	var pods corev1.PodList
	NewWithT(t).Expect(plane.client.List(t.Context(), &all, client.InNamespace(namespace))).To(Succeed())
	NewWithT(t).Expect(plane.client.List(t.Context(), &pods, client.InNamespace(namespace))).To(Succeed())
	classes, claims, ready = map[string]string{}, map[string]types.UID{}, map[string]types.UID{}
	for _, claim := range all.Items {
		classes[claim.Name], claims[claim.Name] = *claim.Spec.StorageClassName, claim.UID
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			ready[pod.Name] = pod.UID
		}
	}
	return classes, claims, ready
}

// newSet returns a StatefulSet's Collector of three pods, with Kubernetes' controller.
func newSet(t *testing.T, templates ...string) *v1alpha1.Collector {
	t.Helper()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Mode, collector.Spec.Replicas = v1alpha1.ModeStatefulSet, new(int32(3))
	collector.Spec.VolumeClaimTemplates = templatesOf(templates...)
	runSets(t, collector)
	create(t, collector)
	return collector
}

// A StatefulSet whose templates change otherwise than by growth: another class (open-telemetry/opentelemetry-operator#5329 and #1491,
// VictoriaMetrics/operator#1127, rajsinghtech/garage-operator#145), a template that comes (StarRocks/starrocks-kubernetes-operator#617), and one
// that goes (grafana/alloy-operator#155).
func TestClaimTemplatesChangeWhilePodsServe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before, after []string
		want          map[string]string
		renews        bool
	}{
		"another class": {
			[]string{"queue=slow"}, []string{"queue=fast"}, map[string]string{"queue": "slow"}, false,
		},
		"a template comes": {
			[]string{"queue=slow"}, []string{"queue=slow", "spool=fast"}, map[string]string{"queue": "slow", "spool": "fast"}, true,
		},
		"the first template comes": {nil, []string{"spool=fast"}, map[string]string{"spool": "fast"}, true},
		"a template goes":          {[]string{"queue=slow", "spool=fast"}, []string{"queue=slow"}, map[string]string{"queue": "slow", "spool": "fast"}, false},
		"the only template goes":   {[]string{"queue=slow"}, nil, map[string]string{"queue": "slow"}, false},
		"a template has another name": {
			[]string{"queue=slow"}, []string{"buffer=slow"}, map[string]string{"queue": "slow", "buffer": "slow"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			collector := newSet(t, row.before...)
			g.Eventually(func() string { return string(condition(t, collector, "Ready").Status) }).WithTimeout(40 * time.Second).Should(Equal("True"))
			set := get(t, collector, "", &appsv1.StatefulSet{})
			_, claims, pods := claimsAndPods(t, collector.Namespace)
			g.Expect(pods).To(HaveLen(3))

			fewest := 3
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = templatesOf(row.after...) })
			g.Eventually(func() map[string]string {
				classes, _, ready := claimsAndPods(t, collector.Namespace)
				fewest = min(fewest, len(ready))
				if len(ready) < 3 || string(condition(t, collector, "Ready").Status) != "True" || deployedRevision(t, collector) != 2 {
					return nil
				}
				return classes
			}).WithTimeout(90*time.Second).WithPolling(10*time.Millisecond).Should(Equal(ofPods(row.want, 3)), "%v", condition(t, collector, "Ready"))
			_, claimsAfter, podsAfter := claimsAndPods(t, collector.Namespace)
			for name, uid := range claims {
				g.Expect(claimsAfter[name]).To(Equal(uid), "no claim is deleted: %s", name)
			}
			for name, uid := range pods {
				g.Expect(podsAfter[name] != uid).To(Equal(row.renews), "whether pod %s is replaced", name)
			}
			g.Expect(fewest).To(BeNumerically(">=", 2), "how many pods were ready")
			g.Expect(get(t, collector, "", &appsv1.StatefulSet{}).UID).NotTo(Equal(set.UID))

			if len(row.after) == 0 {
				return
			}
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(4)) })
			class := strings.Split(row.after[0], "=")
			g.Eventually(func() string {
				classes, _, _ := claimsAndPods(t, collector.Namespace)
				return classes[class[0]+"-gateway-3"]
			}).Should(Equal(class[1]), "a new pod has what the template says")
		})
	}
}

// ofPods returns claims of a template by their names, for each of some pods.
func ofPods(classes map[string]string, count int) map[string]string {
	all := map[string]string{}
	for template, class := range classes {
		for ordinal := range count {
			all[fmt.Sprintf("%s-gateway-%d", template, ordinal)] = class
		}
	}
	return all
}

// A StatefulSet none of whose pods could start, because its class is not there, or too much is asked for.
func TestClaimTemplatesChangeOfPodsThatHaveNeverStarted(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before []string
		after  func() []v1alpha1.VolumeClaimTemplate
		want   map[string]string
	}{
		"another class": {[]string{"queue=missing"}, func() []v1alpha1.VolumeClaimTemplate { return templatesOf("queue=fast") }, map[string]string{"queue": "fast"}},
		"one of two": {
			[]string{"queue=slow", "spool=missing"}, func() []v1alpha1.VolumeClaimTemplate { return templatesOf("queue=slow", "spool=fast") },
			map[string]string{"queue": "slow", "spool": "fast"},
		},
		"a smaller size, and another class": {
			[]string{"queue=missing"}, func() []v1alpha1.VolumeClaimTemplate { return queueOf("fast", "100Mi") }, map[string]string{"queue": "fast"},
		},
		"a larger size, and another class": {
			[]string{"queue=missing"}, func() []v1alpha1.VolumeClaimTemplate { return queueOf("fast", "5Gi") }, map[string]string{"queue": "fast"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			collector := newSet(t, row.before...)
			g.Eventually(func() map[string]string {
				classes, _, _ := claimsAndPods(t, collector.Namespace)
				return classes
			}).Should(HaveLen(3 * len(row.before)))
			change(t, collector, func(c *v1alpha1.Collector) { c.Spec.VolumeClaimTemplates = row.after() })
			g.Eventually(func() string { return string(condition(t, collector, "Ready").Status) }).WithTimeout(60*time.Second).
				Should(Equal("True"), "%v", condition(t, collector, "Ready"))
			classes, _, ready := claimsAndPods(t, collector.Namespace)
			g.Expect(ready).To(HaveLen(3))
			g.Expect(classes).To(Equal(ofPods(row.want, 3)))
		})
	}
}
