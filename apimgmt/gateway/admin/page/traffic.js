// The live traffic: charts drawn by uPlot, and tables, from a stream of events.

const height = 200; // of a chart, in pixels
const kept = 120; // moments that are shown
const hues = 6; // as many as the style sheet has
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

const live = document.getElementById("live");
const body = document.querySelector("#routes tbody");
const seconds = (s) => (s === 0 ? "–" : s < 1 ? `${(s * 1000).toPrecision(3)} ms` : `${s.toPrecision(3)} s`);

class Chart {
  constructor(figure) {
    this.place = figure.querySelector(".plot");
    this.names = [];
    new ResizeObserver(() => this.plot?.setSize({ width: this.place.clientWidth, height })).observe(this.place);
  }

  show(times, curves) {
    const names = curves.map(([name]) => name);
    const data = [times, ...curves.map(([, values]) => values)];
    if (names.join("\n") !== this.names.join("\n")) {
      this.forget();
      this.names = names;
    }
    if (this.plot) this.plot.setData(data);
    else if (times.length > 0) this.draw(data);
    if (this.plot && this.plot.cursor.idx == null) this.plot.setLegend({ idx: times.length - 1 }, false);
  }

  forget() {
    this.plot?.destroy();
    this.plot = undefined;
    this.names = [];
  }

  draw(data) {
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    const format = (_, value) => (value == null ? "–" : value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3));
    this.plot = new uPlot({
      width: this.place.clientWidth,
      height,
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: { min: { pad: 0, hard: 0, soft: 0, mode: 1 }, max: { pad: 0.1, soft: 1, mode: 2 } } } },
      axes: [{ ...axis, incrs: [1, 5, 10, 15, 30, 60] }, { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => format(_, tick)) }],
      series: [
        { label: "Time", value: (_, at) => (at == null ? "–" : new Date(at * 1000).toLocaleTimeString()) },
        ...this.names.map((label, i) => ({ label, value: format, stroke: color(`--series-${i % hues}`), width: 2, points: { show: false }, dash: i < hues ? undefined : [6, 4] })),
      ],
    }, data, this.place);
  }
}

const charts = Object.fromEntries([...document.querySelectorAll("[data-chart]")].map((figure) => [figure.dataset.chart, new Chart(figure)]));
dark.addEventListener("change", () => Object.values(charts).forEach((chart) => chart.forget()));
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
    return found ? found.p50 * 1000 : null;
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
      ["Errors (5xx)", r.statuses[5], true], ["Median", seconds(r.p50), true], ["99 %", seconds(r.p99), true]]) {
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
