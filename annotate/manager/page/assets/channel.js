// Keeps the page of a channel up to date.

import { followHistory } from "./history.js";
import { poll, request, timeText } from "./shell.js";

const number = new Intl.NumberFormat("en");
const here = location.pathname.replace(/\/$/, "");
const root = document.getElementById("main").dataset.root;
const id = decodeURIComponent(here.slice(here.lastIndexOf("/") + 1));

function write(field, text) {
  const element = document.querySelector(`[data-field="${field}"]`);
  if (element && element.textContent !== text) element.textContent = text;
}

poll(2000, async () => {
  const channel = await (await request(`${here}/state`)).json();
  write("state", channel.state);
  document.querySelector(".badge").dataset.state = channel.state;
  write("fault", channel.fault);
  write("warning", channel.warning);
  write("warningTime", channel.warningTime ? timeText(new Date(channel.warningTime)) : "");
  for (const name of ["received", "published", "failed", "empty", "unmatched", "invalid", "warned", "illTyped", "irregular"]) write(name, number.format(channel.counts[name]));
  write("lag", channel.counts.lag === null ? "–" : number.format(channel.counts.lag));
  const failures = document.querySelector('[data-field="failures"]');
  if (failures) failures.hidden = channel.counts.failed === 0;
  const warned = document.querySelector('[data-field="warned-messages"]');
  if (warned) warned.hidden = !channel.hasWarned;
  write("lastFailure", channel.counts.lastFailure);
  write("lastFailureTime", channel.counts.lastFailureTime ? timeText(new Date(channel.counts.lastFailureTime)) : "");
  for (const button of document.querySelectorAll("[data-for]")) button.disabled = !button.dataset.for.includes(channel.state);
});

const of = (series, name) => series[name] ?? [];
const milliseconds = (value) => (value === undefined ? "–" : `${value < 10 ? value.toPrecision(2) : Math.round(value)} ms`);

followHistory(`${root}history?channel=${encodeURIComponent(id)}`, {
  rate: (series) => [["In", of(series, "received")], ["Out", of(series, "published")], ["Failed", of(series, "failed")]],
  latency: (series) => [["Median", of(series, "latency p50")], ["99 %", of(series, "latency p99")]],
}, {
  shown: (plot) => {
    const whole = plot.whole?.latency;
    write("p50", milliseconds(whole?.p50));
    write("p99", milliseconds(whole?.p99));
  },
});
