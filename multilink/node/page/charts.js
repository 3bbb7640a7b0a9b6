// The charts: round trip and traffic of each link, drawn by uPlot.

const height = 200; // of a chart, in pixels
const kept = 120; // moments that are shown
const hues = 6; // as many as the style sheet has
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

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
    else if (times.length > 0 && names.length > 0) this.draw(data);
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
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Object.values(charts).forEach((chart) => chart.forget()));
const moments = [];

// rate is what crossed a link between two moments, in kbit a second.
function rate(i, name) {
  const before = moments[i - 1]?.links.get(name);
  const now = moments[i].links.get(name);
  if (!before || !now) return null;
  const seconds = moments[i].at - moments[i - 1].at;
  return Math.max(0, (now.tx_bytes + now.rx_bytes - before.tx_bytes - before.rx_bytes) * 8 / 1000 / seconds);
}

// show adds a moment.
export function show(links) {
  moments.push({ at: Date.now() / 1000, links: new Map(links.map((link) => [link.name, link])) });
  if (moments.length > kept) moments.shift();
  const times = moments.map(({ at }) => at);
  const names = links.map(({ name }) => name).sort(); // a curve keeps its colour when the order changes
  charts.rtt.show(times, names.map((name) => [name, moments.map((m) => m.links.get(name)?.rtt_ms || null)]));
  charts.rate.show(times, names.map((name) => [name, moments.map((_, i) => rate(i, name))]));
}
