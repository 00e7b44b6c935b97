// The list of Collectors. What comes from the server is set as text, never as HTML.
import { call, edit } from "/page/editor.js";

const namespace = new URLSearchParams(location.search).get("namespace");
const collectors = `/collectors/${encodeURIComponent(namespace)}`;
const at = (id) => document.getElementById(id);
const filter = at("filter").elements;
const rows = new Map(); // by name

function newRow(name) {
  const row = at("row").content.firstElementChild.cloneNode(true);
  const about = `/about/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  row.querySelector(".name").href = about;
  row.querySelector(".edit").href = `${about}#edit`;
  for (const part of ["edit", "delete"]) row.querySelector(`.${part}`).setAttribute("aria-label", `${part} ${name}`);
  row.querySelector(".delete").addEventListener("click", () => {
    const { keeper } = row.dataset;
    const warning = keeper ? ` ${keeper} manages it and would create it again: better delete it in git.` : "";
    if (confirm(`Delete the collector ${name}? It stops taking telemetry.${warning}`)) {
      call("DELETE", `${collectors}/${encodeURIComponent(name)}?force=${keeper !== ""}`);
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
  row.dataset.keeper = collector.keeper ?? "";
  for (const part of ["tenant", "cluster"]) {
    const known = [...filter[part].options].some((option) => option.value === collector[part]);
    if (!known) filter[part].add(new Option(collector[part], collector[part]));
  }
  sift();
}

function remove(name) {
  rows.get(name)?.remove();
  rows.delete(name);
  sift();
}

// sift hides the rows that nobody asked for.
function sift() {
  const is = (row, part) => !filter[part].value || row.querySelector(`.${part}`).textContent === filter[part].value;
  let shown = 0;
  for (const row of rows.values()) {
    row.hidden = !(is(row, "tenant") && is(row, "cluster") && (!filter.unready.checked || row.dataset.ready !== "True") &&
      row.textContent.toLowerCase().includes(filter.text.value.trim().toLowerCase()));
    shown += row.hidden ? 0 : 1;
  }
  at("none").hidden = shown > 0 && shown === rows.size;
  at("none").textContent = rows.size ? `${shown} of ${rows.size} are shown.` : "There are none yet.";
}

at("filter").addEventListener("input", sift);
at("filter").addEventListener("submit", (event) => event.preventDefault());
edit(namespace);

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
  sift();
});
stream.addEventListener("changed", (event) => show(JSON.parse(event.data)));
stream.addEventListener("deleted", (event) => remove(JSON.parse(event.data).name));
