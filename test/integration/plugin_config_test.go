package integration

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// another is a configuration that differs from config by one line.
var another = strings.ReplaceAll(config, "all", "everything") + "\n"

// withFiles creates a Collector that has a further file.
func withFiles(t *testing.T) *v1alpha1.Collector {
	t.Helper()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Files = map[string]v1alpha1.FileContent{"parsers.conf": []byte("one\ntwo\n")}
	create(t, collector)
	return collector
}

func TestThePluginPrintsAConfiguration(t *testing.T) {
	t.Parallel()
	collector := withFiles(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("config", "get", "gateway")).To(Equal(config), "byte for byte")
	g.Expect(p.run("config", "get", "gateway", "--file", "config.yaml")).To(Equal(config))
	g.Expect(p.run("config", "get", "gateway", "--file", "parsers.conf")).To(Equal("one\ntwo\n"))
	g.Expect(p.run("config", "get", "gateway", "--revision", "1")).To(Equal(config), "of a revision")
	p.refuses("has no file other.conf; it has parsers.conf, config.yaml", "config", "get", "gateway", "--file", "other.conf")
	p.refuses("revision 7 is not recorded", "config", "get", "gateway", "--revision", "7")
	p.refuses("there is no Collector gatewya in namespace "+collector.Namespace, "config", "get", "gatewya")
	p.refuses("name one Collector", "config", "get")
}

func TestThePluginReplacesAConfiguration(t *testing.T) {
	t.Parallel()
	collector := withFiles(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	p.write("new.yaml", another)
	p.write("bad.yaml", "receivers: {}\nreceivers: {}\n")
	p.write("empty.yaml", "")
	before := get(t, collector, "", &v1alpha1.Collector{})

	p.refuses("add --yes", "config", "set", "gateway", "--from-file", "new.yaml")
	p.refuses("name the new configuration by --from-file", "config", "set", "gateway", "--yes")
	p.refuses("duplicate key", "config", "set", "gateway", "--from-file", "bad.yaml", "--yes")
	p.refuses("line 2 has a [ or { that is not closed", "config", "set", "gateway", "--yes", "--from-file", p.write("broken.yaml", "a: 1\nb: [2\n"))
	p.refuses("is empty", "config", "set", "gateway", "--from-file", "empty.yaml", "--yes")
	p.refuses("no such file", "config", "set", "gateway", "--from-file", "none.yaml", "--yes")
	p.refuses("a file name has letters", "config", "set", "gateway", "--from-file", "new.yaml", "--file", "../b", "--yes")
	g.Expect(get(t, collector, "", &v1alpha1.Collector{}).ResourceVersion).To(Equal(before.ResourceVersion), "nothing was written")

	out := p.run("config", "set", "gateway", "--from-file", "new.yaml", "--yes")
	g.Expect(out).To(And(ContainSubstring("-  otlp: {protocols: {grpc: &all "), ContainSubstring("+  otlp: {protocols: {grpc: &everything "),
		HaveSuffix("collector.kube8.dev/gateway configured\n")))
	g.Expect(string(specOf(t, collector).Collector.Configuration)).To(Equal(another))
	g.Expect(p.run("config", "set", "gateway", "--from-file", "new.yaml", "--yes")).To(Equal("collector.kube8.dev/gateway unchanged\n"))
	awaitRevision(t, collector, 2)

	out, failure := p.tryWith("three\n", "config", "set", "gateway", "--from-file", "-", "--file", "parsers.conf", "--yes")
	g.Expect(out + failure).To(ContainSubstring("-one\n-two\n+three\n"))
	_, failure = p.tryWith("new\n", "config", "set", "gateway", "--from-file", "-", "--file", "more.conf", "--yes")
	g.Expect(failure).To(BeEmpty())
	g.Expect(specOf(t, collector).Collector.Files).To(Equal(map[string]v1alpha1.FileContent{
		"parsers.conf": []byte("three\n"), "more.conf": []byte("new\n"),
	}))
}

func TestThePluginChangesNothingElse(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Presets = &v1alpha1.Presets{Logs: &v1alpha1.LogsPreset{}}
	create(t, collector)
	before := specOf(t, collector)
	p := pluginIn(t, collector.Namespace)
	p.run("config", "set", "gateway", "--from-file", p.write("new.yaml", another), "--yes")
	after := specOf(t, collector)
	before.Collector.Configuration = []byte(another)
	NewWithT(t).Expect(after).To(Equal(before))
	for _, entry := range get(t, collector, "", &v1alpha1.Collector{}).ManagedFields {
		if entry.Manager == "kubectl-collector" {
			NewWithT(t).Expect(entry.FieldsV1.GetRawString()).To(Equal(`{"f:metadata":{"f:annotations":{".":{},"f:kube8.dev/written-by":{}}},`+
				`"f:spec":{"f:collector":{"f:configuration":{}}}}`), "what it owns")
		}
	}
}

func TestThePluginLeavesAConfigurationInASecret(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Collector.Configuration = nil
	collector.Spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: "backend", Key: "otel.yaml"}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "backend", Labels: map[string]string{collectorLabel: "gateway"}},
		Data:       map[string][]byte{"otel.yaml": []byte(config)},
	}
	if err := plane.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	create(t, collector)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	g.Expect(p.run("config", "get", "gateway")).To(Equal(config))
	p.write("new.yaml", another)
	g.Expect(p.run("config", "diff", "gateway", "--from-file", "new.yaml")).To(ContainSubstring("+  otlp: {protocols: {grpc: &everything "))
	g.Expect(p.run("config", "get", "gateway", "--revision", "1")).To(Equal(config), "of the copy that the revision mounts")
	p.refuses("it is key otel.yaml of Secret backend; change it there", "config", "set", "gateway", "--yes", "--from-file=new.yaml")
	p.refuses("it is key otel.yaml of Secret backend; change it there", "config", "edit", "gateway", "--yes")
	p = pluginOf(t, editorKubeconfig(t, collector.Namespace))
	NewWithT(t).Eventually(func() string { _, failure := p.try("status", "gateway"); return failure }).Should(BeEmpty(), "until the binding is known")
	p.refuses("key otel.yaml of Secret backend, which your account may not read", "config", "get", "gateway")
}

func TestThePluginComparesConfigurations(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	p.refuses("no recorded revision had another configuration", "config", "diff", "gateway")
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(another) })
	const line = "-  otlp: {protocols: {grpc: &all "
	g.Expect(p.run("config", "diff", "gateway")).To(And(ContainSubstring("--- gateway/config.yaml (revision 1)\n+++ gateway/config.yaml\n"),
		ContainSubstring(line), ContainSubstring(`\ No newline at end of file`)))
	g.Expect(p.run("config", "diff", "gateway", "--revision", "1")).To(ContainSubstring(line))
	g.Expect(p.run("config", "diff", "gateway", "--revision", "2")).To(BeEmpty())
	g.Expect(p.run("config", "diff", "gateway", "--from-file", p.write("same.yaml", another))).To(BeEmpty())
	p.refuses("exit status 1: the two differ", "config", "diff", "gateway", "--from-file", p.write("old.yaml", config), "--exit-code")
	p.refuses("none of the others can be", "config", "diff", "gateway", "--from-file", "old.yaml", "--revision", "1")

	more := p.write("more.conf", "[INPUT]\n")
	g.Expect(p.run("config", "diff", "gateway", "--file", "more.conf", "--from-file", more)).To(ContainSubstring("+[INPUT]"), "a new file")
	p.refuses("has no file more.conf; it has config.yaml", "config", "diff", "gateway", "--file", "more.conf")
	upgrade(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.Collector.Files = map[string]v1alpha1.FileContent{"more.conf": []byte("[INPUT]\n")}
	})
	g.Expect(p.run("config", "diff", "gateway", "--file", "more.conf")).To(ContainSubstring("+[INPUT]"), "a file that no revision had before")
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Files = nil })
	g.Expect(p.run("config", "diff", "gateway", "--file", "more.conf")).To(ContainSubstring("-[INPUT]"), "a file that has gone")
}

// keptIn returns the name of the file of which a text says that it has what was edited.
func keptIn(t *testing.T, text string) string {
	t.Helper()
	found := regexp.MustCompile(`your text is in \S*/(kubectl-collector-\d+/[^\s;]+)`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no file with the text is named in:\n%s", text)
	}
	return found[1]
}

func TestThePluginEditsAConfigurationInATerminal(t *testing.T) {
	t.Parallel()
	collector := withFiles(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	edit := `sed -i 's/all/everything/g' "$1"`

	screen := p.open(edit, "config", "edit", "gateway")
	screen.expect("+  otlp: {protocols: {grpc: &everything")
	screen.expect("Change Collector " + collector.Namespace + "/gateway? [y/N]")
	g.Expect(string(specOf(t, collector).Collector.Configuration)).To(Equal(config), "before the confirmation")
	screen.answer("y")
	screen.expect("collector.kube8.dev/gateway configured")
	g.Expect(screen.end()).To(Succeed())
	g.Expect(string(specOf(t, collector).Collector.Configuration)).To(ContainSubstring("&everything"))

	screen = p.open(`true`, "config", "edit", "gateway")
	screen.expect("collector.kube8.dev/gateway unchanged")
	g.Expect(screen.end()).To(Succeed())

	screen = p.open(`echo three >>"$1"`, "config", "edit", "gateway", "--file", "parsers.conf", "--yes")
	screen.expect("+three")
	g.Expect(screen.end()).To(Succeed())
	g.Expect(string(specOf(t, collector).Collector.Files["parsers.conf"])).To(Equal("one\ntwo\nthree\n"))
	p.env = append(p.env, "NO_COLOR=")
	screen = p.open("true", "config", "diff", "gateway")
	screen.expect("\x1b[32m+  otlp: {protocols: {grpc: &everything")
	g.Expect(screen.end()).To(Succeed())
	entries, _ := p.tryWith("", "version")
	g.Expect(entries).To(HavePrefix("kubectl-collector "))
}

func TestNothingThatWasEditedIsLost(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)

	screen := p.open(`echo '# declined' >>"$1"`, "config", "edit", "gateway")
	screen.expect("[y/N]")
	screen.answer("n")
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(screen.text()).To(ContainSubstring("nothing was changed"))
	g.Expect(p.read(keptIn(t, screen.text()))).To(HaveSuffix("# declined\n"))

	// Saved as it was when the editor has opened again, it is given up.
	screen = p.open(`cp "$1" seen; grep -q '^"' "$1" || printf '\n"\n' >>"$1"`, "config", "edit", "gateway")
	screen.expect("saved as it was, so nothing was sent: refused")
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(p.read("seen")).To(And(HavePrefix("# Nothing was changed, because this text is not valid."), ContainSubstring(" has a quote that is not closed"),
		HaveSuffix("\n\"\n")))
	g.Expect(p.read(keptIn(t, screen.text()))).To(And(HaveSuffix("\n\"\n"), Not(ContainSubstring("Nothing was changed"))))

	screen = p.open(`if grep -q '^"' "$1"; then sed -i 's/^"/# mended/' "$1"; else printf '\n"\n' >>"$1"; fi`, "config", "edit", "gateway")
	screen.expect("+# mended")
	screen.answer("y")
	g.Expect(screen.end()).To(Succeed())
	g.Expect(string(specOf(t, collector).Collector.Configuration)).To(And(HaveSuffix("# mended\n"), Not(ContainSubstring("Nothing was changed"))))

	screen = p.open(`echo '# left' >>"$1"`, "config", "edit", "gateway")
	screen.expect("[y/N]")
	screen.interrupt()
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(p.read(keptIn(t, screen.text()))).To(HaveSuffix("# left\n"), "after Ctrl-C")

	screen = p.open(`exit 3`, "config", "edit", "gateway")
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(screen.text()).To(And(ContainSubstring("set $KUBE_EDITOR to your editor"), ContainSubstring("the text is in ")))

	p.refuses("add --yes", "config", "edit", "gateway")
}

func TestTheEditorOpensAgainWithWhatTheAPIServerSays(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	defer forbid(t, collector.Namespace, "kube8.dev", "collectors", fmt.Sprintf("object.spec.collector.configuration.size() < %d", 2*len(config)),
		registrationv1.Update)()
	p.write("long.yaml", config+"\n# "+strings.Repeat("x", 2*len(config))+"\n")
	g.Eventually(func() string { // until the policy is known
		_, failure := p.try("config", "set", "gateway", "--from-file", "long.yaml", "--dry-run=server")
		return failure
	}).Should(ContainSubstring("the platform refuses to change Collector"))
	screen := p.open(`if grep -q '^# Nothing' "$1"; then cp "$1" seen; sed -i 's/^# xx.*/# short/' "$1"; else cp long.yaml "$1"; fi`,
		"config", "edit", "gateway", "--yes")
	screen.expect("the platform refuses to change Collector")
	screen.expect("configured")
	g.Expect(screen.end()).To(Succeed(), screen.text())
	g.Expect(p.read("seen")).To(ContainSubstring("\n# the platform refuses to change Collector"))
	g.Expect(string(specOf(t, collector).Collector.Configuration)).To(Equal(config + "\n# short\n"))
}

func TestThePluginOverwritesNobodysChange(t *testing.T) {
	t.Parallel()
	collector := install(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	screen := p.open(`echo '# mine' >>"$1"`, "config", "edit", "gateway")
	screen.expect("[y/N]")
	becomeReady(t, collector)
	screen.answer("y")
	g.Expect(screen.end()).To(Succeed(), "a status that was written meanwhile is no conflict")

	screen = p.open(`echo '# mine too' >>"$1"`, "config", "edit", "gateway")
	screen.expect("[y/N]")
	reconfigure(t, collector, config+" # theirs")
	screen.answer("y")
	g.Expect(screen.end()).NotTo(Succeed())
	g.Expect(screen.text()).To(ContainSubstring("another client has changed Collector " + collector.Namespace + "/gateway meanwhile"))
	g.Expect(p.read(keptIn(t, screen.text()))).To(HaveSuffix("# mine too\n"))
	g.Expect(string(specOf(t, collector).Collector.Configuration)).To(Equal(config + " # theirs"))
}
