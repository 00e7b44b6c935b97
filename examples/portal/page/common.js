// What the pages share. What comes from the server is set as text, never as HTML.
export const at = (id) => document.getElementById(id);

// path returns an address of the portal.
export const path = (...parts) => `/${parts.map(encodeURIComponent).join("/")}`;

// call answers with what the portal answers, and shows a refusal.
export async function call(method, address, body, headers = {}) {
  at("refusal").textContent = "";
  try {
    const response = await fetch(address, { method, body, headers });
    if (!response.ok) throw new Error(await response.text());
    return response;
  } catch (error) {
    at("refusal").textContent = error.message;
    at("refusal").scrollIntoView({ block: "nearest" });
  }
}

// remove deletes a Collector if the user confirms it.
export function remove({ namespace, name, keeper }) {
  const warning = keeper ? ` ${keeper} manages it and would create it again: delete it in git instead.` : "";
  if (confirm(`Delete the collector ${name}? It stops taking telemetry.${warning}`)) {
    call("DELETE", `${path("collectors", namespace, name)}?force=${Boolean(keeper)}`);
  }
}

// age says how long ago a time is, as kubectl does.
function age(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  const [length, unit] = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]].find(([length]) => seconds >= 2 * length) ?? [1, "s"];
  return `${Math.floor(seconds / length)}${unit}`;
}

// tellAges writes how long ago each time below an element is.
export function tellAges(below = document) {
  for (const time of below.querySelectorAll("time")) {
    time.textContent = age(time.dateTime);
    time.title = new Date(time.dateTime).toLocaleString();
  }
}
setInterval(tellAges, 10000);
