// The traffic of the gateway, or of one route, over a range that the person chooses.

import { followHistory } from "./history.js";
import { setLive, setTime } from "./shell.js";

const root = document.getElementById("main").dataset.root;
const route = document.getElementById("charts").dataset.route;
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const milliseconds = (value) => (value == null ? "–" : value >= 1000 ? `${(value / 1000).toPrecision(3)} s` : `${value < 10 ? value.toPrecision(2) : Math.round(value)} ms`);

function write(field, text) {
  const element = document.querySelector(`[data-field="${field}"]`);
  if (element && element.textContent !== text) element.textContent = text;
}

const prefix = route ? `route/${route}/` : "all/";
const of = (series, name) => series[prefix + name] ?? [];
const sum = (plot, name) => of(plot.series, name).reduce((all, value) => all + (value ?? 0), 0) * plot.step;

function rowOf(one) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const link = document.createElement("a");
  link.href = `${root}?route=${encodeURIComponent(one.key)}`;
  link.textContent = one.route;
  head.append(link);
  row.append(head);
  for (const [label, text, isNumber] of [["Service", one.service], ["Requests/s now", one.rate.toFixed(1), true],
    ["Requests", number.format(one.requests), true], ["4xx", number.format(one["4xx"]), true], ["5xx", number.format(one["5xx"]), true],
    ["Median", milliseconds(one.p50), true], ["99 %", milliseconds(one.p99), true]]) {
    const cell = document.createElement("td");
    cell.dataset.label = label;
    if (isNumber) cell.className = "number";
    cell.textContent = text;
    row.append(cell);
  }
  return row;
}

// showRoutes writes the rows anew where they have changed, so that a link in them keeps the focus.
function showRoutes(routes) {
  const table = document.getElementById("routes");
  if (!table) return;
  document.getElementById("none").hidden = routes.length > 0;
  table.hidden = routes.length === 0;
  const rows = routes.map(rowOf);
  const before = [...table.tBodies[0].rows];
  rows.forEach((row, i) => {
    if (!before[i]) table.tBodies[0].append(row);
    else if (before[i].cells[0].textContent !== row.cells[0].textContent) before[i].replaceWith(row);
    else [...row.cells].slice(1).forEach((cell, j) => { before[i].cells[j + 1].textContent = cell.textContent; });
  });
  before.slice(rows.length).forEach((row) => row.remove());
}

const because = (one) => [one.plugin ? `${one.reason} ${one.plugin}` : one.reason, one.error].filter(Boolean).join(": ");

function failureOf(one) {
  const row = document.createElement("tr");
  row.dataset.id = one.id;
  const head = document.createElement("th");
  head.scope = "row";
  const time = document.createElement("time");
  setTime(time, new Date(one.time));
  head.append(time);
  row.append(head);
  for (const [label, text, isNumber] of [["Status", one.status || "–", true], ["Reason", because(one)],
    ["Request", `${one.method} ${one.path}`], ["Route", one.route ?? "–"], ["Service", one.service ?? "–"],
    ["Consumer", one.consumer ?? one.subject ?? "–"], ["Request id", one.id]]) {
    const cell = document.createElement("td");
    cell.dataset.label = label;
    if (isNumber) cell.className = "number";
    cell.textContent = text;
    row.append(cell);
  }
  return row;
}

// showFailures leaves the rows where they are while there is nothing new.
function showFailures(failures) {
  const table = document.getElementById("failures");
  document.getElementById("unfailing").hidden = failures.length > 0;
  table.hidden = failures.length === 0;
  const shown = [...table.tBodies[0].rows].map((row) => row.dataset.id);
  if (shown.join() === failures.map((one) => one.id).join()) return;
  table.tBodies[0].replaceChildren(...failures.map(failureOf));
}

function showHealth(health) {
  for (const row of document.querySelectorAll("#upstreams [data-target]")) {
    const state = health[row.dataset.upstream]?.[row.dataset.target];
    const badge = row.querySelector(".health");
    if (state && badge.dataset.state !== state) {
      badge.dataset.state = state;
      badge.querySelector("[data-field=health]").textContent = state;
    }
  }
}

followHistory(`${root}history${route ? `?route=${encodeURIComponent(route)}` : ""}`, {
  rate: (series) => [["Requests", of(series, "requests")]],
  latency: (series) => [["Median", of(series, "latency p50")], ["99 %", of(series, "latency p99")]],
  errors: (series) => [["4xx", of(series, "4xx")], ["5xx", of(series, "5xx")]],
}, {
  failed: (error) => setLive("failed", error.message, error.status),
  shown: (plot) => {
    setLive("running", "live");
    write("requests", number.format(sum(plot, "requests")));
    for (const name of ["4xx", "5xx"]) write(name, number.format(sum(plot, name)));
    const whole = plot.whole?.[`${prefix}latency`];
    write("p50", milliseconds(whole?.p50));
    write("p99", milliseconds(whole?.p99));
    showFailures(plot.failures);
    showRoutes(plot.routes);
    showHealth(plot.health);
  },
});
