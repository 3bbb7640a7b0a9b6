// The list of links: what each one does, and their order, by dragging and by keys.

import { ask, badge, confirmed, element, tell } from "./api.js";

const list = document.getElementById("links");
const figures = [["round trip", "rtt"], ["loss", "loss"], ["jitter", "jitter"], ["sent", "tx"], ["received", "rx"]];
let dragged = null;
let waiting = false; // for the answer to a new order

const bytes = (n) => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  for (; n >= 1000 && at < units.length - 1; at++) n /= 1000;
  return `${at === 0 ? n : n.toPrecision(3)} ${units[at]}`;
};
const milliseconds = (ms) => (ms === 0 ? "–" : `${ms.toPrecision(3)} ms`);

// names is the order that is shown.
const names = () => [...list.children].map((item) => item.dataset.name);

function fill(item) {
  const handle = element("button", "⠿", { type: "button", class: "handle quiet", "aria-label": `Move ${item.dataset.name}`, "aria-keyshortcuts": "ArrowUp ArrowDown" });
  const title = element("h3", item.dataset.name);
  const about = element("span", "", { class: "about note" });
  const state = element("span", undefined, { class: "state" });
  const values = element("dl");
  for (const [label, name] of figures) {
    const pair = element("div");
    pair.append(element("dt", label), element("dd", "–", { "data-figure": name }));
    values.append(pair);
  }
  const actions = element("p", undefined, { class: "actions" });
  const toggle = element("button", "Disable", { type: "button", class: "quiet small-button toggle" });
  const remove = element("button", "Delete", { type: "button", class: "quiet small-button remove", "aria-label": `Delete link ${item.dataset.name}` });
  actions.append(toggle, remove);
  const head = element("div", undefined, { class: "head" });
  head.append(handle, title, state, about);
  item.append(head, element("p", "", { class: "small reason" }), values, actions);

  handle.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(item, step);
    handle.focus();
  });
  handle.addEventListener("pointerdown", (event) => begin(event, item));
  toggle.addEventListener("click", () => change(item, "PATCH", { disabled: toggle.textContent === "Disable" }));
  remove.addEventListener("click", async () => {
    if (await confirmed(`Delete link ${item.dataset.name}?`, "It carries nothing from then on.")) change(item, "DELETE");
  });
}

async function change(item, method, body) {
  const fault = document.getElementById("trouble");
  try {
    await ask(method, `interfaces/${encodeURIComponent(item.dataset.name)}`, body);
    tell(method === "DELETE" ? `Deleted ${item.dataset.name}` : `Changed ${item.dataset.name}`);
    if (method === "DELETE") item.remove();
  } catch (error) {
    fault.textContent = error.message;
  }
}

// move moves an item by some places and stores the order.
function move(item, step) {
  const at = names().indexOf(item.dataset.name) + step;
  if (at < 0 || at >= list.children.length) {
    tell(`${item.dataset.name} is ${step < 0 ? "first" : "last"} already`);
    return;
  }
  if (step < 0) list.insertBefore(item, list.children[at]);
  else list.insertBefore(list.children[at], item);
  store(item);
}

async function store(item) {
  waiting = true;
  const order = names();
  const at = order.indexOf(item.dataset.name) + 1;
  try {
    await ask("PUT", "interfaces", { order });
    tell(`${item.dataset.name} is number ${at} of ${order.length}${at === 1 ? ", the primary" : ""}`);
  } catch (error) {
    document.getElementById("trouble").textContent = error.message;
  } finally {
    waiting = false;
  }
}

// begin follows the pointer, mouse or finger, until it lets go. It listens on the whole
// page: an item that is moved in the list loses what it had captured.
function begin(event, item) {
  if (event.button !== 0) return;
  event.preventDefault();
  const before = names();
  const over = new AbortController();
  const end = (ended) => {
    over.abort();
    item.classList.remove("dragged");
    dragged = null;
    if (ended.type !== "pointerup") { // given up
      list.append(...before.map((name) => [...list.children].find((other) => other.dataset.name === name)));
    } else if (names().join() !== before.join()) {
      store(item);
    }
    item.querySelector(".handle").focus();
  };
  const follow = (moved) => {
    if (moved.pointerId !== event.pointerId) return;
    for (const other of list.children) {
      const box = other.getBoundingClientRect();
      if (other === item || moved.clientY < box.top || moved.clientY > box.bottom) continue;
      const place = moved.clientY > box.top + box.height / 2 ? other.nextSibling : other;
      if (place !== item && place !== item.nextSibling) list.insertBefore(item, place);
      return;
    }
  };
  dragged = item;
  item.classList.add("dragged");
  document.addEventListener("pointermove", follow, { signal: over.signal });
  for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, end, { signal: over.signal });
  document.addEventListener("keydown", (key) => { if (key.key === "Escape") end(key); }, { signal: over.signal });
}

// show shows the links of a status.
export function show(links) {
  const known = new Map([...list.children].map((item) => [item.dataset.name, item]));
  for (const link of links) {
    let item = known.get(link.name);
    if (!item) {
      item = element("li", undefined, { class: "card link", "data-name": link.name });
      list.append(item);
    }
    if (!item.firstChild) fill(item);
    known.delete(link.name);
    draw(item, link);
  }
  for (const gone of known.values()) gone.remove();
  if (!dragged && !waiting && names().join() !== links.map(({ name }) => name).join()) {
    const focused = document.activeElement;
    list.append(...links.map(({ name }) => [...list.children].find((item) => item.dataset.name === name)));
    if (list.contains(focused)) focused.focus();
  }
  document.getElementById("no-links").hidden = links.length > 0;
  const select = document.getElementById("switch-link");
  if ([...select.options].map(({ value }) => value).join() !== links.map(({ name }) => name).join()) {
    const chosen = select.value;
    select.replaceChildren(...links.map(({ name }) => element("option", name)));
    if (links.some(({ name }) => name === chosen)) select.value = chosen;
  }
}

function draw(item, link) {
  const words = link.active ? `${link.state}, active` : link.state;
  const state = item.querySelector(".state");
  if (state.textContent !== words) state.replaceChildren(badge(link.state, words));
  item.classList.toggle("active", link.active);
  item.querySelector(".about").textContent = [link.role, link.kind, link.interface, link.endpoint, link.metered ? "metered" : ""].filter(Boolean).join(" · ");
  item.querySelector(".reason").textContent = link.reason;
  item.querySelector(".toggle").textContent = link.disabled ? "Enable" : "Disable";
  item.querySelector(".toggle").setAttribute("aria-label", `${link.disabled ? "Enable" : "Disable"} link ${link.name}`);
  const values = { rtt: milliseconds(link.rtt_ms), loss: `${(link.loss * 100).toFixed(1)} %`, jitter: milliseconds(link.jitter_ms), tx: bytes(link.tx_bytes), rx: bytes(link.rx_bytes) };
  for (const [name, value] of Object.entries(values)) item.querySelector(`[data-figure="${name}"]`).textContent = value;
}
