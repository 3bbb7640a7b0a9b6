// Shows what became of the updates of the last round: one question at a time, and
// one a second at most, however fast rounds end.

import { called, number } from "./format.js";

const pause = 1000; // milliseconds
const most = 100; // clients that are shown
const outcomes = ["kept", "clipped", "refused", "failed"];

// updates says what became of updates, as the server does.
export function updates(counts) {
  if (!counts) return "";
  const far = counts.far ? ` (${counts.far} of them far)` : "";
  const text = outcomes.map((outcome) => `${counts[outcome]} ${outcome}${outcome === "kept" ? far : ""}`).join(", ");
  const converted = counts.converted ? `; ${counts.converted} converted${conversions(counts.conversions)}` : "";
  const compressed = counts.compressed ? `; ${counts.compressed} compressed${compressions(counts.compressions)}` : "";
  const dropped = counts.dropped ? `; ${counts.dropped} with local layers, which were dropped` : "";
  return text + converted + compressed + dropped;
}

function compressions(list) {
  if (!list) return "";
  return `: ${list.map((c) => `${c.updates} as ${c.kind}, ${c.bytes} of ${c.whole_bytes} bytes`).join(", ")}`;
}

function conversions(list) {
  if (!list) return "";
  return `: ${list.map(({ from, to, layers }) => `${from} to ${to} in ${layers} layer${layers === 1 ? "" : "s"}`).join(", ")}`;
}

export class Report {
  constructor(section, path) {
    this.section = section;
    this.path = path;
    this.wanted = 0;
    this.asking = false;
  }

  // want has the report of a round shown soon, 0 none.
  want(round) {
    this.wanted = round;
    if (round === 0) this.section.hidden = true;
    this.ask();
  }

  async ask() {
    if (this.asking || this.wanted === 0 || this.wanted === this.shown) return;
    this.asking = true;
    const round = this.wanted;
    try {
      const answer = await fetch(`${this.path}/${round}/report?limit=${most}`, { cache: "no-store", signal: AbortSignal.timeout(10 * pause) });
      if (answer.ok && this.wanted !== 0) this.show(await answer.json());
      this.shown = round;
    } catch {
      // the page says elsewhere that there is no answer
    }
    setTimeout(() => {
      this.asking = false;
      this.ask();
    }, pause);
  }

  show(report) {
    const { section } = this;
    section.hidden = false;
    section.querySelector("h2").textContent = `Updates of round ${report.round}: ${updates(report.outcomes)}`;
    section.querySelector("tbody").replaceChildren(...report.clients.map(row));
    const rest = section.querySelector("#report-rest");
    rest.hidden = report.next === undefined;
    rest.querySelector("a").href = `${this.path}/${report.round}/report?after=${report.next ?? 0}`;
  }
}

function row(client) {
  const made = document.createElement("tr");
  made.dataset.outcome = client.outcome;
  const cells = [
    ["Client", client.client], ["Outcome", client.outcome], ["Weight", client.num_examples ?? "", "number"],
    ["Norm", number(client.norm), "number"], ["Bound", number(client.bound), "number"],
    ["Reputation", reputation(client.reputation)], ["Reason", remark(client)],
  ];
  for (const [label, text, kind] of cells) {
    const cell = made.insertCell();
    cell.dataset.label = label;
    if (kind) cell.className = kind;
    cell.textContent = String(text);
    if (label === "Client" && called(client)) cell.replaceChildren(strong(called(client)), small(client.client));
  }
  return made;
}

function strong(text) {
  const made = document.createElement("strong");
  made.textContent = text;
  return made;
}

function small(text) {
  const made = document.createElement("span");
  made.className = "small";
  made.textContent = text;
  return made;
}

// remark says why an update was not kept, or what is notable of it.
function remark(client) {
  const converted = client.converted ? `converted${conversions(client.converted)}` : "";
  const compressed = client.compressed ? `compressed: ${client.compressed.kind}` : "";
  const dropped = client.dropped ? `${client.dropped} local layers dropped` : "";
  const stale = client.staleness ? `staleness ${client.staleness}` : "";
  return [client.reason, converted, compressed, dropped, stale].filter(Boolean).join("; ");
}

function reputation(known) {
  if (!known) return "";
  const until = known.suspended_until ? `, suspended to round ${known.suspended_until}` : "";
  return `${number(known.score)}${until}`;
}
