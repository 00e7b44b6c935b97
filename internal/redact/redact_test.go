package redact_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/kube8/kube8-operator/internal/redact"
)

func TestLoggerKeepsOrdinaryVerbosityAndDropsTheManifests(t *testing.T) {
	var lines strings.Builder
	everything := funcr.New(func(_, line string) { lines.WriteString(line) }, funcr.Options{Verbosity: 10})
	log := redact.Logger(everything, redact.Manifests).WithName("helm").WithValues("collector", "a/b")

	for level, want := range map[int]bool{0: true, 1: true, 3: true, 4: false, 10: false} {
		if got := log.V(level).Enabled(); got != want {
			t.Errorf("verbosity %d enabled: got %t, want %t", level, got, want)
		}
	}
	if log.V(1).Info("release installed"); !strings.Contains(lines.String(), "release installed") {
		t.Errorf("an ordinary line was lost; logged: %q", &lines)
	}
}
