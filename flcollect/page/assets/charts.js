// The charts of a job, by round, drawn by uPlot. They show the same round when
// one of them is pointed at, or when the arrow keys move through it.

import { bytes, number } from "./format.js";

const height = 220; // of the canvas, in pixels
const hues = 6; // as many as the style sheet has
const dark = matchMedia("(prefers-color-scheme: dark)");

// metricOf is a chart of one metric: that of the evaluation, and that of the fit.
const metricOf = (metric) => ({
  names: () => [metric, `${metric} (fit)`],
  value: (round, name) => (name === metric ? round.metrics : round.fit_metrics)?.[metric] ?? null,
  format: number,
});

// curves says what a chart shows: the names of its curves, and the value of one
// in a round, null where there is none.
const curves = {
  loss: {
    names: () => ["Loss", "Loss (fit)"],
    value: (round, name) => (name === "Loss" ? round.loss : round.fit_metrics?.loss) ?? null,
    format: number,
  },
  clients: {
    names: () => ["Fitted", "Evaluated", "Failed"],
    value: (round, name) => ({
      Fitted: round.fit.results,
      Evaluated: round.evaluate.results,
      Failed: round.fit.failures + round.evaluate.failures,
    })[name],
    format: number,
    fromZero: true,
  },
  epsilon: {
    names: () => ["Epsilon"],
    value: (round) => (typeof round.epsilon === "number" ? round.epsilon : null), // or the text "infinity"
    format: number,
    fromZero: true,
  },
  bytes: {
    names: () => ["Sent", "Received"],
    value: (round, name) => ({
      Sent: round.fit.bytes_sent + round.evaluate.bytes_sent,
      Received: round.fit.bytes_received + round.evaluate.bytes_received,
    })[name],
    format: bytes,
    fromZero: true,
  },
};

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// figureOf makes the figure of a chart.
function figureOf(name, id) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  Object.assign(caption, { id, textContent: name });
  const plot = document.createElement("div");
  plot.className = "plot";
  plot.tabIndex = 0;
  const attributes = { role: "group", "aria-roledescription": "chart", "aria-labelledby": id, "aria-describedby": "keys" };
  for (const [attribute, value] of Object.entries(attributes)) plot.setAttribute(attribute, value);
  figure.append(caption, plot);
  return figure;
}

class Chart {
  constructor(figure, said, kind) {
    this.kind = kind;
    this.place = figure.querySelector(".plot");
    this.said = said;
    this.names = [];
    this.place.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.plot?.setSize({ width: this.place.clientWidth, height })).observe(this.place);
  }

  show(rounds) {
    const names = this.kind.names(rounds).filter((name) => rounds.some((round) => this.kind.value(round, name) !== null));
    const data = [rounds.map((round) => round.round), ...names.map((name) => rounds.map((round) => this.kind.value(round, name)))];
    if (names.join("\n") !== this.names.join("\n")) {
      this.forget();
      this.names = names;
    }
    if (this.plot) this.plot.setData(data);
    else if (names.length > 0) this.draw(data);
    this.rest();
  }

  // rest has the legend tell the last round while the pointer is at no other.
  rest() {
    if (this.plot && this.plot.cursor.idx == null) this.plot.setLegend({ idx: this.plot.data[0].length - 1 }, false);
  }

  forget() {
    this.plot?.destroy();
    this.plot = undefined;
    this.names = [];
  }

  draw(data) {
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    const format = (_, value) => (value === null || value === undefined ? "–" : this.kind.format(value));
    this.plot = new uPlot({
      width: this.place.clientWidth,
      height,
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: "rounds" } },
      hooks: { setCursor: [() => this.rest()] },
      scales: {
        x: { time: false, range: (_, min, max) => [min, Math.max(max, min + 1)] },
        y: this.kind.fromZero ? { range: { min: { pad: 0, hard: 0, soft: 0, mode: 1 }, max: { pad: 0.1, soft: 1, mode: 2 } } } : {},
      },
      axes: [
        { ...axis, incrs: [1, 2, 5].flatMap((step) => [...Array(6).keys()].map((power) => step * 10 ** power)).sort((a, b) => a - b) },
        { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => format(_, tick)) },
      ],
      series: [
        { label: "Round", value: (_, value) => (value === null ? "–" : value) },
        ...this.names.map((label, i) => ({
          label, value: format, stroke: color(`--series-${i % hues}`), width: 2, spanGaps: true, dash: i < hues ? undefined : [6, 4],
        })),
      ],
    }, data, this.place);
    this.makeLegendUsable();
  }

  // makeLegendUsable gives the keyboard what the mouse can do: to hide a curve.
  makeLegendUsable() {
    [...this.place.querySelectorAll(".u-legend .u-series")].slice(1).forEach((row, i) => {
      const button = row.querySelector("th");
      button.tabIndex = 0;
      button.setAttribute("role", "button");
      const pressed = () => button.setAttribute("aria-pressed", String(this.plot.series[i + 1].show));
      pressed();
      button.addEventListener("click", () => queueMicrotask(pressed));
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        button.click();
      });
    });
  }

  press(event) {
    const last = (this.plot?.data[0].length ?? 0) - 1;
    if (last < 0 || event.target !== this.place) return;
    const at = this.plot.cursor.idx ?? last + 1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const index = Math.min(last, Math.max(0, to));
    this.plot.setCursor({ left: this.plot.valToPos(this.plot.data[0][index], "x"), top: this.plot.over.clientHeight / 2 }, true, true);
    const values = this.names.map((name, i) => [name, this.plot.data[i + 1][index]]).filter(([, value]) => value !== null);
    this.said.textContent = `Round ${this.plot.data[0][index]}: ${values.map(([name, value]) => `${name} ${this.kind.format(value)}`).join(", ")}`;
  }
}

// metricsOf are the names of the metrics of rounds. A loss of the fit is in the chart of the
// loss.
export function metricsOf(rounds) {
  const fitted = rounds.flatMap((round) => Object.keys(round.fit_metrics ?? {})).filter((name) => name !== "loss");
  return [...new Set([...rounds.flatMap((round) => Object.keys(round.metrics ?? {})), ...fitted])].sort();
}

// Charts are the charts of a page: its own figures, and one for each metric behind that of
// the loss. Kinds replaces what they show, and metric makes the kind of a metric.
export class Charts {
  constructor(place, said, { kinds = curves, metric = metricOf, metrics = metricsOf } = {}) {
    Object.assign(this, { place, said, metric, metrics, added: new Map() });
    this.charts = [...place.querySelectorAll("figure")].map((figure) => new Chart(figure, said, kinds[figure.dataset.chart]));
    dark.addEventListener("change", () => {
      this.charts.forEach((chart) => chart.forget());
      this.show(this.rounds ?? []);
    });
  }

  show(rounds) {
    this.rounds = rounds;
    this.place.hidden = rounds.length === 0;
    this.showMetrics(this.metrics(rounds));
    this.charts.forEach((chart) => chart.show(rounds));
  }

  // showMetrics has a chart for each metric that there is.
  showMetrics(names) {
    for (const [name, { chart, figure }] of this.added) {
      if (names.includes(name)) continue;
      chart.forget();
      figure.remove();
      this.charts.splice(this.charts.indexOf(chart), 1);
      this.added.delete(name);
    }
    for (const name of names) {
      if (this.added.has(name)) continue;
      const figure = figureOf(name, `chart-metric-${encodeURIComponent(name)}`);
      figure.dataset.chart = "metric";
      figure.dataset.metric = name;
      const last = [...this.added.values()].at(-1);
      (last?.figure ?? this.place.querySelector('[data-chart="loss"]')).after(figure);
      const chart = new Chart(figure, this.said, this.metric(name));
      this.charts.push(chart);
      this.added.set(name, { chart, figure });
    }
  }
}
