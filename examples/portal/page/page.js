// The page of the portal. What comes from the server is set as text, never as HTML.
const namespace = new URLSearchParams(location.search).get("namespace");
const collectors = `/collectors/${encodeURIComponent(namespace)}`;
const at = (id) => document.getElementById(id);
const form = at("form");
const rows = new Map(); // by name

let source; // of the configuration of the collector in the form, if that is in a Secret

// call answers with what the portal answers, and shows a refusal beside the form.
async function call(method, path, body) {
  at("refusal").textContent = at("saved").textContent = "";
  try {
    const response = await fetch(path, { method, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return response;
  } catch (error) {
    at("refusal").textContent = error.message;
  }
}

function newRow(name) {
  const row = at("row").content.firstElementChild.cloneNode(true);
  row.querySelector(".about").href = `/about/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  row.querySelector(".edit").addEventListener("click", () => edit(name));
  row.querySelector(".delete").addEventListener("click", () => {
    if (confirm(`Delete the collector ${name}? It stops taking telemetry.`)) {
      call("DELETE", `${collectors}/${encodeURIComponent(name)}`);
    }
  });
  const next = [...rows.keys()].sort().find((other) => other > name);
  at("rows").insertBefore(row, rows.get(next) ?? null);
  rows.set(name, row);
  return row;
}

function show(collector) {
  const row = rows.get(collector.name) ?? newRow(collector.name);
  const set = (part, text) => { row.querySelector(`.${part}`).textContent = text; };
  set("name", collector.name);
  set("version", collector.version);
  set("tenant", collector.tenant);
  set("cluster", collector.cluster);
  set("ready", collector.reason || "Waiting");
  set("message", collector.message ?? "");
  row.dataset.ready = collector.ready;
  at("none").hidden = true;
}

function remove(name) {
  rows.get(name)?.remove();
  rows.delete(name);
  at("none").hidden = rows.size > 0;
}

async function edit(name) {
  const response = await call("GET", `${collectors}?configuration=true`);
  const collector = (await response?.json())?.find((other) => other.name === name);
  if (!collector) return;
  for (const field of form.elements) {
    if (field.name) field.value = collector[field.name] ?? "";
  }
  begin(`Change ${name}`, collector.configurationSecret);
  form.scrollIntoView();
}

// begin sets what the form does. Without a Secret that has the configuration, the form has it.
function begin(does, secret) {
  source = secret;
  at("does").textContent = does;
  form.elements.name.readOnly = does.startsWith("Change");
  form.elements.configuration.disabled = form.elements.configuration.parentElement.hidden = Boolean(source);
  at("elsewhere").hidden = !source;
  at("elsewhere").textContent = source ? `The configuration is key ${source.key} of Secret ${source.name}. Change it there.` : "";
}

form.addEventListener("reset", () => {
  at("refusal").textContent = at("saved").textContent = "";
  begin("Create a collector");
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, ...collector } = Object.fromEntries(new FormData(form));
  const body = { ...collector, configurationSecret: source };
  if (await call("PUT", `${collectors}/${encodeURIComponent(name)}`, body)) {
    at("saved").textContent = `Sent ${name}. Its row says when it serves, or why it does not.`;
    begin(`Change ${name}`, source);
  }
});

at("namespace").add(new Option(namespace, namespace, true, true));
at("namespace").addEventListener("change", ({ target }) => { location.search = new URLSearchParams({ namespace: target.value }); });
call("GET", "/namespaces").then((response) => response?.json()).then((names) => {
  if (names) at("namespace").replaceChildren(...names.map((name) => new Option(name, name, name === namespace, name === namespace)));
});

// The browser comes back by itself when the stream breaks, and gets the list again.
const stream = new EventSource(`${collectors}/events`);
stream.addEventListener("open", () => { at("connection").textContent = ""; });
stream.addEventListener("error", () => {
  const refused = stream.readyState === EventSource.CLOSED;
  at("connection").textContent = refused ? "(no live readiness)" : "(reconnecting)";
  if (refused) call("GET", collectors); // which says why
});
stream.addEventListener("list", (event) => {
  const list = JSON.parse(event.data);
  const names = new Set(list.map((collector) => collector.name));
  for (const name of rows.keys()) if (!names.has(name)) remove(name);
  list.forEach(show);
  at("none").hidden = list.length > 0;
});
stream.addEventListener("changed", (event) => show(JSON.parse(event.data)));
stream.addEventListener("deleted", (event) => remove(JSON.parse(event.data).name));
