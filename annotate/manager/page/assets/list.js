// Keeps the list of channels up to date.

import { poll, request } from "./shell.js";

const number = new Intl.NumberFormat("en");
const root = document.getElementById("main").dataset.root;

function write(row, field, text) {
  const element = row.querySelector(`[data-field="${field}"]`);
  if (element.textContent !== text) element.textContent = text;
}

const rows = [...document.querySelectorAll("#channels tbody tr")];
for (const cell of document.querySelectorAll("#channels .rate")) cell.hidden = false;

// rateText formats a rate of messages per second.
function rateText(rate) {
  return `${rate > 0 && rate < 10 ? rate.toFixed(1) : number.format(Math.round(rate))}/s`;
}

let last; // when the counts were read, and how many each channel had received

if (rows.length > 0) {
  poll(2000, async () => {
    const answer = await request(`${root}state${location.search}`);
    const now = performance.now();
    const found = new Map((await answer.json()).map((channel) => [channel.id, channel]));
    for (const row of rows) {
      const channel = found.get(row.dataset.id);
      const state = channel?.state ?? "gone";
      row.querySelector(".badge").dataset.state = state;
      write(row, "state", state);
      if (!channel) continue;
      write(row, "fault", channel.fault);
      write(row, "warning", channel.warning);
      for (const name of ["received", "published", "failed"]) write(row, name, number.format(channel.counts[name]));
      write(row, "lag", channel.counts.lag === null ? "–" : number.format(channel.counts.lag));
      const before = last?.received.get(channel.id);
      if (before !== undefined) write(row, "rate", rateText(Math.max(0, channel.counts.received - before) * 1000 / (now - last.at)));
    }
    last = { at: now, received: new Map([...found.values()].map((channel) => [channel.id, channel.counts.received])) };
  });
}
