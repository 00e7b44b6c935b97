//go:build e2e

package docs

import (
	"os"
	"testing"
)

// The demo runs this test: DEMO_RUN.
func TestATenantsFirstHour(t *testing.T) {
	t.Chdir(root)
	Follow(t, "docs/tutorials/first-hour.md", os.Environ(), FirstHour)
}
