// The page of one Collector: its state follows the cluster.
import { at, path, remove, tellAges } from "/page/common.js";

const { namespace, name, keeper, tab } = document.body.dataset;
const live = ["state", "live"]; // the parts that the cluster changes
const known = new Map(live.map((part) => [part, at(part)?.outerHTML])); // as the server writes them

tellAges();
at("delete").addEventListener("click", () => remove({ namespace, name, keeper }));
if (tab === "configuration") {
  const { edit, open, review } = await import("/page/editor.js");
  edit();
  const isBack = new URLSearchParams(location.search).has("before");
  if (isBack) history.replaceState(null, "", "?tab=configuration"); // once it is saved, that is no longer what was before
  if (await open(`${path("manifests", namespace, name)}${isBack ? "?before=true" : ""}`) && isBack) review(false);
}
if (tab === "logs") at("logs").scrollTop = at("logs").scrollHeight;

let refreshing = false;
let isOld = false; // the page that is fetched

// refresh takes the parts that the cluster changes from the page as it is now. However often that is, it fetches one page at a time.
async function refresh() {
  isOld = true;
  if (refreshing) return;
  refreshing = true;
  try {
    while (isOld) {
      isOld = false;
      const shown = at("live") ? tab : "configuration"; // which reads the least
      const response = await fetch(`${location.pathname}?tab=${shown}`);
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const part of live) { // a part that is the same stays, so that a click on it is not lost
        const now = page.getElementById(part);
        if (now?.outerHTML === known.get(part)) continue;
        known.set(part, now.outerHTML);
        at(part)?.replaceWith(document.adoptNode(now));
      }
      tellAges();
    }
  } finally {
    refreshing = false;
  }
}

const stream = new EventSource(path("collectors", namespace, "events"));
stream.addEventListener("list", refresh); // it may have changed since the page was made, or while the stream was broken
stream.addEventListener("changed", (event) => { if (JSON.parse(event.data).name === name) refresh(); });
stream.addEventListener("deleted", (event) => { if (JSON.parse(event.data).name === name) location.assign(`/?namespace=${encodeURIComponent(namespace)}`); });
