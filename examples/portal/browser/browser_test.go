//go:build e2e

// Package browser goes through the portal's page as a person would, in a headless Chromium. The portal's own test and
// test/e2e start the portal and run this with PORTAL_URL, the address of a page. Its namespace has one Collector, "kept",
// whose configuration is key config.yaml of Secret kept. NAMESPACES has the namespaces that the page offers.
package browser

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// configuration has what HTML, JSON and a text area could change.
const configuration = `# <b>&amp; "${env:TENANT_ID}" \n
extensions: {health_check: {endpoint: "0.0.0.0:13133"}}
receivers: {otlp: {protocols: {http: {endpoint: "0.0.0.0:4318"}}}}
exporters: {debug: {}}
service: {extensions: [health_check], pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}
`

func TestAPersonMakesACollectorAndRemovesIt(t *testing.T) {
	address := os.Getenv("PORTAL_URL")
	if address == "" {
		t.Fatal("PORTAL_URL is not set: run `make e2e`, whose test of the portal sets it")
	}
	ctx := browser(t)
	console := chromedp.Console(ctx)
	field := func(name string) chromedp.CSS { return chromedp.CSS("[name=" + name + "]") }
	save := chromedp.Click(chromedp.CSS("[type=submit]"))

	row := func(name string) string { return `//tr[th[.="` + name + `"]]` }
	edit := func(name string) chromedp.Action[chromedp.Void] {
		return chromedp.Click(chromedp.Search(row(name) + `//*[.="Edit"]`))
	}
	says := func(id, text string) chromedp.Action[chromedp.Void] {
		return chromedp.WaitVisible(chromedp.Search(`//*[@id="` + id + `"][contains(., "` + text + `")]`))
	}

	step(ctx, t, "the page opens and has a row", chromedp.Navigate(address), chromedp.WaitVisible(chromedp.Search(row("kept"))))
	for namespace := range strings.SplitSeq(os.Getenv("NAMESPACES"), ",") {
		step(ctx, t, "the page offers the namespace "+namespace, chromedp.WaitReady(chromedp.Search(`//*[@id="namespace"]/option[.="`+namespace+`"]`)))
	}
	step(ctx, t, "a configuration in a Secret is named, and saved as it is", edit("kept"),
		says("elsewhere", "The configuration is key config.yaml of Secret kept."), chromedp.WaitNotVisible(field("configuration")),
		chromedp.SetValue(field("cluster"), "prod-eu-2"), save, says("saved", "Sent kept."),
		chromedp.WaitVisible(chromedp.Search(row("kept")+`//*[.="prod-eu-2"]`)))
	step(ctx, t, "New empties the form", chromedp.Click(chromedp.CSS("[type=reset]")),
		chromedp.WaitVisible(chromedp.CSS("[name=name]:not([readonly]):invalid")), chromedp.WaitVisible(field("configuration")))
	step(ctx, t, "what the API server has against the form is said",
		chromedp.SendKeys(field("name"), "gateway"), chromedp.SendKeys(field("tenant"), "acme"),
		chromedp.SendKeys(field("tenantID"), "a b"), chromedp.SendKeys(field("cluster"), "prod-eu-1"),
		chromedp.SetValue(field("configuration"), configuration), save,
		says("refusal", "spec.tenant.id: Invalid value"))
	step(ctx, t, "the mended form makes a row",
		chromedp.SetValue(field("tenantID"), "1042"), save,
		chromedp.WaitVisible(chromedp.Search(row("gateway"))), says("saved", "Sent gateway."),
		chromedp.WaitNotPresent(chromedp.Search(`//*[@id="refusal"][text()]`)))
	step(ctx, t, "the collector becomes ready, and the row says so by itself",
		chromedp.WaitVisible(chromedp.Search(row("gateway")+`[@data-ready="True"]//*[.="Available"]`)))
	step(ctx, t, "on another visit, the form takes the row, to change it",
		chromedp.Reload(), edit("gateway"), chromedp.WaitVisible(chromedp.CSS("[name=name][readonly]")))
	edited, err := chromedp.Run(ctx, chromedp.Value(field("configuration")))
	if err != nil || edited != configuration {
		t.Errorf("the form has the configuration %q (%v), want %q", edited, err, configuration)
	}
	step(ctx, t, "the row leads to the status and the history", chromedp.Click(chromedp.Search(row("gateway")+`//a`)),
		chromedp.WaitVisible(chromedp.Search(`//tr[th[.="Ready"]]/td[.="Available"]`)), chromedp.WaitVisible(chromedp.ID("history")))
	// The style sheet moves the link, and a click that is on its way then would miss it.
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](`document.readyState == "complete"`)); err != nil {
		t.Fatal(err)
	}
	fits(ctx, t, "the status and the history")
	step(ctx, t, "and back", chromedp.Click(chromedp.CSS("header a")), chromedp.WaitVisible(chromedp.Search(row("gateway"))))
	fits(ctx, t, "the list and the form")
	remove := func(name string) chromedp.Action[chromedp.Void] {
		return chromedp.Click(chromedp.Search(row(name) + `//*[.="Delete"]`))
	}
	step(ctx, t, "deleted, the rows go", remove("gateway"), chromedp.WaitNotPresent(chromedp.Search(row("gateway"))),
		remove("kept"), chromedp.WaitVisible(chromedp.ID("none")))

	if err := chromedp.Cancel(ctx); err != nil {
		t.Error(err)
	}
	for message, err := range console {
		if err != nil {
			break // the browser has ended
		}
		// It says of each refusal that it was one.
		if message.Type != chromedp.ConsoleLog && !strings.Contains(message.Text, "422") {
			t.Errorf("the page's console: %s %s", message.Type, message.Text)
		}
	}
}

// browser starts a browser that nobody has used before. It answers the page's questions with yes.
func browser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // which root cannot have
		chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 1024),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(options...))
	t.Cleanup(cancel)
	dialogs := chromedp.Events(ctx, page.JavascriptDialogOpening)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium, which must be installed: %v", err)
	}
	go func() {
		for _, err := range dialogs {
			if err != nil {
				return
			}
			_, err := chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			if err != nil {
				t.Errorf("answer the page: %v", err)
			}
		}
	}()
	return ctx
}

// fits demands that nothing of a page is cut or beyond its edge, on a phone and on a desk.
func fits(ctx context.Context, t *testing.T, what string) {
	t.Helper()
	const isWhole = `document.documentElement.scrollWidth <= window.innerWidth && ` +
		`[...document.querySelectorAll("th, td, p, label, button, input:not([type=text])")].every((e) => e.scrollWidth <= e.clientWidth + 1)`
	for _, width := range []int64{390, 1280} {
		step(ctx, t, fmt.Sprintf("%s in %d pixels", what, width), chromedp.EmulateViewport(width, 900))
		if whole, err := chromedp.Run(ctx, chromedp.Evaluate[bool](isWhole)); err != nil || !whole {
			t.Errorf("%s is cut in a window of %d pixels (%v)", what, width, err)
		}
	}
}

// step does what a person does and waits for what they see. If that does not come, it says what the page shows.
func step(ctx context.Context, t *testing.T, name string, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	within, cancel := context.WithTimeout(ctx, 2*time.Minute) // a collector's start is the longest of them
	defer cancel()
	if err := chromedp.Do(within, actions...); err != nil {
		shows, _ := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("body")))
		t.Fatalf("%s: %v; the page shows:\n%s", name, err, shows)
	}
}
