// The form of a job: it shows the parameters of the chosen strategy, and what the job costs
// in privacy as it is typed.

import { report, request } from "./shell.js";

const pause = 300; // milliseconds after the last key

const form = document.querySelector("#new");
const estimate = document.querySelector("#estimate");
const { root } = document.querySelector("main").dataset;

document.documentElement.classList.add("live");

const strategy = form.elements.strategy;

function showStrategy() {
  for (const own of form.querySelectorAll("[data-strategy]")) {
    own.hidden = own.dataset.strategy !== strategy.value;
    own.disabled = own.hidden; // what is not chosen is not sent
  }
}

let timer;
let asked; // the question that is under way

function estimateSoon() {
  clearTimeout(timer);
  asked?.abort();
  if (form.elements.dp.checked) timer = setTimeout(ask, pause);
}

async function ask() {
  asked = new AbortController();
  try {
    const answer = await request(`${root}new/estimate`, { method: "POST", body: new FormData(form), signal: asked.signal });
    const { text, faults = {} } = await answer.json();
    for (const place of form.querySelectorAll('#dp-fields [id^="fault-"]')) show(place.id.slice("fault-".length), faults);
    for (const name of ["rounds", "clients"]) show(name, faults);
    estimate.textContent = text || "There is no estimate with these values.";
  } catch (error) {
    report(error);
  }
}

function show(name, faults) {
  const place = document.getElementById(`fault-${name}`);
  place.textContent = faults[name] ?? "";
  if (faults[name]) form.elements[name].setAttribute("aria-invalid", "true");
  else form.elements[name].removeAttribute("aria-invalid");
}

strategy.addEventListener("change", showStrategy);
form.addEventListener("input", ({ target }) => {
  if (target.name === "dp" || target.name.startsWith("dp.") || ["rounds", "clients"].includes(target.name)) estimateSoon();
});

showStrategy();
estimateSoon();
(form.querySelector('[aria-invalid="true"]') ?? form.elements.model_name).focus();
