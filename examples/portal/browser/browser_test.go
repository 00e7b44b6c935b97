//go:build e2e

// Package browser goes through the portal's page as a person would, in a headless Chromium. The portal's own test and
// test/e2e start the portal and run this with PORTAL_URL, the address of a page. Its namespace has one Collector, "kept",
// whose configuration is key config.yaml of Secret kept. NAMESPACES has the namespaces that the page offers.
package browser

import (
	"cmp"
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
	manifest := chromedp.CSS("[name=manifest]")
	review, save := click("[value=review]"), click("[value=save]:enabled")

	row := func(name string) string { return `//tr[th/a[.="` + name + `"]]` }
	has := func(path string) chromedp.Action[chromedp.Void] { return chromedp.WaitVisible(chromedp.Search(path)) }
	hides := func(path string) chromedp.Action[chromedp.Void] {
		return chromedp.WaitNotVisible(chromedp.Search(path))
	}
	hasNot := func(path string) chromedp.Action[chromedp.Void] {
		return chromedp.WaitNotPresent(chromedp.Search(path))
	}
	says := func(id, text string) chromedp.Action[chromedp.Void] {
		return has(`//*[@id="` + id + `"][contains(., "` + text + `")]`)
	}
	// edited returns what the editor has, once it has that text.
	edited := func(text string) string {
		t.Helper()
		value, err := chromedp.Run(ctx, chromedp.PollFunction[string](`(text) => {
			const { value } = document.querySelector("[name=manifest]"); return value.includes(text) && value; }`, chromedp.WithPollingArgs(text)))
		if err != nil {
			t.Fatalf("the editor does not have %q: %v", text, err)
		}
		return value
	}

	step(ctx, t, "the page opens and has a row", chromedp.Navigate(address), has(row("kept")))
	for namespace := range strings.SplitSeq(os.Getenv("NAMESPACES"), ",") {
		step(ctx, t, "the page offers the namespace "+namespace, chromedp.WaitReady(chromedp.Search(`//*[@id="namespace"]/option[.="`+namespace+`"]`)))
	}
	template := edited("configurationText: |")
	head, rest, _ := strings.Cut(template, "configurationText")
	_, tail, _ := strings.Cut(rest, "  tenant:")
	asked := head + "configurationText: |\n      " + strings.ReplaceAll(strings.TrimSpace(configuration), "\n", "\n      ") + "\n  tenant:" + tail
	step(ctx, t, "what the API server has against the manifest is said", click("#create summary"),
		chromedp.SetValue(manifest, strings.Replace(asked, `"1042"`, `"a b"`, 1)), review, says("refusal", "spec.tenant.id: Invalid value"))
	isGood(ctx, t, "the list and a refusal")
	step(ctx, t, "the mended one is shown before it is saved", chromedp.SetValue(manifest, asked), review, says("difference", "+  name: gateway"))
	isGood(ctx, t, "the list and what a manifest changes")
	step(ctx, t, "saved, it makes a row", save, has(row("gateway")), says("saved", "Sent gateway."), hasNot(`//*[@id="refusal"][text()]`))
	step(ctx, t, "the collector becomes ready, and the row says so by itself", has(row("gateway")+`[@data-state="Ready"]//*[.="Available"]`), has(`//button[.="1 ready"]`))
	step(ctx, t, "New empties the form", click("[type=reset]"), chromedp.WaitNotVisible(chromedp.ID("difference")), hasNot(`//*[@id="saved"][text()]`))
	filter := chromedp.CSS("[name=text]")
	step(ctx, t, "the list is filtered by text", chromedp.SendKeys(filter, "GATEW"), hides(row("kept")), has(row("gateway")), says("none", "1 of 2 are shown."),
		chromedp.SendKeys(filter, "?"), hides(row("gateway")))
	step(ctx, t, "by tenant and cluster", chromedp.Reload(), has(row("gateway")+`[@data-state="Ready"]`),
		chromedp.SetValue(chromedp.CSS("select[name=tenant]"), "acme"), chromedp.SetValue(chromedp.CSS("select[name=cluster]"), "prod-eu-1"), has(row("gateway")))
	step(ctx, t, "and by state", click("[value='Not ready']"), hides(row("gateway")), click("[value='Not ready']"), has(row("gateway")))

	inMenu := func(name, item string) []chromedp.Action[chromedp.Void] {
		return []chromedp.Action[chromedp.Void]{
			click(row(name) + `//summary`), click(row(name) + `//*[.="` + item + `"]`),
		}
	}
	open := func(tab string) chromedp.Action[chromedp.Void] {
		return click(`//nav/a[.="` + tab + `"]`)
	}
	step(ctx, t, "the row leads to the editor", append(inMenu("gateway", "Configuration"), has(`//h1[.="gateway"]`), chromedp.WaitVisible(manifest))...)
	if text := edited("configurationText"); !strings.Contains(text, strings.ReplaceAll(strings.TrimSpace(configuration), "\n", "\n      ")) {
		t.Errorf("the editor has another configuration:\n%s", text)
	}
	step(ctx, t, "below what is known of the collector", has(`//*[@id="state"][@data-state="Ready"][contains(., "Available for")]`))
	step(ctx, t, "any field is changed, and the difference shown first",
		chromedp.SetValue(manifest, strings.Replace(edited("spec:"), "spec:\n", "spec:\n  terminationGracePeriodSeconds: 7\n", 1)), review,
		says("difference", "+  terminationGracePeriodSeconds: 7"))
	isTrue(ctx, t, "a double click saves once", `(() => { const save = document.querySelector("[value=save]"); save.click(); const isOnce = save.disabled; save.click(); return isOnce; })()`)
	step(ctx, t, "and it is saved", says("saved", "Sent gateway."), hasNot(`//*[@id="refusal"][text()]`))
	isTrue(ctx, t, "unsaved text is not lost without a question", `(() => {
		const { manifest } = document.getElementById("form").elements, saved = manifest.value;
		const asks = () => !window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
		const before = asks();
		manifest.value += "# unsaved";
		const after = asks();
		manifest.value = saved;
		return !before && after; })()`)
	changed := `//tr[th[.="spec.terminationGracePeriodSeconds"]]`
	step(ctx, t, "the history says what changed", open("History"), has(changed+`/td[.="7"]`), has(`//*[@id="state"][@data-state="Ready"]`))
	isTrue(ctx, t, "however many changes there are, one page is fetched at a time", `(async () => {
		const { fetch } = window; let running = 0, most = 0, all = 0;
		window.fetch = async (...what) => {
			if (!what[0].startsWith(location.pathname)) return fetch(...what);
			all++; most = Math.max(most, ++running);
			try { return await fetch(...what); } finally { running--; }
		};
		for (let i = 0; i < 5; i++) for (const stream of window.streams) stream.dispatchEvent(new MessageEvent("changed", { data: '{"name": "gateway"}' }));
		while (all < 1 || running) await new Promise((done) => setTimeout(done, 50));
		window.fetch = fetch;
		return most === 1; })()`)
	isGood(ctx, t, "the history of a collector")
	step(ctx, t, "logs have a page", open("Logs"), chromedp.WaitVisible(chromedp.ID("logs")))
	step(ctx, t, "what was before comes back", open("History"), click("#back"), says("difference", "-  terminationGracePeriodSeconds: 7"))
	isGood(ctx, t, "the configuration of a collector")
	step(ctx, t, "and is saved", save, says("saved", "Sent gateway."), open("History"), has(changed+`/td[.="7"]/following-sibling::td[.="–"]`))
	step(ctx, t, "the overview has the conditions", open("Overview"), has(`//tr[th[.="Ready"]]/td[.="Available"]`), click("header summary"))
	isGood(ctx, t, "a collector with its menu")

	step(ctx, t, "back to the list", click("header a"), has(row("kept")))
	step(ctx, t, "a collector that is not ready says why in the list", has(row("kept")+`[@data-state="Not ready"]/td[@class="cause"][text()]`),
		click(row("kept")+`//summary`))
	isGood(ctx, t, "the list with a menu")
	step(ctx, t, "and on its page what to do", click("[href$='/kept']"), has(`//*[@id="state"][@data-state="Not ready"]`), has(`//dt[.="What to do"]`))
	isGood(ctx, t, "a collector that is not ready")
	step(ctx, t, "it has an editor, too", open("Configuration"), chromedp.WaitVisible(manifest))
	text := edited("configurationSecret:\n      key: config.yaml\n      name: kept\n")
	step(ctx, t, "a collector whose configuration is in a Secret is changed, too",
		chromedp.SetValue(manifest, strings.Replace(text, "prod-eu-1", "prod-eu-2", 1)), review, says("difference", "+  cluster: prod-eu-2"),
		save, says("saved", "Sent kept."), click("header a"), has(row("kept")+`//*[contains(., "prod-eu-2")]`))
	isTrue(ctx, t, "the question before a deletion names the tool that would undo it", `(() => {
		const says = (keeper) => {
			const { namespace } = document.getElementById("form").elements;
			const data = JSON.stringify({ namespace: namespace.value, name: "kept", version: "1", tenant: "acme", cluster: "c", state: "Not ready", since: "2026-01-01T00:00:00Z", keeper });
			for (const stream of window.streams) stream.dispatchEvent(new MessageEvent("changed", { data }));
		};
		const ask = window.confirm;
		let asked;
		window.confirm = (question) => { asked = question; return false; };
		says("application shop of Argo CD");
		document.querySelector("[data-keeper^=application] .delete").click();
		window.confirm = ask;
		says();
		return asked.includes("application shop of Argo CD manages it"); })()`)
	step(ctx, t, "deleted, a row goes", append(inMenu("gateway", "Delete…"), hasNot(row("gateway")))...)
	step(ctx, t, "and the last one", append(inMenu("kept", "Delete…"), says("none", "There are none yet."))...)

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

// browser starts a browser that is new. It answers the page's questions with yes.
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
	keep := page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.streams = [];
		window.EventSource = class extends EventSource { constructor(...what) { super(...what); window.streams.push(this); } };`}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, keep); err != nil {
		t.Fatal(err)
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

// click clicks on the element of a CSS selector or of an XPath once it is visible and nothing covers it. It looks and clicks in one
// task of the page: between two of them the page may show that part anew, or move it.
func click(path string) chromedp.Action[chromedp.Void] {
	script := fmt.Sprintf(`((path) => {
		const isXPath = path.startsWith("/");
		const found = isXPath ? document.evaluate(path, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue : document.querySelector(path);
		found?.scrollIntoView({ block: "nearest", behavior: "instant" });
		const { left, top, width, height } = found?.getClientRects()[0] ?? {};
		const isClicked = Boolean(width) && found.contains(document.elementFromPoint(left + width / 2, top + height / 2));
		if (isClicked) found.click();
		return isClicked; })(%q)`, path)
	return chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		for {
			isClicked, err := chromedp.Evaluate[bool](script)(ctx, page)
			if isClicked {
				return nil
			}
			select { // an error can be of a document that another one replaces
			case <-ctx.Done():
				return fmt.Errorf("cannot click on %s: %w", path, cmp.Or(err, ctx.Err()))
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}

// isTrue does what a person would have to be quick for, and demands that it ends well.
func isTrue(ctx context.Context, t *testing.T, name, script string) {
	t.Helper()
	within, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if ends, err := chromedp.Run(within, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil || !ends {
		t.Errorf("%s: it does not (%v)", name, err)
	}
}
