// The workbench: tries the mapping as it is typed, shows its findings at their lines, and what
// comes of the message as statements, as a graph and as it would be published.

import { createEditor } from "./editor.js";
import { report, request, setLive } from "./shell.js";

const pause = 400; // milliseconds after the last key
const root = document.getElementById("main").dataset.root;
const field = (id) => document.getElementById(id);
const languages = { JSON: "json", XML: "xml", CSV: "" };

const message = createEditor(field("message"), { language: languages[field("inputFormat").value], onChange: later });
const mapping = createEditor(field("rml"), { language: "turtle", onChange: later });

let timer;
let running; // the request under way, which a newer one ends

function later() {
  clearTimeout(timer);
  timer = setTimeout(tryIt, pause);
}

async function tryIt() {
  clearTimeout(timer);
  running?.abort();
  if (!mapping.text.trim() || !message.text.trim()) return;
  const mine = new AbortController();
  running = mine;
  setLive("running", "trying …");
  try {
    const answer = await request(`${root}workbench/try`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      signal: mine.signal,
      body: JSON.stringify({
        message: message.text, rml: mapping.text, inputFormat: field("inputFormat").value, outputFormat: field("outputFormat").value,
      }),
    });
    show(await answer.json());
    setLive("running", "up to date");
  } catch (error) {
    if (error.name !== "AbortError") setLive("failed", error.message, error.status);
  }
}

function paragraph(text) {
  const p = document.createElement("p");
  p.className = "fault";
  p.textContent = text;
  return p;
}

// show shows what came of a trial.
function show(result) {
  const { fault, failure, findings } = result;
  field("result").hidden = false;
  const verdict = [];
  if (fault) verdict.push(paragraph(`Mapping${fault.line ? `, line ${fault.line}` : ""}${fault.node ? `, ${fault.node}` : ""}: ${fault.text}`));
  if (failure) verdict.push(paragraph(`Message${failure.place ? `, ${failure.place}` : ""}${failure.node ? `, ${failure.node}` : ""}: ${failure.text}`));
  if (!fault && !failure) {
    const p = document.createElement("p");
    const count = result.statements.length + result.more;
    p.textContent = `${result.records} record${result.records === 1 ? "" : "s"}, ${count} statement${count === 1 ? "" : "s"}.`;
    if (count === 0) p.className = "fault";
    verdict.push(p);
  }
  field("verdict").replaceChildren(...verdict);
  field("findings").replaceChildren(...findings.map((finding) => {
    const item = document.createElement("li");
    if (finding.line) {
      const link = document.createElement("button");
      link.type = "button";
      link.className = "quiet";
      link.textContent = `Line ${finding.line}`;
      link.addEventListener("click", () => mapping.go(finding.line, 1));
      item.append(link, " ");
    }
    item.append(finding.text);
    return item;
  }));
  const marks = findings.filter(({ line }) => line > 0).map(({ line, text }) => ({ line, column: 1, severity: "warning", message: text }));
  if (fault?.line) marks.push({ line: fault.line, column: 1, severity: "error", message: fault.text });
  mapping.show(marks);
  if (fault) return; // what was there before stays until the mapping can be read again
  mapping.mark([]);
  field("output").textContent = result.output;
  field("more").textContent = result.more > 0 ? `${result.more} more statements are not shown.` : "";
  table(result.statements);
  statements = result.statements;
  if (!panel("graph").hidden) draw();
}

let statements = [];

// short writes a term for people: the end of an IRI, the text of a literal.
function short({ text, isLiteral }) {
  if (isLiteral) return JSON.parse(text.match(/^"(?:[^"\\]|\\.)*"/)?.[0].replace(/\\(?!["\\/bfnrtu])/g, "\\\\") ?? '""');
  return text.startsWith("<") ? text.slice(1, -1).replace(/^.*[/#](?=[^/#])/, "") : text;
}

function table(rows) {
  field("statements").tBodies[0].replaceChildren(...rows.map((statement) => {
    const row = document.createElement("tr");
    for (const [label, term] of [["Subject", statement.subject], ["Predicate", statement.predicate], ["Object", statement.object]]) {
      const cell = document.createElement("td");
      const code = document.createElement("code");
      cell.dataset.label = label;
      code.textContent = label === "Object" ? term.text : short(term);
      code.title = term.text;
      cell.append(code);
      row.append(cell);
    }
    const cell = document.createElement("td");
    cell.dataset.label = "Rule";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = `line ${statement.line}`;
    button.title = statement.node;
    button.addEventListener("click", () => choose(row, statement));
    cell.append(button);
    row.append(cell);
    return row;
  }));
}

// choose marks the rule that made a statement.
function choose(row, statement) {
  for (const other of row.parentElement.children) other.classList.toggle("chosen", other === row);
  mapping.mark([{ from: statement.line, to: ruleEnd(statement.line) }]);
  mapping.go(statement.line, 1);
}

// ruleEnd returns the last line of the part of the mapping that begins on a line: where the
// brackets that open there are closed.
function ruleEnd(line) {
  const lines = mapping.text.split("\n");
  let open = 0;
  for (let at = line; at <= lines.length; at += 1) {
    const text = lines[at - 1].replace(/"(?:[^"\\]|\\.)*"|<[^>]*>|#.*$/g, "");
    for (const character of text) open += character === "[" ? 1 : character === "]" ? -1 : 0;
    if (open <= 0) return at;
  }
  return lines.length;
}

const panel = (name) => document.querySelector(`[data-panel="${name}"]`);
const tabs = [...document.querySelectorAll("[data-tab]")];

function open(name) {
  for (const tab of tabs) {
    tab.setAttribute("aria-pressed", String(tab.dataset.tab === name));
    panel(tab.dataset.tab).hidden = tab.dataset.tab !== name;
  }
  if (name === "graph") draw();
}

document.querySelector(".tabs").hidden = false;
for (const tab of tabs) tab.addEventListener("click", () => open(tab.dataset.tab));
open("statements");

const most = 150; // statements of the graph; more cannot be read
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// draw draws the graph. The library is loaded when it is looked at for the first time.
async function draw() {
  const { default: cytoscape } = await import("./cytoscape.esm.min.js");
  const nodes = new Map();
  const edges = [];
  for (const [i, { subject, predicate, object }] of statements.slice(0, most).entries()) {
    const to = object.isLiteral ? `${i} ${object.text}` : object.text; // each literal is a node of its own
    nodes.set(subject.text, { id: subject.text, label: short(subject), kind: "thing" });
    if (!nodes.has(to)) nodes.set(to, { id: to, label: short(object), kind: object.isLiteral ? "literal" : "thing" });
    edges.push({ id: `e${i}`, source: subject.text, target: to, label: short(predicate) });
  }
  cytoscape({
    container: field("graph"),
    elements: [...[...nodes.values()].map((data) => ({ data })), ...edges.map((data) => ({ data }))],
    layout: { name: "breadthfirst", directed: true, spacingFactor: 1.2, padding: 20, animate: false },
    wheelSensitivity: 0.3,
    style: [
      { selector: "node", style: { label: "data(label)", "text-wrap": "ellipsis", "text-max-width": "140px", "font-size": "12px", color: color("--text"), "background-color": color("--accent"), width: 18, height: 18, "text-valign": "bottom", "text-margin-y": 4 } },
      { selector: 'node[kind="literal"]', style: { shape: "round-rectangle", "background-color": color("--series-1"), width: 14, height: 14 } },
      { selector: "edge", style: { label: "data(label)", "font-size": "10px", color: color("--quiet"), "line-color": color("--line"), "target-arrow-color": color("--line"), "target-arrow-shape": "triangle", "curve-style": "bezier", width: 1.5, "text-background-color": color("--card"), "text-background-opacity": 1 } },
    ],
  });
}

field("inputFormat").addEventListener("change", () => {
  message.speak(languages[field("inputFormat").value]);
  later();
});
field("outputFormat").addEventListener("change", later);

field("try").addEventListener("click", (event) => {
  event.preventDefault();
  tryIt();
});

field("suggest").addEventListener("click", async (event) => {
  event.preventDefault();
  try {
    const answer = await request(`${root}workbench/suggest`, { method: "POST", headers: { "Content-Type": "text/plain" }, body: message.text });
    const suggested = await answer.json();
    field("inputFormat").value = suggested.inputFormat;
    message.speak(languages[suggested.inputFormat]);
    mapping.text = suggested.rml;
    tryIt();
  } catch (error) {
    report(error);
  }
});

tryIt();
