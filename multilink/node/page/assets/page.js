// Keeps the page of an instance up to date.

import "./copy.js";
import { followHistory } from "./history.js";
import * as order from "./order.js";
import { poll, request, setTime, showTimes } from "./shell.js";

const root = document.getElementById("main").dataset.root;
const words = { suspect: "late", probing: "heard again" };

for (const element of document.querySelectorAll(".scripted")) element.hidden = false;

function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

const field = (within, name) => within.querySelector(`[data-field="${name}"]`);

// threeDigits writes a number with three digits, or with those before its point.
const threeDigits = (n) => n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0);

function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  for (; n >= 1000 && at < units.length - 1; at++) n /= 1000;
  return `${at === 0 ? n : threeDigits(n)} ${units[at]}`;
}

const pathMTU = (length) => (length === 0 ? "–" : `${length} B`);
const milliseconds = (ms) => (ms === 0 ? "–" : `${threeDigits(ms)} ms`);

// rowsOf has the shown items by name. Where others are there than the server has, the page
// is loaded again.
function rowsOf(selector, all) {
  const rows = new Map([...document.querySelectorAll(selector)].map((row) => [row.dataset.name, row]));
  if (rows.size !== all.length || all.some(({ name }) => !rows.has(name))) location.reload();
  return rows;
}

function showLinks(links, turn) {
  const rows = rowsOf("#link-list > li", links);
  for (const link of links) {
    const row = rows.get(link.name);
    if (!row) continue;
    row.querySelector(".badge").dataset.state = link.state;
    row.classList.toggle("active", link.active);
    write(field(row, "state"), (words[link.state] ?? link.state) + (link.active ? ", active" : ""));
    write(field(row, "reason"), link.reason);
    write(row.querySelector(".about"), [link.role, link.kind, link.interface, link.endpoint, link.metered ? "metered" : ""].filter(Boolean).join(" · "));
    const figures = { rtt: milliseconds(link.rtt_ms), loss: `${(link.loss * 100).toFixed(1)} %`, jitter: milliseconds(link.jitter_ms), path: pathMTU(link.path_mtu), tx: bytes(link.tx_bytes), rx: bytes(link.rx_bytes) };
    for (const [name, text] of Object.entries(figures)) write(field(row, name), text);
    const toggle = field(row, "toggle");
    if (!toggle) continue;
    const label = link.disabled ? "Enable" : "Disable";
    toggle.action = `${root}links/${encodeURIComponent(link.name)}/${label.toLowerCase()}`;
    write(toggle.firstElementChild, label);
    toggle.firstElementChild.setAttribute("aria-label", `${label} link ${link.name}`);
  }
  if (links.length > 0 && rows.size === links.length) order.show(links.map(({ name }) => name), turn);
}

function showClients(clients) {
  const rows = rowsOf("#client-list tbody tr", clients);
  for (const client of clients) {
    const row = rows.get(client.name);
    if (!row) continue;
    if ((row.querySelector(".badge").dataset.state === "disabled") === client.enabled) location.reload(); // its buttons are others
    row.querySelector(".badge").dataset.state = !client.enabled ? "disabled" : client.connected ? "up" : "down";
    write(field(row, "state"), !client.enabled ? "disabled" : client.connected ? `connected by ${client.active || "no link"}` : "not connected");
    write(field(row, "conflict"), client.conflict);
    write(field(row, "failovers"), String(client.failovers));
    write(field(row, "refused"), String(client.refused));
    if (client.handshake) setTime(row.querySelector("time"), new Date(client.handshake));
  }
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// showEvents adds what has happened since. A line that grows keeps its place, and stays open.
function showEvents(events) {
  const list = document.getElementById("event-list");
  const known = new Map([...list.children].map((item) => [item.dataset.id, item]));
  for (const event of [...events].reverse()) {
    let item = known.get(event.id);
    known.delete(event.id);
    if (!item) {
      item = element("li", "", { "data-id": event.id, "data-state": event.state ?? "" });
      const summary = element("summary", "");
      const what = element("span", "", { class: "what" });
      what.append(element("span", "", { "data-field": "text" }), ...(event.peer ? [" ", element("span", event.peer, { class: "note" })] : []));
      summary.append(element("span", "", { class: "dot", "aria-hidden": "true" }), element("time", ""), " ", what, " ", element("span", "", { class: "times", "data-field": "span" }));
      const details = document.createElement("details");
      details.append(summary, document.createElement("ol"));
      item.append(details);
      list.prepend(item);
    }
    const stamp = `${event.times} ${event.last}`;
    if (item.dataset.stamp === stamp) continue;
    item.dataset.stamp = stamp;
    item.dataset.state = event.state ?? "";
    setTime(item.querySelector("summary time"), new Date(event.first));
    write(field(item, "text"), event.text);
    write(field(item, "span"), event.span);
    item.querySelector("ol").replaceChildren(...event.events.map(({ time, reason }) => {
      const one = document.createElement("li");
      one.append(element("time", "", { datetime: time }), ` ${reason}`);
      return one;
    }));
    showTimes(item);
  }
  for (const gone of known.values()) gone.remove();
  list.hidden = events.length === 0;
  document.getElementById("no-events").hidden = events.length > 0;
}

poll(1000, async () => {
  const turn = order.turn();
  const state = await (await request(`${root}state${location.search}`)).json();
  const server = state.role === "server";
  write(document.getElementById("trouble"), state.fault);
  write(document.getElementById("carrier"), state.carrier || "no link");
  write(document.getElementById("connected"), server ? `${state.connected} of ${state.known}` : state.connected ? "connected" : "not connected");
  write(document.getElementById("failovers"), String(state.failovers));
  write(document.getElementById("addresses"), state.addresses || "none yet");
  showLinks(state.links, turn);
  if (server) showClients(state.clients);
  else showAttachment(state);
  showEvents(state.events);
});

function showAttachment(state) {
  write(document.getElementById("attached"), state.attached || "Not attached");
  const list = document.getElementById("unpaired");
  if ([...list.children].map((item) => item.textContent).join() !== state.unpaired.join()) list.replaceChildren(...state.unpaired.map((text) => element("li", text)));
  if (state.canDetach !== (document.querySelector('form[action$="/detach"]') !== null) && document.querySelector('a[href$="attach"]')) location.reload();
}

// The curve of a link keeps its colour when the order changes.
function curvesOf(name, scale = 1) {
  return (series) => Object.keys(series).filter((key) => key.endsWith(`/${name}`)).sort()
    .map((key) => [key.split("/")[1], series[key].map((value) => (value === null ? null : value * scale))]);
}

followHistory(`${root}history`, { rtt: curvesOf("rtt"), rate: curvesOf("bits", 1 / 1000), loss: curvesOf("loss") });

// On a phone one topic is shown; the way to it says which.
function markTopic() {
  const links = [...document.querySelectorAll(".topics a")];
  const chosen = links.find((link) => link.hash === location.hash) ?? links[0];
  for (const link of links) {
    if (link === chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
addEventListener("hashchange", markTopic);
markTopic();
