// Keeps the list of jobs up to date: every two seconds it asks for the jobs of
// the page and writes what has changed into the rows that the server has made.

import { poll, request, setTime } from "./shell.js";

const period = 2000; // milliseconds between two questions
const most = 6; // jobs that are compared

const table = document.querySelector("#jobs");
const { root } = document.querySelector("main").dataset;
const { api, prefix, after } = table.dataset;
const rows = table.querySelector("tbody");
const prototype = document.querySelector("#row").content.querySelector("tr");

document.documentElement.classList.add("live");

function write(element, text) {
  text = String(text);
  if (element && element.textContent !== text) element.textContent = text;
}

function show(row, job) {
  row.dataset.id = job.job;
  row.dataset.state = job.status;
  row.querySelector("a").setAttribute("href", `${root}live/${encodeURIComponent(job.job)}`);
  const reached = Math.max(0, job.round);
  Object.assign(row.querySelector("progress"), { max: job.rounds, value: reached });
  const fields = {
    job: job.job,
    error: job.error ?? "",
    model: `${job.model_name ?? ""} ${job.model_version ?? ""}`,
    strategy: job.strategy ?? "",
    status: job.status,
    rounds: `${reached} of ${job.rounds}`,
    clients: job.clients_needed ? `${job.clients ?? 0} of ${job.clients_needed}` : (job.clients ?? 0),
  };
  for (const [field, text] of Object.entries(fields)) write(row.querySelector(`[data-field="${field}"]`), text);
  const box = row.querySelector("input");
  box.value = job.job;
  box.setAttribute("aria-label", `Compare ${job.job}`);
  const created = row.querySelector('[data-field="created"]');
  if (job.created && created.dataset.shown !== job.created) {
    created.dataset.shown = job.created;
    created.replaceChildren(document.createElement("time"));
    setTime(created.firstChild, new Date(job.created));
  }
}

function showAll(jobs) {
  const present = new Map([...rows.children].map((row) => [row.dataset.id, row]));
  jobs.forEach((job, place) => {
    const row = present.get(job.job) ?? prototype.cloneNode(true);
    present.delete(job.job);
    show(row, job);
    if (rows.children[place] !== row) rows.insertBefore(row, rows.children[place] ?? null);
  });
  for (const row of present.values()) row.remove();
  if (jobs.length === 0) rows.replaceChildren();
  if (jobs.length > 0 && table.hidden) location.reload(); // the first job: the page has its tools then
  count();
}

// count has the button say how many jobs are chosen, and takes no more than can be compared.
function count() {
  const boxes = [...rows.querySelectorAll("input")];
  const chosen = boxes.filter((box) => box.checked).length;
  for (const box of boxes) box.disabled = !box.checked && chosen >= most;
  const button = document.querySelector("#compare-chosen");
  if (!button) return;
  button.disabled = chosen < 2;
  write(button, chosen < 2 ? "Choose two jobs to compare" : `Compare ${chosen} jobs`);
}

table.addEventListener("change", count);
count();

poll(period, async () => {
  const question = `${root}${api}jobs?${new URLSearchParams({ limit: 100, prefix, after })}`;
  const answer = await request(question);
  showAll((await answer.json()).jobs);
  write(document.querySelector('[data-field="fault"]'), "");
});
