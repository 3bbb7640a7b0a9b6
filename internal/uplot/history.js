// Charts of what was recorded, over a range that the person chooses.

import { findCharts } from "./live.js";

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
      const answer = await fetch(`${address}${address.includes("?") ? "&" : "?"}range=${range}`, { cache: "no-store" });
      if (answer.redirected) throw new Error("The session has ended. Load the page again.");
      if (!answer.ok) throw Object.assign(new Error(`The server answered with status ${answer.status}.`), { status: answer.status });
      const plot = await answer.json();
      if (mine === newest) {
        for (const [name, curves] of Object.entries(curvesOf)) charts[name]?.show(plot.times, curves(plot.series));
        shown(plot);
      }
    } catch (error) {
      if (mine === newest) failed(error instanceof TypeError ? new Error("The server cannot be reached.") : error);
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
