// The editor of a Collector as YAML: what changes is shown before it is saved. What comes from the server is set as text, never as HTML.
const at = (id) => document.getElementById(id);
const form = at("form");

let tag; // of the Collector that is edited; a new one has none
let reviewed; // the text whose difference is shown

// call answers with what the portal answers, and shows a refusal.
export async function call(method, path, body, headers = {}) {
  at("refusal").textContent = at("saved").textContent = "";
  try {
    const response = await fetch(path, { method, body, headers });
    if (!response.ok) throw new Error(await response.text());
    return response;
  } catch (error) {
    at("refusal").textContent = error.message;
  }
}

function show(difference) {
  const lines = difference.trimEnd().split("\n").slice(2).map((text) => {
    const line = document.createElement("span");
    line.textContent = `${text}\n`;
    line.className = { "+": "added", "-": "removed" }[text[0]] ?? "";
    return line;
  });
  at("difference").replaceChildren(...(difference ? lines : ["Nothing changes."]));
  at("difference").hidden = false;
}

// forget has the difference shown again before the text can be saved.
function forget() {
  reviewed = undefined;
  at("difference").hidden = true;
  form.querySelector("[value=save]").disabled = true;
}

// open puts a Collector into the editor.
export async function open(path) {
  const response = await call("GET", path);
  if (!response) return;
  form.hidden = false;
  tag = response.headers.get("ETag");
  form.elements.manifest.value = await response.text();
  forget();
  form.elements.manifest.focus();
}

// review shows what saving would change, or why the API server would refuse it.
export async function review(namespace, isSaved) {
  const text = form.elements.manifest.value;
  const force = form.elements.force?.checked ?? false;
  const query = new URLSearchParams({ force, ...(isSaved ? {} : { dryRun: "All" }) });
  const response = await call("PUT", `/manifests/${encodeURIComponent(namespace)}?${query}`, text, tag ? { "If-Match": tag } : {});
  if (!response) return;
  const { name, difference } = await response.json();
  if (isSaved) {
    tag = response.headers.get("ETag");
    forget();
    at("saved").textContent = `Sent ${name}. Its state says when it serves, or why it does not.`;
  } else if (text === form.elements.manifest.value) {
    show(difference);
    reviewed = text;
    form.querySelector("[value=save]").disabled = difference === "";
  }
}

// edit has the form work on Collectors of a namespace.
export function edit(namespace) {
  form.addEventListener("input", forget);
  form.addEventListener("reset", () => {
    at("refusal").textContent = at("saved").textContent = "";
    tag = undefined;
    forget();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const isSaved = event.submitter?.value === "save" && reviewed === form.elements.manifest.value;
    review(namespace, isSaved);
  });
}
