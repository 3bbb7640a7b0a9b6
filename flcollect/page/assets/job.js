// Follows one job: the rounds and statuses come as events, go into the elements
// that the server has made, and into the charts.

import { Charts } from "./charts.js";
import { Report, updates } from "./report.js";
import { asynchronous, bytes, epsilon, number, seconds, staleness } from "./format.js";
import { events, request, setLive, setTime, toast } from "./shell.js";

const most = 20000; // rounds that are kept; older ones are in the JSON
const shown = 10; // rows of the table
const look = 5000; // milliseconds between two looks at a job that does not run
const again = 2000; // milliseconds after which a stream that was lost is looked for

const { root } = document.querySelector("main").dataset;
const article = document.querySelector("#job");
const { api, job, round, reports } = article.dataset;
const waiting = document.querySelector("#waiting");
const rows = document.querySelector("#rounds tbody");
const prototype = document.querySelector("#round").content.querySelector("tr");
const quarantine = document.querySelector("#quarantine");

document.documentElement.classList.add("live");
const report = new Report(document.querySelector("#report"), `${root}${api}job/rounds/${encodeURIComponent(job)}`);
const charts = new Charts(document.querySelector("#charts"), document.querySelector("#said"));

let last; // id of the newest event
let run; // tells apart the trainings under the id of the job
let final = false; // whether the status with which it ended is shown
let rounds = []; // oldest first
let quarantined; // what is shown of it
let drawn; // the frame in which the rounds will be drawn

function write(element, text) {
  text = String(text);
  if (element && element.textContent !== text) element.textContent = text;
}

function field(name, text) {
  write(article.querySelector(`:scope > :not(#charts) [data-field="${name}"]`), text);
}

function time(name, text) {
  const place = article.querySelector(`[data-field="${name}"]`);
  if (!text || place.dataset.shown === text) return;
  place.dataset.shown = text;
  place.replaceChildren(document.createElement("time"));
  setTime(place.firstChild, new Date(text));
}

// begins forgets the rounds of another training.
function begins(id) {
  if (id === run) return;
  run = id;
  final = false;
  rounds = [];
  draw();
}

function showStatus(status) {
  begins(status.id);
  const reached = Math.max(0, status.round);
  article.dataset.state = status.status;
  document.title = `${job}: ${status.status}, ${status.async ? "version" : "round"} ${reached} of ${status.rounds}`;
  Object.assign(document.querySelector("progress"), { max: status.rounds, value: reached });
  field("status", status.status);
  const unit = status.async ? "Version" : "Round";
  field("async", asynchronous(status.async));
  document.querySelector('[data-field="async"]').parentElement.hidden = !status.async;
  field("progress", `${unit} ${reached} of ${status.rounds}`);
  field("error", status.error ?? "");
  const early = status.early_end;
  field("early", early ? `Ended early: ${early.metric} was ${number(early.value_achieved)}, ${early.below ? "less" : "more"} than ${number(early.value_maximal)}.` : "");
  field("note", status.note ?? "");
  field("epsilon", epsilon(status));
  const encrypted = status.privacy_mechanisms?.includes("homomorphic");
  field("model-file", `Model (${encrypted ? ".pkl, encrypted" : ".npz"})`);
  for (const place of [document.querySelector('[data-field="epsilon"]').parentElement, document.querySelector('[data-chart="epsilon"]')]) {
    place.hidden = status.epsilon === undefined;
  }
  field("model", `${status.model_name ?? ""} ${status.model_version ?? ""}`);
  field("strategy", status.strategy ?? "");
  field("configuration", status.configuration_id ?? "");
  field("clients", status.clients ?? 0);
  field("updates", updates(status.updates));
  time("created", status.created);
  time("started", status.started);
  time("ended", status.ended);
  showWaiting(status);
  field("stored", status.stored ? "in the repository" : "");
  showQuarantine(status.quarantined ?? []);
}

// A command can be copied where the page is on this machine or has TLS.
for (const command of navigator.clipboard ? waiting.querySelectorAll(".copied") : []) {
  const text = command.textContent;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "quiet", textContent: "Copy" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("The command is copied.");
    } catch {
      toast("The browser does not let the page copy. Select the text instead.", { error: true });
    }
  });
  command.append(button);
}

// showWaiting says how many clients the job waits for, and which have come.
function showWaiting({ clients = 0, clients_needed: needed = 0 }) {
  const missing = Math.max(0, needed - clients);
  waiting.hidden = missing === 0;
  if (missing === 0) return;
  field("missing", `${missing} more client${missing === 1 ? "" : "s"}`);
  field("connected", `${clients} of ${needed}`);
  if (reports === "shown") showNames();
}

async function showNames() {
  try {
    const answer = await request(`${root}live/${encodeURIComponent(job)}/clients`);
    field("names", (await answer.json()).join(", ") || "none yet");
  } catch {
    // the line #live says whether there is an answer
  }
}

function showQuarantine(refused) {
  const text = JSON.stringify(refused);
  if (text === quarantined) return;
  quarantined = text;
  quarantine.hidden = refused.length === 0;
  const body = quarantine.querySelector("tbody");
  body.replaceChildren(...refused.toReversed().map((update) => {
    const row = document.createElement("tr");
    for (const [label, text] of [["Round", update.round], ["Client", update.client], ["Reason", update.reason]]) {
      const cell = row.insertCell();
      cell.dataset.label = label;
      write(cell, text);
    }
    return row;
  }));
}

function showRound(row, round) {
  row.dataset.round = round.round;
  const fields = {
    number: round.round,
    note: round.note ?? "",
    loss: number(round.loss),
    metrics: Object.keys(round.metrics ?? {}).sort().map((name) => `${name} ${number(round.metrics[name])}`).join(", "),
    clients: `${round.fit.results} of ${round.fit.clients}`,
    staleness: staleness(round.async),
    failures: round.fit.failures + round.evaluate.failures,
    sent: bytes(round.fit.bytes_sent + round.evaluate.bytes_sent),
    received: bytes(round.fit.bytes_received + round.evaluate.bytes_received),
    seconds: seconds(round.fit.seconds + round.evaluate.seconds),
  };
  for (const [name, text] of Object.entries(fields)) write(row.querySelector(`[data-field="${name}"]`), text);
}

// draw shows the rounds once before the next picture, however many have come.
function draw() {
  drawn ??= requestAnimationFrame(() => {
    drawn = undefined;
    const last = rounds.slice(-shown).reverse();
    rows.replaceChildren(...last.map((round) => {
      const row = prototype.cloneNode(true);
      showRound(row, round);
      return row;
    }));
    document.querySelector("#no-rounds").hidden = rounds.length > 0;
    document.querySelector("#files").hidden = rounds.length === 0;
    const losses = rounds.filter((round) => round.loss !== undefined);
    field("loss", number(losses.at(-1)?.loss));
    charts.show(rounds);
    if (reports === "shown") report.want(rounds.at(-1)?.round ?? 0); // otherwise the server would refuse them
  });
}

function add(id, round) {
  begins(id);
  if (rounds.length > 0 && round.round <= rounds.at(-1).round) return; // seen before the connection was lost
  rounds.push(round);
  if (rounds.length > most + 1000) rounds = rounds.slice(-most);
  draw();
}

// follow takes the events of the job until their stream ends, and has them looked for again. The
// id of an event begins with that of the training.
async function follow(from) {
  try {
    const address = `${root}${api}job/events/${encodeURIComponent(job)}?after=${from}`;
    for await (const { event, id, data } of events(address, parseInt(last, 10) === run ? last : undefined)) {
      setLive("running", "live");
      last = id;
      if (event === "round") {
        add(parseInt(id, 10), JSON.parse(data));
        continue;
      }
      const status = JSON.parse(data);
      showStatus(status);
      final = ["INTERRUPTED", "FINISHED"].includes(status.status);
    }
    if (final) setLive("", "ended");
    else setLive("failed", "no answer, trying again");
  } catch (error) {
    fails(error);
  }
  setTimeout(watch, final ? look : again);
}

const ask = () => request(`${root}${api}job/status/${encodeURIComponent(job)}`, { signal: AbortSignal.timeout(look) });

function fails({ status, message }) {
  if (status === 401 || status === 403) setLive("failed", message, status);
  else setLive("failed", "no answer, trying again");
}

// watch waits until there is something to follow.
async function watch() {
  try {
    const status = await (await ask()).json();
    const over = ["INTERRUPTED", "FINISHED"].includes(status.status);
    if (status.id !== -1 && (status.id !== run || !final)) return follow(begin(status.round));
    setLive("", over ? "ended" : "waiting for the job");
  } catch (error) {
    fails(error);
  }
  setTimeout(watch, look);
}

function begin(round) {
  return Math.max(0, Number(round) - most);
}

follow(begin(round));
