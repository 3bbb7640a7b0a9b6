// The live traffic: charts drawn by uPlot, and tables, from a stream of events.

import { findCharts, hues, kept } from "./live.js";

const live = document.getElementById("live");
const body = document.querySelector("#routes tbody");
const seconds = (s) => (s === 0 ? "–" : s < 1 ? `${(s * 1000).toPrecision(3)} ms` : `${s.toPrecision(3)} s`);

const charts = findCharts();
const moments = [];

// answers is how many answers of a class of statuses there were between two moments, by second.
function answers(i, code) {
  if (i === 0) return 0;
  const [before, now] = [moments[i - 1], moments[i]];
  return Math.max(0, now.statuses[code] - before.statuses[code]) / Math.max(1, now.at - before.at);
}

function show(moment) {
  if (moments.at(-1)?.at === moment.at) moments.pop();
  moments.push(moment);
  if (moments.length > kept) moments.shift();

  const last = moment.per_second.map((_, i) => moment.at - moment.per_second.length + i);
  charts.rate.show(last, [["Requests", moment.per_second]]);

  const times = moments.map(({ at }) => at);
  const classes = [2, 3, 4, 5].filter((code) => code === 2 || moments.some(({ statuses }) => statuses[code] > 0));
  charts.statuses.show(times, classes.map((code) => [`${code}xx`, moments.map((_, i) => answers(i, code))]));

  const busiest = moment.routes.filter(({ p50 }) => p50 > 0).slice(0, hues).map(({ route }) => route).sort();
  charts.latency.show(times, busiest.map((name) => [name, moments.map(({ routes }) => {
    const found = routes.find(({ route }) => route === name);
    return found?.p50 > 0 ? found.p50 * 1000 : null; // no request in the minute
  })]));

  document.getElementById("none").hidden = moment.routes.length > 0;
  document.getElementById("routes").hidden = moment.routes.length === 0;
  body.replaceChildren(...moment.routes.map((r) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = r.route;
    row.append(head);
    for (const [label, text, number] of [["Service", r.service], ["Requests/s", r.rate.toFixed(1), true], ["Requests", r.requests, true],
      ["Errors (5xx)", r.statuses[5], true], ["Median, last minute", seconds(r.p50), true], ["99 %, last minute", seconds(r.p99), true]]) {
      const cell = document.createElement("td");
      cell.dataset.label = label;
      if (number) cell.className = "number";
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }));
  for (const row of document.querySelectorAll("#upstreams [data-target]")) {
    const state = moment.health[row.dataset.upstream]?.targets[row.dataset.target];
    const cell = row.querySelector(".health");
    if (state && cell.dataset.state !== state) {
      cell.dataset.state = state;
      cell.querySelector("[data-field=health]").textContent = state;
    }
  }
}

const stream = new EventSource("traffic");
stream.addEventListener("message", (event) => {
  if (live.dataset.state !== "running") {
    live.dataset.state = "running";
    live.textContent = "live";
  }
  show(JSON.parse(event.data));
});
stream.addEventListener("error", () => {
  live.dataset.state = "failed";
  live.textContent = stream.readyState === EventSource.CLOSED ? "ended: load the page again" : "the gateway does not answer";
});
