// Keeps the page up to date: once a second it asks for the state and writes
// what has changed into the elements that the server has made.

import { isRefused, showRefused } from "./refused.js";

const period = 1000; // milliseconds between two questions
const history = 60; // seconds of a channel's curve
const smooth = 5; // seconds that a rate is taken over

const live = document.querySelector("#live");
const rows = document.querySelector("#channels tbody");
const prototype = document.querySelector("#channel").content.querySelector("tr");
const number = new Intl.NumberFormat("en");
const title = document.title;
const samples = new Map(); // by channel: [{at, received}], newest last
let answered; // when the server answered last

document.documentElement.classList.add("live");

function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

function fill(element, values) {
  for (const [field, text] of Object.entries(values)) {
    write(element.querySelector(`[data-field="${field}"]`), text);
  }
}

function showServices(services) {
  for (const service of services) {
    const item = [...document.querySelectorAll("#services > li")].find((li) => li.dataset.service === service.name);
    if (!item) continue;
    item.dataset.state = service.fault ? "failed" : "running";
    fill(item, { fault: service.fault });
    for (const fact of service.facts) write(factOf(item, fact.name), number.format(fact.value));
  }
}

// factOf is the element of a fact of a service. Some are not known yet when the page is made.
function factOf(item, name) {
  const known = item.querySelector(`[data-fact="${CSS.escape(name)}"]`);
  if (known) return known;
  const [pair, term, value] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
  term.textContent = name;
  value.dataset.fact = name;
  pair.append(term, value);
  item.querySelector("dl").append(pair);
  return value;
}

// lose says of everything on the page that its state is not known, and why.
function lose(why) {
  document.documentElement.classList.add("lost");
  document.title = `${why} – ${title}`;
  for (const item of document.querySelectorAll("#services > li")) {
    item.dataset.state = "lost";
    fill(item, { fault: why });
  }
  for (const row of rows.children) {
    row.dataset.state = "lost";
    fill(row, { state: why, rate: "–" });
  }
}

// miss says that the process that runs everything does not answer.
function miss() {
  lose("not reachable");
  live.dataset.state = "failed";
  write(live, `not reachable, trying again; last answer ${answered ? `at ${answered.toLocaleTimeString("en-GB")}` : "as of the last reload"}`);
}

// find is the opposite of lose.
function find(at) {
  answered = new Date(at);
  document.documentElement.classList.remove("lost");
  document.title = title;
  live.dataset.state = "running";
  write(live, "live");
}

// remember notes the count of a channel, and returns all that is known.
function remember(channel, at) {
  const known = samples.get(channel.id) ?? [];
  if (known.length > 0 && channel.received < known.at(-1).received) known.length = 0; // another channel by that name
  known.push({ at, received: channel.received });
  while (known.length > history + 1) known.shift();
  samples.set(channel.id, known);
  return known;
}

function perSecond(from, to) {
  return to.at > from.at ? (1000 * (to.received - from.received)) / (to.at - from.at) : 0;
}

function curve(known) {
  const rates = known.slice(1).map((sample, i) => perSecond(known[i], sample));
  const most = Math.max(1, ...rates);
  const begin = history - rates.length;
  return rates.map((rate, i) => `${i ? "L" : "M"}${begin + i} ${(19 - (18 * rate) / most).toFixed(1)}`).join("");
}

function showChannel(row, channel, at) {
  row.dataset.id = channel.id;
  row.dataset.state = channel.state;
  row.querySelector("a").setAttribute("href", channel.href);
  const known = remember(channel, at);
  const rate = perSecond(known.at(-1 - smooth) ?? known[0], known.at(-1));
  fill(row, {
    name: channel.name,
    formats: `${channel.from} to ${channel.to}`,
    input: channel.input,
    output: channel.output,
    state: channel.state,
    fault: channel.fault,
    received: number.format(channel.received),
    published: number.format(channel.published),
    failed: number.format(channel.failed),
    lastFailure: channel.lastFailure,
    rate: `${rate < 10 ? rate.toFixed(1) : number.format(Math.round(rate))}/s`,
  });
  row.querySelector("path").setAttribute("d", curve(known));
}

function showChannels(channels, at) {
  const present = new Map([...rows.children].map((row) => [row.dataset.id, row]));
  channels.forEach((channel, place) => {
    const row = present.get(channel.id) ?? prototype.cloneNode(true);
    present.delete(channel.id);
    showChannel(row, channel, at);
    if (rows.children[place] !== row) rows.insertBefore(row, rows.children[place] ?? null);
  });
  for (const [id, row] of present) {
    row.remove();
    samples.delete(id);
  }
  document.querySelector("#empty").hidden = channels.length > 0;
}

async function update() {
  try {
    const answer = await fetch("/console/state", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (isRefused(answer.status)) {
      lose("not shown");
      showRefused(live, answer.status);
      setTimeout(update, period);
      return;
    }
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const state = await answer.json();
    showServices(state.services);
    showChannels(state.channels, state.at);
    find(Date.now());
  } catch {
    miss();
  }
  setTimeout(update, period);
}

update();
