// The editor of a Collector as YAML: what changes is shown before it is saved.
import { at, call, path } from "/page/common.js";

const form = at("form");
const { manifest, namespace } = form.elements;
const save = form.querySelector("[value=save]");

let tag; // of the Collector that is edited; a new one has none
let reviewed; // the text whose difference is shown
let known = manifest.value; // the text that was opened, or that is saved

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

// open puts a Collector into the editor, and returns whether it did.
export async function open(address) {
  const response = await call("GET", address);
  if (!response) return false;
  tag = response.headers.get("ETag");
  manifest.value = await response.text();
  known = manifest.value;
  forget();
  return true;
}

// review shows what saving would change, or why the API server would refuse it.
export async function review(isSaved) {
  const text = manifest.value;
  at("saved").textContent = "";
  save.disabled = true; // until the answer is there
  const force = form.elements.force?.checked ?? false;
  const query = new URLSearchParams({ force, ...(isSaved ? {} : { dryRun: "All" }) });
  const response = await call("PUT", `${path("manifests", namespace.value)}?${query}`, text, tag ? { "If-Match": tag } : {});
  if (!response) {
    save.disabled = reviewed !== manifest.value;
    return;
  }
  const { name, difference, foreseen } = await response.json();
  if (isSaved) {
    tag = response.headers.get("ETag");
    known = text;
    forget();
    at("saved").textContent = `Sent ${name}. Its state says when it serves, or why it does not.`;
  } else if (text === manifest.value) {
    show(difference, foreseen);
    reviewed = text;
    save.disabled = difference === "";
  }
}

// edit has the form work. The browser asks before text is lost that is not saved.
export function edit() {
  form.addEventListener("input", forget);
  form.addEventListener("reset", () => {
    at("refusal").textContent = at("saved").textContent = "";
    tag = undefined;
    known = manifest.defaultValue;
    forget();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const isSaved = event.submitter?.value === "save" && reviewed === manifest.value;
    review(isSaved);
  });
  window.addEventListener("beforeunload", (event) => { if (manifest.value !== known) event.preventDefault(); });
}
