// The clients of a server: added, enabled, disabled and deleted.

import { ask, badge, confirmed, element, submitted, tell } from "./api.js";

const body = document.querySelector("#clients tbody");
const fault = document.getElementById("client-fault");
const dialog = document.getElementById("provision");
const text = document.getElementById("provision-text");
let name = "client";

submitted(document.getElementById("add-client"), async (data) => {
  const made = await ask("POST", "tunnel/client/add", {
    name: data.get("name").trim(),
    public_key: data.get("key").trim() || null,
    addresses: data.get("address").trim() ? [data.get("address").trim()] : [],
  });
  document.getElementById("add-client").reset();
  name = made.name;
  text.value = JSON.stringify({ ...made, server: location.origin }, null, 2);
  tell(`Added client ${name}`);
  dialog.showModal();
  text.setSelectionRange(0, 0);
  text.scrollTop = 0;
});

document.getElementById("provision-close")?.addEventListener("click", () => dialog.close());
dialog?.addEventListener("close", () => { text.value = ""; });

document.getElementById("download")?.addEventListener("click", () => {
  const link = element("a", undefined, { download: `${name}.json`, href: URL.createObjectURL(new Blob([text.value], { type: "application/json" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

async function act(method, path, client, words) {
  fault.textContent = "";
  try {
    await ask(method, `tunnel/client/${path}`, { public_key: client.public_key });
    tell(`${words} ${client.name}`);
  } catch (error) {
    fault.textContent = error.message;
  }
}

function row(client) {
  const made = element("tr", undefined, { "data-key": client.public_key });
  const head = element("th", client.name, { scope: "row" });
  const state = element("td", undefined, { "data-label": "State", class: "client-state" });
  const toggle = element("button", "", { type: "button", class: "quiet small-button toggle" });
  const remove = element("button", "Delete", { type: "button", class: "quiet small-button", "aria-label": `Delete client ${client.name}` });
  toggle.addEventListener("click", () => {
    const enable = toggle.dataset.enable === "true";
    act("PUT", enable ? "enable" : "disable", client, enable ? "Enabled" : "Disabled");
  });
  remove.addEventListener("click", async () => {
    if (await confirmed(`Delete client ${client.name}?`, "Its keys are forgotten, and it is cut off at once.")) act("DELETE", "delete", client, "Deleted");
  });
  const actions = element("td", undefined, { class: "row-actions" });
  actions.append(toggle, remove);
  made.append(head, element("td", client.addresses.join(", "), { "data-label": "Addresses" }), state,
    element("td", "", { "data-label": "Handshake", class: "handshake" }), element("td", "", { "data-label": "Failovers", class: "number failovers" }), actions);
  return made;
}

// show shows the clients of a status.
export function show(clients) {
  const known = new Map([...body.children].map((made) => [made.dataset.key, made]));
  clients.forEach((client, at) => {
    const made = known.get(client.public_key) ?? row(client);
    known.delete(client.public_key);
    if (body.children[at] !== made) body.insertBefore(made, body.children[at] ?? null);
    const words = !client.enabled ? "disabled" : client.connected ? `connected by ${client.active_link || "no link"}` : "not connected";
    const state = made.querySelector(".client-state");
    if (state.textContent !== words) state.replaceChildren(badge(!client.enabled ? "disabled" : client.connected ? "up" : "down", words));
    made.querySelector(".handshake").textContent = client.last_handshake ? new Date(client.last_handshake).toLocaleTimeString() : "never";
    made.querySelector(".failovers").textContent = client.counters.failovers;
    const toggle = made.querySelector(".toggle");
    const label = client.enabled ? "Disable" : "Enable";
    if (toggle.textContent !== label) {
      toggle.textContent = label;
      toggle.dataset.enable = String(!client.enabled);
      toggle.setAttribute("aria-label", `${label} client ${client.name}`);
    }
  });
  for (const gone of known.values()) gone.remove();
  document.getElementById("no-clients").hidden = clients.length > 0;
}
