// The page of one Collector: its state follows the cluster, and its manifest and logs are fetched when somebody asks for them.
import { call, edit, open, review } from "/page/editor.js";

const { namespace, name } = document.body.dataset;
const at = (id) => document.getElementById(id);
const path = (what) => `/${what}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

edit(namespace);
at("edit").addEventListener("click", () => open(path("manifests")));
at("back").addEventListener("click", async () => {
  if (await open(`${path("manifests")}?before=true`)) review(namespace, false);
});
at("tail").addEventListener("click", async () => {
  const response = await call("GET", path("logs"));
  if (!response) return;
  at("logs").textContent = await response.text() || "It has no pods.";
  at("logs").hidden = false;
  at("logs").scrollTop = at("logs").scrollHeight;
});
if (location.hash === "#edit") open(path("manifests"));

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
      const response = await fetch(location.pathname);
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const part of ["state", "history"]) at(part).replaceWith(document.adoptNode(page.getElementById(part)));
    }
  } finally {
    refreshing = false;
  }
}

const stream = new EventSource(`/collectors/${encodeURIComponent(namespace)}/events`);
stream.addEventListener("changed", (event) => { if (JSON.parse(event.data).name === name) refresh(); });
stream.addEventListener("deleted", (event) => { if (JSON.parse(event.data).name === name) location.assign(`/?namespace=${encodeURIComponent(namespace)}`); });
