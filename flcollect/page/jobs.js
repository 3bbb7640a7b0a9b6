// Keeps the list of jobs up to date: every two seconds it asks for the jobs of
// the page and writes what has changed into the rows that the server has made.

import { isRefused, showRefused } from "./refused.js";

const period = 2000; // milliseconds between two questions

const { root, after } = document.body.dataset;
const live = document.querySelector("#live");
const rows = document.querySelector("#jobs tbody");
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
    clients: job.clients ?? 0,
  };
  for (const [field, text] of Object.entries(fields)) write(row.querySelector(`[data-field="${field}"]`), text);
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
  document.querySelector("#empty").hidden = jobs.length > 0;
}

async function update() {
  try {
    const question = `${root}jobs?limit=100&after=${encodeURIComponent(after)}`;
    const answer = await fetch(question, { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (isRefused(answer.status)) {
      showRefused(live, answer.status);
      setTimeout(update, period);
      return;
    }
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    showAll((await answer.json()).jobs);
    write(document.querySelector('[data-field="fault"]'), "");
    live.dataset.state = "running";
    write(live, "live");
  } catch {
    live.dataset.state = "failed";
    write(live, "no answer, trying again");
  }
  setTimeout(update, period);
}

update();
