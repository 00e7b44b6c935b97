//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 20: whatever keeps a Collector from serving, `kubectl collector why` says what happened, by what the real kubelet, scheduler
// and controllers say.

func TestWhyTellsTheCause(t *testing.T) {
	if out, err := makeTarget(t.Context(), "plugin"); err != nil {
		t.Fatalf("make plugin: %v\n%s", err, out)
	}
	memory := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(amount)}
	}
	mounting := func(source corev1.VolumeSource) func(*v1alpha1.Collector) {
		return func(c *v1alpha1.Collector) {
			c.Spec.ExtraVolumes = []corev1.Volume{{Name: "extra", VolumeSource: source}}
			c.Spec.ExtraVolumeMounts = []corev1.VolumeMount{{Name: "extra", MountPath: "/extra"}}
		}
	}
	withPassword := func(c *v1alpha1.Collector) {
		c.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "backend"}, Key: "PASSWORD",
		}}}}
	}
	noPods := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}
	withoutAccount := func(c *v1alpha1.Collector) {
		c.Spec.ServiceAccount = &v1alpha1.ServiceAccount{Create: new(false), Name: "nobody"}
	}
	asDaemonSet := func(edit func(*v1alpha1.Collector)) func(*v1alpha1.Collector) {
		return func(c *v1alpha1.Collector) {
			c.Spec.Mode = v1alpha1.ModeDaemonSet
			edit(c)
		}
	}
	nowhere := func(c *v1alpha1.Collector) { c.Spec.NodeSelector = map[string]string{"example.com/none": "true"} }
	for name, row := range map[string]struct {
		object client.Object // in the namespace
		edit   func(*v1alpha1.Collector)
		why    string
	}{
		"an image that cannot be pulled": {
			edit: func(c *v1alpha1.Collector) { c.Spec.Image = &v1alpha1.Image{Repository: "registry.invalid/collector"} },
			why:  `The node cannot (find the registry by its name|reach the registry|pull the image)\.`,
		},
		"an image that may not be pulled": {
			edit: func(c *v1alpha1.Collector) {
				c.Spec.Image = &v1alpha1.Image{Repository: "registry.invalid/collector", PullPolicy: corev1.PullNever}
			},
			why: `The node does not have the image, and must not pull it\.`,
		},
		"a Secret that is not there": {edit: withPassword, why: `A variable takes its value from a Secret or ConfigMap that does not exist\.`},
		"a key that its Secret does not have": {
			object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "backend"}}, edit: withPassword,
			why: `A variable takes a key that its Secret or ConfigMap does not have\.`,
		},
		"a program that is not there": {
			edit: func(c *v1alpha1.Collector) { c.Spec.Command = []string{"/no-such-program"} },
			why:  `The image does not have the program that .spec.command. names\.`,
		},
		"a configuration that the collector refuses": {
			edit: func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(refusedByTheCollector()) },
			why:  `The collector starts, and ends by itself\.`,
		},
		"a volume of a Secret that is not there": {
			edit: mounting(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "missing"}}),
			why:  `A volume needs a Secret or ConfigMap that does not exist\.`,
		},
		"a volume of a claim that is not there": {
			edit: mounting(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"}}),
			why:  `A volume needs a claim that does not exist\.`,
		},
		"a claim without a volume": {
			object: &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "unbound"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(""),
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			},
			edit: mounting(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "unbound"}}),
			why:  `A claim has no volume yet\.`,
		},
		"a node that is not there":   {edit: nowhere, why: `No node has the labels that the pod asks for\.`},
		"a DaemonSet without a node": {edit: asDaemonSet(nowhere), why: `The cluster has no node for this DaemonSet\.`},
		"more CPU than there is": {edit: func(c *v1alpha1.Collector) {
			c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
		}, why: `No node has as much CPU, memory or devices free as the pod requests\.`},
		"a quota":                  {object: noPods, why: `The namespace has as many pods as its quota allows\.`},
		"a quota, for a DaemonSet": {object: noPods, edit: asDaemonSet(func(*v1alpha1.Collector) {}), why: `The namespace has as many pods as its quota allows\.`},
		"no ServiceAccount":        {edit: withoutAccount, why: `The pods' ServiceAccount does not exist\.`},
		"none of a DaemonSet":      {edit: asDaemonSet(withoutAccount), why: `The pods' ServiceAccount does not exist\.`},
		"no PriorityClass": {
			edit: func(c *v1alpha1.Collector) { c.Spec.PriorityClassName = "no-such-class" }, why: `The cluster has no such PriorityClass\.`,
		},
		"a LimitRange": {
			object: &corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
				{Type: corev1.LimitTypeContainer, Max: memory("24Mi")},
			}}},
			why: `A LimitRange of the namespace refuses these requests or limits\.`,
		},
		"Pod Security": {
			edit: func(c *v1alpha1.Collector) { c.Spec.HostNetwork = true }, why: `The namespace's Pod Security level refuses the pods\.`,
		},
		"a probe that nothing answers": {
			edit: func(c *v1alpha1.Collector) {
				c.Spec.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(9)},
				}}
			},
			why: `The collector runs, and does not answer its probe\.`,
		},
		"a Service without an address": {
			edit: func(c *v1alpha1.Collector) { c.Spec.Service = &v1alpha1.Service{Type: corev1.ServiceTypeLoadBalancer} },
			why:  `The cluster has not given the Service an address\.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t, "restricted")
			if row.object != nil {
				object, _ := row.object.DeepCopyObject().(client.Object)
				object.SetNamespace(namespace)
				if object.GetName() == "" {
					object.SetName("limit")
				}
				create(t, object)
			}
			collector := newCollector(namespace, "gateway", printing("basic"))
			if row.edit != nil {
				row.edit(collector)
			}
			create(t, collector)
			NewWithT(t).Eventually(func() (string, error) {
				out, err := exec.CommandContext(t.Context(), "bin/kubectl-collector", "why", "gateway", "-n", namespace).CombinedOutput()
				if err != nil {
					return "", fmt.Errorf("%w\n%s", err, out)
				}
				return string(out), nil
			}).Should(MatchRegexp(`(?s)What happened\n  ` + row.why + `.*What to do\n  \w.*Look at\n  kubectl `))
		})
	}
}
