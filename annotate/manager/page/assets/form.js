// Shows the settings of the brokers that are chosen, tries their connections, and has editors
// for message and mapping.

import { createEditor } from "./editor.js";
import { report, request } from "./shell.js";

const field = (id) => document.getElementById(id);
const root = field("main").dataset.root;
const form = field("channel-form");
const languages = { JSON: "json", XML: "xml", CSV: "" };

const notations = { RML: "turtle", YARRRML: "yaml" };
const mapping = createEditor(field("rml"), { language: notations[field("language").value] });
field("language").addEventListener("change", () => mapping.speak(notations[field("language").value]));
if (field("sample")) {
  const sample = createEditor(field("sample"), { language: languages[field("inputFormat").value] });
  field("inputFormat").addEventListener("change", () => sample.speak(languages[field("inputFormat").value]));
}

for (const topic of ["input", "output", "error", "monitorInput", "monitorOutput"]) {
  const select = field(`${topic}Broker`);
  const show = () => {
    for (const fields of document.querySelectorAll(`[data-topic="${topic}"]`)) fields.hidden = fields.dataset.kind !== select.value;
  };
  select.addEventListener("change", show);
  show();
}

function line({ topic, at, ok, reason }) {
  const item = document.createElement("li");
  const badge = document.createElement("span");
  badge.className = "badge";
  badge.dataset.state = ok ? "running" : "failed";
  const dot = document.createElement("span");
  dot.className = "dot";
  badge.append(dot, `${topic}: ${ok ? "connected to" : "cannot connect to"}`);
  const address = document.createElement("code");
  address.textContent = at;
  item.append(badge, " ", address);
  if (reason) {
    const why = document.createElement("span");
    why.className = "small";
    why.textContent = reason;
    item.append(why);
  }
  return item;
}

// The button sends the form without scripts; passwords that were typed would have to be typed
// again then.
field("connect").addEventListener("click", async (event) => {
  event.preventDefault();
  const button = event.currentTarget;
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  const place = field("connections");
  place.replaceChildren("Connecting…");
  try {
    const values = new URLSearchParams(new FormData(form));
    const tried = await (await request(`${root}connections`, { method: "POST", body: values })).json();
    const card = document.createElement("section");
    card.className = "card";
    card.setAttribute("aria-label", "Connections");
    const list = document.createElement("ul");
    list.className = "tried";
    list.append(...tried.map(line));
    card.append(list);
    place.replaceChildren(card);
  } catch (error) {
    place.replaceChildren();
    report(error);
  } finally {
    button.removeAttribute("aria-disabled");
  }
});

document.querySelector('[aria-invalid="true"]:not([hidden])')?.focus();
