// Keeps the overview up to date, and says when the server is gone.

import { poll, request, timeText } from "./shell.js";

const number = new Intl.NumberFormat("en");
const root = document.getElementById("main").dataset.root;
let newest = -1;

function event({ at, block, level, text }) {
  const item = document.createElement("li");
  item.dataset.level = level;
  const [time, name, words] = ["time", "b", "span"].map((tag) => document.createElement(tag));
  time.dateTime = at;
  time.textContent = timeText(new Date(at));
  name.textContent = block;
  words.textContent = text;
  item.append(time, name, words);
  return item;
}

poll(2000, async () => {
  let state;
  try {
    state = await (await request(`${root}state`)).json();
  } catch (error) {
    document.documentElement.classList.add("lost");
    throw error;
  }
  document.documentElement.classList.remove("lost");
  for (const block of state.blocks) {
    const item = document.querySelector(`[data-block="${CSS.escape(block.name)}"]`);
    if (!item) continue;
    item.dataset.state = block.fault ? "failed" : "well";
    item.querySelector('[data-field="fault"]').textContent = block.fault;
    for (const fact of block.facts) {
      const place = item.querySelector(`[data-fact="${CSS.escape(fact.name)}"]`);
      if (place) place.textContent = number.format(fact.value);
    }
  }
  const last = state.events[0]?.number ?? 0;
  if (last !== newest && state.events.length > 0) {
    newest = last;
    document.getElementById("events").replaceChildren(...state.events.map(event));
  }
});
