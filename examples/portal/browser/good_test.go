//go:build e2e

package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// isWhole is true if nothing of a page is cut or beyond its edge, and short names are on one line.
const isWhole = `document.documentElement.scrollWidth <= window.innerWidth && ` +
	`[...document.querySelectorAll("th, td, p, pre, dd, h1, h2, label, button, summary, input:not([type=text])")].every((e) => e.scrollWidth <= e.clientWidth + 1) && ` +
	`[...document.querySelectorAll(".name, .state, nav a")].every((e) => {
		const text = document.createRange();
		text.selectNodeContents(e);
		return new Set([...text.getClientRects()].map(({ top }) => top)).size <= 1;
	})`

// findings are what axe-core has against a page that keeps people from using it.
const findings = `axe.run().then(({ violations }) => violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
	.map(({ id, nodes }) => id + ": " + nodes.map(({ html, failureSummary }) => html + " " + failureSummary).join("; ")).join("\n"))`

// isGood demands of a page, on a phone and on a desk, by day and by night, that it is whole and that everybody can use it.
func isGood(ctx context.Context, t *testing.T, what string) {
	t.Helper()
	axe, err := chromedp.Run(ctx, chromedp.Evaluate[bool](axeCore(t)+";true"))
	if err != nil || !axe {
		t.Fatalf("load axe-core: %v", err)
	}
	for _, scheme := range []string{"light", "dark"} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int64{390, 1280} {
			name := fmt.Sprintf("%s, %s, in %d pixels", what, scheme, width)
			step(ctx, t, name, chromedp.EmulateViewport(width, 900))
			if whole, err := chromedp.Run(ctx, chromedp.Evaluate[bool](isWhole)); err != nil || !whole {
				t.Errorf("%s: cut (%v)", name, err)
			}
			if found, err := chromedp.Run(ctx, chromedp.Evaluate[string](findings, chromedp.EvalAwaitPromise)); err != nil || found != "" {
				t.Errorf("%s: %s (%v)", name, found, err)
			}
			if folder := os.Getenv("SCREENSHOTS"); folder != "" { // for people who want to look
				picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+".png"), picture, 0o644)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// axeCore returns the program, which npm installs into bin at the version that package-lock.json has.
func axeCore(t *testing.T) string {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "bin", "axe-core")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(folder, "lock")) // unit tests and end-to-end tests can be here at the same time
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(folder, "node_modules", "axe-core", "axe.min.js")
	isNew := false
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		installed, _ := os.ReadFile(filepath.Join(folder, name))
		isNew = isNew || !bytes.Equal(text, installed)
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile(script)
	if err == nil && !isNew {
		return string(program)
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = folder
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm, which must be installed: %v\n%s", err, out)
	}
	if program, err = os.ReadFile(script); err != nil {
		t.Fatal(err)
	}
	return string(program)
}
