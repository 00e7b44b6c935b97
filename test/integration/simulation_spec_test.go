package integration

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/simulation"
)

// contentOf returns the configuration of a number; 0 is the content that the user's Secret has for the n-th time.
func contentOf(number, n int) string {
	if number == 0 {
		return fmt.Sprintf("from_secret: %d", n)
	}
	if number == simulation.Broken {
		return "configuration: ["
	}
	return fmt.Sprintf("configuration: %d", number)
}

// realSpec returns the Collector's spec for what a schedule says of it.
func realSpec(s simulation.Spec) v1alpha1.CollectorSpec {
	s = s.Effective()
	spec := newCollector("", "").Spec
	spec.Mode, spec.RevisionHistoryLimit = v1alpha1.Mode(s.Mode), new(int32(3))
	spec.Collector.Version = fmt.Sprintf("0.150.%d", s.Image)
	spec.Ports = map[string]v1alpha1.Port{"extra": {Port: int32(5514 + s.Ports)}}
	if s.HostPort {
		spec.Ports["otlp"] = v1alpha1.Port{HostPort: 4317}
	}
	spec.Collector.Configuration = []byte(contentOf(s.Configuration, 0))
	if s.Configuration == 0 {
		spec.Collector.Configuration = nil
		spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: "team-config", Key: "collector.yaml"}
	}
	if s.Check != 0 {
		spec.Check = &v1alpha1.Check{Args: []string{fmt.Sprint("--check=", s.Check)}}
	}
	if s.ClaimSize != 0 {
		spec.VolumeClaimTemplates = []v1alpha1.VolumeClaimTemplate{claimOf("data", fmt.Sprintf("%dGi", s.ClaimSize))}
		if s.ClaimClass != "" {
			spec.VolumeClaimTemplates[0].Spec.StorageClassName = &s.ClaimClass
		}
	}
	for bit := range 2 {
		if s.Volumes&(1<<bit) != 0 {
			spec.VolumeClaims = append(spec.VolumeClaims, claimOf(strconv.Itoa(bit), "1Gi"))
		}
	}
	switch {
	case s.Autoscaling == "hpa":
		spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MaxReplicas: new(int32(9))}
	case s.Autoscaling == "keda":
		spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MaxReplicas: new(int32(9)), KEDA: &v1alpha1.KEDA{
			Triggers: []v1alpha1.KEDATrigger{{Type: "cpu", Metadata: map[string]string{"value": "70"}}},
		}}
	case s.Replicas != 0:
		spec.Replicas = new(int32(s.Replicas))
	case s.Mode != "daemonset": // the number of pods is left to others
		spec.Autoscaling = &v1alpha1.Autoscaling{External: true}
	}
	if s.Budget {
		spec.PodDisruptionBudget = &v1alpha1.PodDisruptionBudget{Enabled: true}
	}
	if s.Policy {
		spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	}
	if s.Account != "" {
		spec.ServiceAccount = &v1alpha1.ServiceAccount{Name: s.Account}
	}
	if s.Role != 0 {
		spec.ServiceAccount = &v1alpha1.ServiceAccount{Annotations: v1alpha1.Annotations{"role": strconv.Itoa(s.Role)}}
	}
	return spec
}

func claimOf(name, size string) v1alpha1.VolumeClaimTemplate {
	claim := v1alpha1.VolumeClaimTemplate{Metadata: v1alpha1.ClaimMetadata{Name: name}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.StorageClassName = new("grows")
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	return claim
}

// strangers are objects of nobody, which take names that Collectors need.
var strangers = map[string]string{
	"ServiceAccount": "{}", "Secret": "{}", "Service": "{spec: {ports: [{port: 1}]}}", "NetworkPolicy": "{spec: {podSelector: {}}}",
	"PersistentVolumeClaim": "{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
	"PodDisruptionBudget":   "{spec: {maxUnavailable: 1}}",
	"Deployment":            "{spec: " + podsOfNobody + "}", "DaemonSet": "{spec: " + podsOfNobody + "}",
	"StatefulSet":             "{spec: " + podsOfNobody + "}",
	"HorizontalPodAutoscaler": "{spec: {maxReplicas: 1, scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}}}",
	"ScaledObject":            "{spec: {scaleTargetRef: {name: a}, triggers: []}}",
}

const podsOfNobody = "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}"

// namesOf returns the names of a kind that a Collector may need.
func namesOf(kind string) []string {
	switch kind {
	case "Secret":
		return []string{"c" + filesOf(contentOf(1, 0)), "c" + filesOf(contentOf(2, 0)), "c" + filesOf(contentOf(3, 0))}
	case "ServiceAccount":
		return []string{"c", "other", "third"}
	case "PersistentVolumeClaim":
		return []string{"c-0", "c-1"}
	}
	return []string{"c"}
}

// expectedName returns the name that both levels have for an object. It is empty for what only the chart has, or what goes.
func expectedName(key string) string {
	switch {
	case strings.HasPrefix(key, "Secret/c-config-"):
		return "Secret/c-config"
	case key == "Service/c-headless", strings.HasPrefix(key, "Job/"):
		return ""
	}
	return key
}
