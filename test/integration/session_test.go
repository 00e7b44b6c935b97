package integration

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/golden"
)

// TestTheSessionOfTheREADME runs what docs/session.svg shows. Of its text, only names of pods and times may differ from what commands print.
func TestTheSessionOfTheREADME(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	collector, p, g := newCollector(namespace, "gateway"), pluginIn(t, namespace), NewWithT(t)
	config, err := os.ReadFile("test/integration/testdata/session/config.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	p.write("config.yaml", string(config))
	var shown []string
	shows := func(command string) {
		shown = append(shown, "$ "+command)
		cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(command, "tenant-acme", namespace))
		cmd.Env, cmd.Dir = p.env, p.dir
		out, err := cmd.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		shown = append(shown, strings.Split(strings.ReplaceAll(string(out), namespace, "tenant-acme"), "\n")...)
	}
	shows("kubectl collector create gateway -n tenant-acme --from-file config.yaml --tenant 1042 --cluster prod-eu-1")
	awaitRevision(t, collector, 1)
	podFrom(t, collector, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "collector", Ready: true}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}})
	becomeReady(t, collector)
	shows("kubectl get collectors -n tenant-acme")
	shows("kubectl collector set gateway -n tenant-acme version=9.9.9 --yes")
	awaitRevision(t, collector, 2)
	cannotPull(t, collector)
	shows("kubectl collector why gateway -n tenant-acme")
	shows("kubectl collector rollback gateway -n tenant-acme --yes")
	awaitRevision(t, collector, 3)
	becomeReady(t, collector)
	shows("kubectl collector history gateway -n tenant-acme")
	comparePicture(t, "docs/session.svg", shown)
}

// cannotPull has a Collector's old pod serve beside a new one whose image does not exist.
func cannotPull(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	image := get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image
	podFrom(t, collector, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "collector", Image: image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: fmt.Sprintf(`Back-off pulling image "%s": not found`, image)}},
	}}})
	deployment := get(t, collector, "", &appsv1.Deployment{})
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UnavailableReplicas: 1,
	}
	if err := plane.client.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, collector, corev1.ConditionFalse, v1alpha1.ReasonPodsNotReady, "ImagePullBackOff")
}

// changing are the parts of what commands print that differ from run to run.
var changing = regexp.MustCompile(`\b\d+(ms|s|m\d*s?)\b|gateway-[a-z0-9-]{5,}|\d{4}-\d\d-\d\dT[0-9:]+Z`)

// comparePicture compares what a picture shows with what commands printed, or draws it.
func comparePicture(t *testing.T, file string, lines []string) {
	t.Helper()
	known := func(text string) string {
		return strings.Join(strings.Fields(changing.ReplaceAllString(text, "…")), " ")
	}
	picture := string(draw(lines))
	if known(golden.Read(t, file, picture)) != known(picture) {
		t.Errorf("%s does not show what the commands print, run `go test ./test/integration -run %s -update`:\n%s", file, t.Name(), strings.Join(lines, "\n"))
	}
}

// draw returns lines as a terminal shows them.
func draw(lines []string) []byte {
	const (
		columns    = 118 // longer lines go on in the next one
		lineHeight = 18
		charWidth  = 7.8
		margin     = 16
	)
	var wrapped []string
	for _, line := range lines {
		for characters := []rune(line); ; characters = append([]rune("    "), characters[columns:]...) {
			if len(characters) <= columns {
				wrapped = append(wrapped, string(characters))
				break
			}
			wrapped = append(wrapped, string(characters[:columns]))
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="monospace" font-size="13">`+"\n",
		columns*charWidth+2*margin, len(wrapped)*lineHeight+2*margin)
	out.WriteString(`<rect width="100%" height="100%" rx="8" fill="#10171e"/>` + "\n")
	for i, line := range wrapped {
		color := "#c9d4de"
		if strings.HasPrefix(line, "$ ") {
			color = "#7fd1ae"
		}
		fmt.Fprintf(&out, `<text xml:space="preserve" x="%d" y="%d" fill="%s">`, margin, margin+(i+1)*lineHeight-5, color)
		_ = xml.EscapeText(&out, []byte(strings.ReplaceAll(line, "\t", "    "))) // a buffer takes all
		out.WriteString("</text>\n")
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}
