//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// mergedBy are programs that read bases as docs/how-to/bases.md says. DIR is the folder of the files.
var mergedBy = []struct {
	name       string
	program    string
	files      map[string]string
	has, lacks []string // what the program prints of the merged configuration, without spaces and ends of lines
	wrong      string   // what it refuses to find in the base ours
	says       string   // how it refuses that
}{
	{
		name: "OpenTelemetry: the last value wins, and a list is replaced",
		program: "bin/collector/otelcol print-config" +
			" --config=DIR/base-shared.yaml --config=DIR/config.yaml --config=DIR/base-ours",
		files: map[string]string{
			"base-shared.yaml": `
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:4317"}}}}
exporters: {debug: {verbosity: basic}, debug/replaced: {}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [debug, debug/replaced]}}}`,
			"config.yaml": `
processors: {resource: {attributes: [{key: team, value: acme, action: upsert}]}}
service: {pipelines: {traces: {processors: [resource], exporters: [debug]}}}`,
			"base-ours": `exporters: {debug: {verbosity: detailed}}`,
		},
		has:   []string{"verbosity:Detailed", "value:acme", "traces:exporters:-debugprocessors:-resourcereceivers:-otlp"},
		lacks: []string{"verbosity:Basic", "-debug/replaced"},
		wrong: `exporters: {unheard_of: {}}`,
		says:  `'exporters' unknown type: "unheard_of"`,
	},
	{
		name:    "syslog-ng: its own file includes the others",
		program: "syslog-ng --syntax-only --cfgfile=DIR/syslog-ng.conf",
		files: map[string]string{
			"syslog-ng.conf": `@version: 3.38
@include "DIR/base-ours"
source own { internal(); };
log { source(own); destination(ours); };
`,
			"base-ours": `destination ours { file("/dev/null"); };`,
		},
		wrong: `destination ours { unheard_of(); };`,
		says:  "syntax error",
	},
}

// No cluster is needed for it: that a pod has the files and arguments is tested elsewhere.
func TestCollectorsReadBasesAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	for _, row := range mergedBy {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g, dir := NewWithT(t), t.TempDir()
			write := func(name, content string) {
				g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(content, "DIR", dir)), 0o600)).To(Succeed())
			}
			run := func() (string, error) {
				args := strings.Fields(strings.ReplaceAll(row.program, "DIR", dir))
				out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
				return string(out), err
			}
			for name, content := range row.files {
				write(name, content)
			}
			out, err := run()
			g.Expect(err).NotTo(HaveOccurred(), out)
			merged := strings.Join(strings.Fields(out), "")
			for _, text := range row.has {
				g.Expect(merged).To(ContainSubstring(text), out)
			}
			for _, text := range row.lacks {
				g.Expect(merged).NotTo(ContainSubstring(text), out)
			}
			write("base-ours", row.wrong)
			out, err = run()
			g.Expect(err).To(HaveOccurred(), out)
			g.Expect(out).To(ContainSubstring(row.says))
		})
	}
}
