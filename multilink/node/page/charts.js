// The charts: round trip and traffic of each link, drawn by uPlot.

import { findCharts, kept } from "./live.js";

const charts = findCharts();
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
  if (links.length === 0) {
    Object.values(charts).forEach((chart) => chart.forget());
    return;
  }
  const times = moments.map(({ at }) => at);
  const names = links.map(({ name }) => name).sort(); // a curve keeps its colour when the order changes
  charts.rtt.show(times, names.map((name) => [name, moments.map((m) => m.links.get(name)?.rtt_ms || null)]));
  charts.rate.show(times, names.map((name) => [name, moments.map((_, i) => rate(i, name))]));
}
