package docs

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// FirstHour has what each section of docs/tutorials/first-hour.md prints, for Follow.
var FirstHour = map[string][]string{
	"Get a namespace":      {"namespace/my-team created"},
	"Create a Collector":   {"collector.kube8.dev/first created"},
	"See that it runs":     {"condition met", "1 of 1 ready"},
	"Send to your backend": {"+exporters: {otlphttp", "condition met"},
	"Make a mistake":       {"refused, and not sent", "\nrefused\n"},
	"Find out why":         {`"certificates"`, "What serves meanwhile", " of revision ", ".tar.gz"},
	"Go back":              {"-extraVolumeMounts", "to the spec of revision ", "condition met"},
	"Clean up":             {`secret "backend" deleted`},
}

// Follow runs the blocks of commands of a page as a reader types them, in a folder of the test and with an environment that has the plugin
// and the kubeconfig. It fails the test if a command fails, or if a section does not print its texts. Each section with a block needs one.
func Follow(t *testing.T, page string, environment []string, prints map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, section := range sections(Commands(page, string(text))) {
		cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", section.Text)
		cmd.Env, cmd.Dir = environment, dir
		out, err := cmd.CombinedOutput()
		want := prints[section.Heading]
		lacks := slices.DeleteFunc(slices.Clone(want), func(text string) bool { return strings.Contains(string(out), text) })
		if err != nil || len(want) == 0 || len(lacks) > 0 {
			t.Fatalf("%s, %s: %v, lacks %q of %q:\n%s", page, section.Heading, err, lacks, want, out)
		}
		t.Logf("%s:\n%s", section.Heading, out)
	}
}

// sections returns what a shell runs for each section of a page that has blocks of commands, in their order.
func sections(commands []Command) (sections []Command) {
	for _, command := range commands {
		switch last := len(sections) - 1; {
		case command.inline:
		case last < 0, sections[last].Heading != command.Heading:
			sections = append(sections, command)
		default:
			sections[last].Text += "\n" + command.Text
		}
	}
	return sections
}
