// Compares jobs: their losses and metrics on axes that they share, by round.

import { Charts, metricsOf } from "./charts.js";
import { number } from "./format.js";
import { poll, request } from "./shell.js";

const period = 3000; // milliseconds between two looks at the jobs
const most = 20000; // rounds of a job
const page = 1000; // rounds of an answer

const place = document.querySelector("#charts");
const { root } = document.querySelector("main").dataset;

document.documentElement.classList.add("live");

// curves are those of the jobs: one each, of what value reads from a round.
function curves(jobs, value) {
  return { names: () => jobs, value: (row, job) => (row.of[job] ? (value(row.of[job]) ?? null) : null), format: number };
}

// read asks for the state of a job, and adds the rounds that have ended since.
async function read(api, job, known) {
  const address = `${root}${api}job/`;
  const status = await (await request(`${address}status/${encodeURIComponent(job)}`)).json();
  if (known.run !== status.id) Object.assign(known, { run: status.id, rounds: [], complete: false });
  const over = ["FINISHED", "INTERRUPTED"].includes(status.status);
  if (over && known.complete) return;
  known.changed = true;
  for (;;) {
    const after = known.rounds.at(-1)?.round ?? Math.max(0, status.round - most);
    const { rounds } = await (await request(`${address}rounds/${encodeURIComponent(job)}?limit=${page}&after=${after}`)).json();
    known.rounds.push(...rounds);
    if (rounds.length < page) break;
  }
  known.complete = over;
}

// merged are the rounds of all jobs by their numbers.
function merged(jobs, known) {
  const rows = new Map();
  for (const job of jobs) {
    for (const round of known.get(job).rounds) {
      if (!rows.has(round.round)) rows.set(round.round, { round: round.round, of: {} });
      rows.get(round.round).of[job] = round;
    }
  }
  return [...rows.values()].sort((a, b) => a.round - b.round);
}

if (place) {
  const { api } = place.dataset;
  const jobs = JSON.parse(place.dataset.jobs);
  const known = new Map(jobs.map((job) => [job, { run: undefined, rounds: [], complete: false }]));
  const charts = new Charts(place, document.querySelector("#said"), {
    kinds: { loss: curves(jobs, (round) => round.loss) },
    metric: (name) => curves(jobs, (round) => round.metrics?.[name] ?? round.fit_metrics?.[name]),
    metrics: (rows) => metricsOf(rows.flatMap(({ of }) => Object.values(of))),
  });
  poll(period, async () => {
    await Promise.all(jobs.map((job) => read(api, job, known.get(job))));
    const states = [...known.values()];
    if (!states.some(({ changed }) => changed)) return;
    charts.show(merged(jobs, known));
    for (const state of states) state.changed = false;
  });
}
