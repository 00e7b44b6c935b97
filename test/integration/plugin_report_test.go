package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// canary is wherever somebody could put what is confidential and what the leak test does not look for.
const canary = "a-canary-that-no-report-has"

// unpackReport returns the files of a support bundle.
func unpackReport(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(header.Name, "report/")] = string(content)
	}
}

// planted returns a Collector that has the canary wherever somebody could put one.
func planted(namespace string) *v1alpha1.Collector {
	collector := newCollector(namespace, "gateway")
	collector.Annotations = map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": `{"spec": "` + base64.StdEncoding.EncodeToString([]byte(canary)) + `"}`, "example.com/a": canary,
	}
	spec := &collector.Spec
	spec.Collector.Files = map[string]v1alpha1.FileContent{"name": []byte(canary)}
	spec.Env = []corev1.EnvVar{{Name: "TOKEN", Value: canary}, {Name: "KEY", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "backend"}, Key: "key"},
	}}}
	spec.Args = []string{"--password=" + canary}
	spec.PodAnnotations = v1alpha1.Annotations{"example.com/b": canary}
	spec.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: "/" + canary, Port: intstr.FromInt32(1), HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: canary}},
	}}}
	spec.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{canary}}}}
	spec.ExtraVolumes = []corev1.Volume{{Name: "csi", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: "example.com", VolumeAttributes: map[string]string{"key": canary, "name": canary},
	}}}}
	spec.Service = &v1alpha1.Service{Annotations: v1alpha1.Annotations{"example.com/c": canary}}
	return collector
}

// operatorPod creates a pod as the operator's Deployment would, and returns its name.
func operatorPod(t *testing.T, namespace string) string {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "controller-manager-", Labels: map[string]string{"app.kubernetes.io/name": "kube8-operator"}},
		Spec:       corev1.PodSpec{NodeName: newKubelet(t), Containers: []corev1.Container{{Name: "manager", Image: "operator"}}},
	}
	if err := plane.client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod.Name
}

func TestAReportHasNoConfigurationAndNoSecret(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	collector := planted(namespace)
	create(t, collector)
	status := crashed()
	status.ContainerStatuses[0].LastTerminationState.Terminated.Message = canary
	status.Message = canary
	crashedPod := pod(t, collector, status)
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "backend", Labels: map[string]string{collectorLabel: "gateway"}},
			Data: map[string][]byte{"key": []byte(canary)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "list", Labels: map[string]string{collectorLabel: "gateway"}},
			Data: map[string]string{"name": canary}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}, InvolvedObject: corev1.ObjectReference{Namespace: namespace, Name: crashedPod.Name},
			Source: corev1.EventSource{Component: "kubelet"}, Reason: "Unhealthy", Message: "Readiness probe failed: " + canary},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foreign"}, InvolvedObject: corev1.ObjectReference{Namespace: namespace},
			Source: corev1.EventSource{Component: "someone"}, Reason: "Told", Message: canary},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pull"}, InvolvedObject: corev1.ObjectReference{Namespace: namespace},
			Source: corev1.EventSource{Component: "kubelet"}, Reason: "Failed", Message: `Failed to pull image "collector": not found`},
	} {
		if err := plane.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	operators := newNamespace(t)
	ofOperator := operatorPod(t, operators)
	p, g := pluginIn(t, namespace), NewWithT(t)
	for name, arguments := range map[string][]string{"of a namespace": {"report", "-o", "-"}, "of all namespaces": {"report", "-A", "-o", "-"}} {
		files := unpackReport(t, []byte(p.run(append(arguments, "--operator-namespace", operators)...)))
		for file, text := range files {
			for _, form := range append(secretForms(), formsOf(canary)...) {
				g.Expect(text).NotTo(ContainSubstring(form), "%s: %s", name, file)
			}
		}
		g.Expect(files[namespace+"/collector/gateway.yaml"]).To(And(
			ContainSubstring("configuration: (hidden)"), ContainSubstring("reason: "), ContainSubstring("version: 0.150.0"), ContainSubstring("name: TOKEN"),
			ContainSubstring("reference: acme"), MatchRegexp(`controller\s+has\s+not\s+started`)), name)
		g.Expect(files[namespace+"/pod/"+crashedPod.Name+".yaml"]).To(And(ContainSubstring("CrashLoopBackOff"), ContainSubstring("exitCode: 2")))
		g.Expect(files[namespace+"/event/pull.yaml"]).To(ContainSubstring("Failed to pull image"))
		g.Expect(files).To(And(HaveKey("README.txt"), HaveKey(namespace+"/deployment/gateway.yaml"), HaveKey(namespace+"/secret/sh.helm.release.v1.gateway.v1.yaml"),
			HaveKey(namespace+"/secret/backend.yaml")), name)
		g.Expect(files[operators+"/pod/"+ofOperator+".log"]).To(HavePrefix("log of "+operators+"/"+ofOperator+"/manager"), name)
		g.Expect(files["version.txt"]).To(And(ContainSubstring("kubectl-collector "), ContainSubstring("Kubernetes v1.")))
	}

	written := strings.TrimSpace(p.run("report"))
	g.Expect(unpackReport(t, []byte(p.read(written)))).To(HaveKey(namespace + "/collector/gateway.yaml"))
	info, err := os.Stat(filepath.Join(p.dir, written))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600))
	p.refuses("file exists", "report", "-o", written)
}

func TestAReportSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginOf(t, kubeconfigWith(t, collector.Namespace, "kube8-operator-collector-viewer")), NewWithT(t)
	g.Eventually(func() string { _, failure := p.try("status", "gateway"); return failure }).Should(BeEmpty(), "until the binding is known")
	files := unpackReport(t, []byte(p.run("report", "-o", "-")))
	g.Expect(files).To(HaveKey(collector.Namespace + "/collector/gateway.yaml"))
	g.Expect(files["unread.txt"]).To(And(ContainSubstring("pods is forbidden"), ContainSubstring("secrets is forbidden"), ContainSubstring("events is forbidden")))
}
