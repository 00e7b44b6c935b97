// The list of Collectors.
import { at, call, path, remove, tellAges } from "/page/common.js";
import { edit } from "/page/editor.js";

const namespaces = new URLSearchParams(location.search).get("namespace"); // one, or several that are separated by commas
const collectors = `/collectors/${encodeURIComponent(namespaces)}`;
const isOne = !namespaces.includes(",");
const filter = at("filter").elements;
const counts = [...at("counts").children];
const rows = new Map(); // by keyOf
const keyOf = ({ namespace, name }) => `${namespace}/${name}`;

function newRow(collector) {
  const row = at("row").content.firstElementChild.cloneNode(true);
  const about = path("about", collector.namespace, collector.name);
  row.querySelector(".name").href = about;
  row.querySelector(".edit").href = `${about}?tab=configuration`;
  row.querySelector("summary").setAttribute("aria-label", `More about ${collector.name}`);
  row.querySelector(".delete").addEventListener("click", () => remove({ ...collector, keeper: row.dataset.keeper }));
  const next = [...rows.keys()].sort().find((other) => other > keyOf(collector));
  at("rows").insertBefore(row, rows.get(next) ?? null);
  rows.set(keyOf(collector), row);
  return row;
}

function show(collector) {
  const row = rows.get(keyOf(collector)) ?? newRow(collector);
  const { name, state, version, tenant, cluster, since, message = "", cause = "", keeper = "" } = collector;
  const places = [isOne ? "" : collector.namespace, tenant, cluster].filter(Boolean);
  const told = { name, state, reason: collector.reason || "Waiting for the operator", cause, version };
  for (const [part, text] of Object.entries(told)) row.querySelector(`.${part}`).textContent = text;
  row.querySelector(".place").replaceChildren(...places.map((place, i) => {
    const span = document.createElement("span");
    span.textContent = i < places.length - 1 ? `${place},\u00a0` : place;
    return span;
  }));
  row.querySelector("time").dateTime = since;
  tellAges(row);
  Object.assign(row.dataset, { state, tenant, cluster, keeper, text: [...Object.values(told), ...places, message].join(" ").toLowerCase() });
  for (const part of ["tenant", "cluster"]) {
    const known = [...filter[part].options].some((option) => option.value === collector[part]);
    if (!known) filter[part].add(new Option(collector[part], collector[part]));
  }
}

function drop(key) {
  rows.get(key)?.remove();
  rows.delete(key);
}

// sift hides the rows that the filter leaves out, and counts those of the tenant.
function sift() {
  const is = (row, part) => !filter[part].value || row.dataset[part] === filter[part].value;
  const state = counts.find((count) => count.ariaPressed === "true")?.value ?? "";
  const text = filter.text.value.trim().toLowerCase();
  const ofTenant = [...rows.values()].filter((row) => is(row, "tenant"));
  let shown = 0;
  for (const row of rows.values()) {
    row.hidden = !(is(row, "tenant") && is(row, "cluster") && (!state || row.dataset.state === state) && row.dataset.text.includes(text));
    shown += row.hidden ? 0 : 1;
  }
  for (const count of counts) {
    const several = ofTenant.filter((row) => row.dataset.state === count.value).length;
    count.textContent = `${several} ${count.value.toLowerCase()}`;
    count.hidden = count.value === "Paused" && several === 0 && count.value !== state;
  }
  const tenants = [...new Set(ofTenant.map((row) => row.dataset.tenant))];
  at("tenant").textContent = document.title = ["Collectors", ...tenants.slice(0, 1).map((only) => ` of ${tenants.length > 1 ? `${tenants.length} tenants` : only}`)].join("");
  at("none").hidden = shown > 0 && shown === rows.size;
  at("none").textContent = rows.size ? `${shown} of ${rows.size} are shown.` : "There are none yet.";
}

at("filter").addEventListener("input", sift);
at("filter").addEventListener("submit", (event) => event.preventDefault());
at("counts").addEventListener("click", ({ target }) => {
  for (const count of counts) count.ariaPressed = String(count === target && count.ariaPressed !== "true");
  sift();
});
edit();

// The page offers each namespace that the account may see and, if there are several, all of them.
function offer(names) {
  const all = names.join(",");
  const choices = new Map([...names, namespaces].map((name) => [name, name]));
  if (names.length > 1) choices.set(all, `all ${names.length} namespaces`);
  at("namespace").replaceChildren(...[...choices].map(([value, text]) => new Option(text, value, value === namespaces, value === namespaces)));
}
offer([]);
at("form").elements.namespace.replaceChildren(...namespaces.split(",").map((name) => new Option(name, name)));
at("into").hidden = isOne;
at("namespace").addEventListener("change", ({ target }) => { location.search = new URLSearchParams({ namespace: target.value }); });
call("GET", "/namespaces").then((response) => response?.json()).then((names) => { if (names) offer(names); });

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
  const keys = new Set(list.map(keyOf));
  for (const key of [...rows.keys()]) if (!keys.has(key)) drop(key);
  list.forEach(show);
  sift();
  if (list.length === 0) at("create").open = true;
});
stream.addEventListener("changed", (event) => { show(JSON.parse(event.data)); sift(); });
stream.addEventListener("deleted", (event) => { drop(keyOf(JSON.parse(event.data))); sift(); });
