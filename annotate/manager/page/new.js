// Shows the settings of the brokers that are chosen, and editors for message and mapping.

import { createEditor } from "./editor.js";

const field = (id) => document.getElementById(id);
const languages = { JSON: "json", XML: "xml", CSV: "" };

const sample = createEditor(field("sample"), { language: languages[field("inputFormat").value] });
createEditor(field("rml"), { language: "turtle" });
field("inputFormat").addEventListener("change", () => sample.speak(languages[field("inputFormat").value]));

function choose(topic) {
  const select = field(`${topic}Broker`);
  const show = () => {
    for (const fields of document.querySelectorAll(`[data-topic="${topic}"]`)) fields.hidden = fields.dataset.kind !== select.value;
  };
  select.addEventListener("change", show);
  show();
}

choose("input");
choose("output");
document.querySelector('[aria-invalid="true"]:not([hidden])')?.focus();
