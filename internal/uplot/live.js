// Charts of what happens now, drawn by uPlot: curves by name over the last moments. The
// style sheet gives them their colours, --quiet, --line and --series-0 to --series-5.

export const kept = 120; // moments that are shown
export const hues = 6; // as many as the style sheet has

const height = 200; // of a chart, in pixels
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// How the axis of times writes its ticks: for each least distance the form, and what a second
// line says where a year, a day or a minute begins.
const day = "\n{YYYY}-{MM}-{DD}";
const ticks = [
  [86400, "{YYYY}-{MM}-{DD}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", day, null, day, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", day, null, day, null, null, null, 1],
];
const clock = new Intl.DateTimeFormat("sv-SE", { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" });

// alone lists the values without neighbours, to which no line leads: they are drawn as points.
function alone(plot, series) {
  const values = plot.data[series];
  return [...values.keys()].filter((i) => values[i] != null && values[i - 1] == null && values[i + 1] == null);
}

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
    const seconds = data[0].at(-1) - data[0][0];
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    const format = (_, value) => (value == null ? "–" : value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3));
    this.plot = new uPlot({
      width: this.place.clientWidth,
      height,
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: { min: { pad: 0, hard: 0, soft: 0, mode: 1 }, max: { pad: 0.1, soft: 1, mode: 2 } } } },
      axes: [{ ...axis, values: ticks, ...(seconds > 900 ? {} : { incrs: [1, 5, 10, 15, 30, 60, 120, 300] }) }, { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => format(_, tick)) }],
      series: [
        { label: "Time", value: (_, at) => (at == null ? "–" : clock.format(new Date(at * 1000))) },
        ...this.names.map((label, i) => ({ label, value: format, stroke: color(`--series-${i % hues}`), width: 2, points: { show: false, size: 5, filter: alone }, dash: i < hues ? undefined : [6, 4] })),
      ],
    }, data, this.place);
  }
}

// findCharts creates a chart of every element with the attribute data-chart, by its value.
// They are drawn again in the other colours when the page turns dark or light.
export function findCharts() {
  const charts = Object.fromEntries([...document.querySelectorAll("[data-chart]")].map((figure) => [figure.dataset.chart, new Chart(figure)]));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Object.values(charts).forEach((chart) => chart.forget()));
  return charts;
}
