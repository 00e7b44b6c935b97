// The editor of a Collector as YAML: what changes is shown before it is saved. What comes from the server is set as text, never as HTML.
const at = (id) => document.getElementById(id);
const form = at("form");

let tag; // of the Collector that is edited; a new one has none
let reviewed; // the text whose difference is shown
let known; // the text that somebody opened, or has saved
const save = form.querySelector("[value=save]");

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

function show(difference, foreseen) {
  const lines = difference.trimEnd().split("\n").slice(2).map((text) => {
    const line = document.createElement("span");
    line.textContent = `${text}\n`;
    line.className = { "+": "added", "-": "removed" }[text[0]] ?? "";
    return line;
  });
  at("difference").replaceChildren(...(difference ? lines : ["Nothing changes."]), ...(foreseen ?? []).map((text) => `\n${text}.`));
  at("difference").hidden = false;
}

// forget has the difference shown again before the text can be saved.
function forget() {
  reviewed = undefined;
  at("difference").hidden = true;
  save.disabled = true;
}

// open puts a Collector into the editor, and returns whether it did. It asks before text is lost that nobody has saved.
export async function open(path) {
  const isUnsaved = !form.hidden && form.elements.manifest.value !== known;
  if (isUnsaved && !confirm("What you wrote is not saved. Open it again without that?")) return false;
  const response = await call("GET", path);
  if (!response) return false;
  const text = await response.text();
  form.hidden = false;
  tag = response.headers.get("ETag");
  form.elements.manifest.value = text;
  known = form.elements.manifest.value;
  forget();
  form.elements.manifest.focus();
  return true;
}

// review shows what saving would change, or why the API server would refuse it.
export async function review(namespace, isSaved) {
  const text = form.elements.manifest.value;
  save.disabled = true; // until the answer is there
  const force = form.elements.force?.checked ?? false;
  const query = new URLSearchParams({ force, ...(isSaved ? {} : { dryRun: "All" }) });
  const response = await call("PUT", `/manifests/${encodeURIComponent(namespace)}?${query}`, text, tag ? { "If-Match": tag } : {});
  if (!response) {
    save.disabled = reviewed !== form.elements.manifest.value;
    return;
  }
  const { name, difference, foreseen } = await response.json();
  if (isSaved) {
    tag = response.headers.get("ETag");
    known = text;
    forget();
    at("saved").textContent = `Sent ${name}. Its state says when it serves, or why it does not.`;
  } else if (text === form.elements.manifest.value) {
    show(difference, foreseen);
    reviewed = text;
    save.disabled = difference === "";
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
