// Charts of what was recorded, over a range that the person chooses.

import { findCharts } from "./live.js";

const silence = 10_000; // milliseconds without an answer

// followHistory draws the charts of the page from the history at an address, and keeps them up
// to date. curvesOf has a function for each chart, which takes the series of the history and
// returns the curves as pairs of a name and values. shown is called with each answer, failed with
// the error where there is none.
export function followHistory(address, curvesOf, { shown = () => {}, failed = () => {}, period = 2000 } = {}) {
  const charts = findCharts();
  const buttons = [...document.querySelectorAll("[data-range]")];
  let range = buttons[0]?.dataset.range ?? "10m";
  let timer;
  let newest = 0; // the number of the last question; answers to earlier ones are dropped

  async function draw() {
    clearTimeout(timer);
    const mine = ++newest;
    try {
      const answer = await fetch(`${address}${address.includes("?") ? "&" : "?"}range=${range}`, { cache: "no-store", signal: AbortSignal.timeout(silence) });
      if (answer.redirected) throw new Error("The session has ended. Load the page again.");
      if (!answer.ok) throw Object.assign(new Error(`The server answered with status ${answer.status}.`), { status: answer.status });
      const plot = await answer.json();
      if (mine === newest) {
        for (const [name, curves] of Object.entries(curvesOf)) charts[name]?.show(plot.times, curves(plot.series));
        shown(plot);
      }
    } catch (error) {
      const text = { TypeError: "The server cannot be reached.", TimeoutError: "The server does not answer." }[error.name];
      if (mine === newest) failed(text ? new Error(text) : error);
    }
    if (mine === newest) timer = setTimeout(draw, document.hidden ? 10 * period : period);
  }

  function choose(button) {
    range = button.dataset.range;
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    for (const chart of Object.values(charts)) chart.forget();
    draw();
  }

  for (const button of buttons) button.addEventListener("click", () => choose(button));
  if (buttons.length > 0) choose(buttons[0]);
  else draw();
}
