// Keeps the overview up to date, and says when the server is gone.

import { poll, request, setTime, timeText, toast } from "./shell.js";

const number = new Intl.NumberFormat("en");
const root = document.getElementById("main").dataset.root;
const title = document.title;
const health = document.getElementById("health");
let newest = document.querySelector("#events li")?.dataset.number ?? "0";
let answered = new Date();

// write sets a text without touching one that is the same: a selection in it stays.
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function say(state, text) {
  health.dataset.state = state;
  write(health.lastElementChild, text);
}

function linked(text, href) {
  if (!href) return document.createTextNode(text);
  const link = document.createElement("a");
  link.href = root + href;
  link.textContent = text;
  return link;
}

function showBlock({ name, fault, facts }) {
  const item = document.querySelector(`[data-block="${CSS.escape(name)}"]`);
  if (!item) return;
  item.dataset.state = fault ? "failed" : "well";
  write(item.querySelector('[data-field="fault"]'), fault);
  const list = item.querySelector("dl");
  for (const [i, fact] of facts.entries()) {
    let place = list.querySelector(`[data-fact="${CSS.escape(fact.name)}"]`);
    if (!place) {
      place = document.createElement("div");
      place.dataset.fact = fact.name;
      place.append(document.createElement("dt"), document.createElement("dd"));
      place.firstChild.textContent = fact.name;
      place.lastChild.append(linked("", fact.href));
      list.insertBefore(place, list.children[i] ?? null);
    }
    write(place.querySelector("dd > a") ?? place.querySelector("dd"), number.format(fact.value));
  }
  for (const place of [...list.children]) {
    if (!facts.some(({ name }) => name === place.dataset.fact)) place.remove();
  }
}

function eventItem(event) {
  const item = document.getElementById("event").content.firstElementChild.cloneNode(true);
  const link = item.querySelector("a");
  item.dataset.level = event.level;
  item.dataset.number = event.number;
  const time = document.createElement("time");
  setTime(time, new Date(event.at));
  item.querySelector(".when").replaceChildren(time);
  item.querySelector(".block").textContent = event.block;
  item.querySelector(".level").textContent = event.level === "info" ? "" : event.level;
  link.textContent = event.text;
  if (event.href) link.href = event.href;
  item.querySelector(".times").textContent = event.times > 1 ? `${event.times} times` : "";
  item.querySelector(".small").textContent = event.detail;
  return item;
}

function showEvents(events) {
  const last = String(events[0]?.number ?? 0);
  if (last === newest) return;
  newest = last;
  const list = document.getElementById("events");
  const focused = list.contains(document.activeElement) && document.activeElement.closest("li").dataset.number;
  list.replaceChildren(...events.map(eventItem));
  if (focused) list.querySelector(`[data-number="${focused}"] a`)?.focus();
  list.hidden = events.length === 0;
  document.getElementById("no-events").hidden = events.length > 0;
}

poll(2000, async () => {
  let state;
  try {
    state = await (await request(`${root}state`)).json();
  } catch (error) {
    document.documentElement.classList.add("lost");
    say("failed", error.status === 0 ? `not reachable; last answer at ${timeText(answered)}` : "not shown");
    document.title = `${error.status === 0 ? "Not reachable" : "Not shown"} · ${title}`;
    throw error;
  }
  answered = new Date();
  document.documentElement.classList.remove("lost");
  document.title = title;
  state.blocks.forEach(showBlock);
  showEvents(state.events);
  const faults = state.blocks.filter(({ fault }) => fault).length;
  say(faults > 0 ? "failed" : "well", faults > 0 ? `${faults} of ${state.blocks.length} not usable` : "all is well");
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      toast("Copied.");
    } catch {
      toast("The browser does not allow copying; select the command instead.", { error: true });
    }
  });
}
