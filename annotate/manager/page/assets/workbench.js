// The workbench: runs the mapping as it is typed, shows findings at their lines, and the
// result for the sample as statements, as a graph and as text.

import { createEditor } from "./editor.js";
import { report, request, setLive, toast } from "./shell.js";

const pause = 400; // milliseconds after the last key
const root = document.getElementById("main").dataset.root;
const field = (id) => document.getElementById(id);
const languages = { JSON: "json", XML: "xml", CSV: "" };
const notations = { RML: "turtle", YARRRML: "yaml" }; // of mappings

const sample = createEditor(field("sample"), { language: languages[field("inputFormat").value], onChange: changed });
const mapping = createEditor(field("rml"), { language: notations[field("language").value], onChange: changed, onLine: showLine });

let timer;

function changed() {
  field("example").hidden = Boolean(sample.text || mapping.text);
  if (field("use")) field("use").hidden = !mapping.text.trim();
  field("suggest").classList.toggle("quiet", Boolean(mapping.text.trim()));
  clearTimeout(timer);
  timer = setTimeout(run, pause);
}

// Only one run is in progress at a time. Later input is run after it.
let isRunning = false;
let isStale = false;

async function run() {
  clearTimeout(timer);
  if (!mapping.text.trim() || !sample.text.trim()) {
    field("result").hidden = true;
    setLive("", sample.text.trim() ? "no mapping yet" : "no message yet");
    return;
  }
  if (isRunning) {
    isStale = true;
    return;
  }
  isRunning = true;
  isStale = false;
  try {
    const answer = await request(`${root}workbench/run`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        sample: sample.text, mapping: mapping.text, inputFormat: field("inputFormat").value, outputFormat: field("outputFormat").value,
        language: field("language").value, dialect: field("dialect").value, shapes: field("shapes").value,
      }),
    });
    const result = await answer.json();
    if (!isStale) show(result);
  } catch (error) {
    setLive("failed", error.message, error.status);
    if (error.status === 503) timer = setTimeout(run, 2000); // others use all slots
  } finally {
    isRunning = false;
    if (isStale) run();
  }
}

function element(name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const said = (...parts) => parts.filter(Boolean).join(", ");

let statements = [];
let prefixes = []; // of the mapping: [name, IRI]

// show shows the result of a run.
function show(result) {
  const { fault, failure, findings } = result;
  field("result").hidden = false;
  const verdict = [];
  if (fault) verdict.push(element("p", { className: "fault" }, `${said("Mapping", fault.line && `line ${fault.line}`, fault.node)}: ${fault.text}`));
  if (failure) verdict.push(element("p", { className: "fault" }, `${said("Message", failure.place && `at ${failure.place}`, failure.node)}: ${failure.text}`));
  if (!fault && !failure) {
    const count = result.statements.length + result.more;
    verdict.push(element("p", { className: count ? "" : "fault" }, `${counted(count, "statement")} from ${counted(result.records, "record")} of the message.`));
  }
  if (result.illTyped) verdict.push(element("p", { className: "warning" }, `${counted(result.illTyped, "statement")} ${result.illTyped === 1 ? "has" : "have"} a literal whose text its datatype does not have; a channel publishes it as it is.`));
  if (result.irregularRows.length > 0) verdict.push(element("p", { className: "warning" }, "Rows of the message do not have the cells of its header; a channel publishes the result."));
  if (result.invalid) verdict.push(element("p", { className: "fault" }, "The RDF violates the shapes; a channel does not publish it."));
  if (result.unchecked) verdict.push(element("p", { className: "note" }, "The shapes select no node of the RDF, so that nothing was checked."));
  if (fault && statements.length > 0) verdict.push(element("p", { className: "note" }, "Below is the RDF of the last mapping without an error."));
  if (field("verdict").textContent !== verdict.map((p) => p.textContent).join("")) field("verdict").replaceChildren(...verdict);
  const warning = result.statements.length === 0 ? "no statements" : result.illTyped ? "literals are ill-typed" : result.irregularRows.length > 0 ? "rows are irregular" : result.unmatched ? "an iterator selects nothing" : "";
  setLive(fault || failure || result.invalid ? "failed" : warning ? "waiting" : "running", fault ? "the mapping has an error" : failure ? "the message fails" : result.invalid ? "the shapes are violated" : warning || "up to date");

  field("findings").replaceChildren(...findings.map(({ line, node, text }) => {
    const words = node ? `${node}: ${text}` : text;
    if (!line) return element("li", {}, words);
    const link = element("button", { type: "button", className: "quiet" }, `Line ${line}`);
    link.addEventListener("click", () => mapping.go(line, 1));
    return element("li", {}, link, " ", words);
  }));
  field("violations").replaceChildren(...result.violations.map(({ severity, line, shape, text }) =>
    element("li", {}, `${severity}, line ${line} of the shapes`, ...(shape ? [", ", element("code", {}, shape)] : []), `: ${text}`)));
  const marks = findings.filter(({ line }) => line > 0).map(({ line, text }) => ({ line, column: 1, severity: "warning", message: text }));
  if (fault?.line) marks.push({ line: fault.line, column: fault.column || 1, severity: "error", message: fault.text });
  mapping.show(marks);
  const rows = result.irregularRows.filter(({ at }) => at).map(({ at, text }) => ({ ...at, severity: "warning", message: text }));
  sample.show(failure?.at ? [{ ...failure.at, severity: "error", message: failure.text }] : rows);

  if (fault) return; // the last result stays until the mapping can be read again
  field("rdf").hidden = result.statements.length === 0;
  mapping.mark([]);
  field("output").textContent = result.output;
  field("more").textContent = result.more > 0 ? `${counted(result.more, "more statement")} not shown.` : "";
  field("rule").textContent = "";
  statements = result.statements;
  const declared = field("language").value === "YARRRML" ? /^\s+([\w.-]+:)\s+["']?([a-z][a-z0-9+.-]*:[^\s"',}]+)/gim : /^\s*@?prefix\s+([\w.-]*:)\s*<([^>]+)>/gim;
  prefixes = [...mapping.text.matchAll(declared)].map(([, name, iri]) => [name, iri]);
  table();
  if (!panel("graph").hidden) draw();
}

// short writes an IRI for people: with a prefix of the mapping, or without the host.
function short(iri) {
  if (iri === "http://www.w3.org/1999/02/22-rdf-syntax-ns#type") return "a";
  for (const [name, start] of prefixes) {
    if (iri.startsWith(start) && !/[/#]/.test(iri.slice(start.length))) return name + iri.slice(start.length);
  }
  const rest = iri.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*\/(?=.)/i, "");
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}

function label(term) {
  if (term.isLiteral) return term.value ?? "";
  return term.text.startsWith("<") ? short(term.text.slice(1, -1)) : term.text;
}

function kind({ datatype, language }) {
  if (language) return `@${language}`;
  return datatype ? short(datatype) : "";
}

function cell(name, term) {
  const code = element("code", { title: term.text }, term.isLiteral ? `"${label(term)}"` : label(term));
  const created = element("td", {}, code);
  created.dataset.label = name;
  const type = kind(term);
  if (type) created.append(element("span", { className: "small" }, type));
  return created;
}

function table() {
  const body = field("statements").tBodies[0];
  body.replaceChildren(...statements.map((statement, i) => {
    const button = element("button", { type: "button", className: "quiet", title: statement.node }, `line ${statement.line}`);
    button.setAttribute("aria-pressed", "false");
    const rule = element("td", {}, button);
    rule.dataset.label = "Rule";
    const object = cell("Object", statement.object);
    if (statement.illTyped) object.append(element("span", { className: "small warning" }, statement.illTyped));
    const row = element("tr", {}, cell("Subject", statement.subject), cell("Predicate", statement.predicate), object, rule);
    row.addEventListener("click", () => choose(i));
    return row;
  }));
}

// choose marks a statement and the rule that created it.
function choose(i) {
  const { line, node } = statements[i];
  highlight((_, at) => at === i);
  mapping.mark([{ from: line, to: ruleEnd(line) }]);
  mapping.reveal(line);
  field("rule").textContent = `Line ${line} created the statement: ${node}.`;
}

// showLine highlights the statements of the rule around a line of the mapping.
function showLine(line) {
  const around = Math.max(0, ...statements.map((statement) => statement.line).filter((start) => start <= line && ruleEnd(start) >= line));
  const count = highlight((statement) => statement.line === around);
  mapping.mark(count ? [{ from: around, to: ruleEnd(around) }] : []);
  field("rule").textContent = count ? `Line ${around} created ${counted(count, "statement")}, highlighted below.` : "";
}

// highlight highlights the statements that a function accepts, and returns how many.
function highlight(accepts) {
  let count = 0;
  for (const [i, row] of [...field("statements").tBodies[0].rows].entries()) {
    const isChosen = Boolean(statements[i] && accepts(statements[i], i));
    row.classList.toggle("chosen", isChosen);
    row.querySelector("button")?.setAttribute("aria-pressed", String(isChosen));
    if (isChosen) count += 1;
  }
  drawn?.edges().forEach((edge) => edge.toggleClass("chosen", accepts(statements[edge.data("statement")], edge.data("statement"))));
  return count;
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
let drawn; // the graph

// The library adds a style sheet, which the policy forbids, unless there is an element with its
// name. page.css has the one rule of it.
document.head.append(element("meta", { id: "__________cytoscape_stylesheet" }));

// draw draws the graph. The library is loaded when it is looked at for the first time.
async function draw() {
  const { default: cytoscape } = await import("./cytoscape.esm.min.js");
  const nodes = new Map();
  const edges = [];
  for (const [i, { subject, predicate, object }] of statements.slice(0, most).entries()) {
    const to = object.isLiteral ? `${i} ${object.text}` : object.text; // each literal is a node of its own
    nodes.set(subject.text, { id: subject.text, label: label(subject), kind: "subject" });
    if (!nodes.has(to)) nodes.set(to, { id: to, label: label(object), kind: object.isLiteral ? "literal" : "thing" });
    edges.push({ id: `e${i}`, source: subject.text, target: to, label: label(predicate), statement: i });
  }
  const text = { color: color("--text"), "font-family": "system-ui, sans-serif" };
  drawn?.destroy();
  drawn = cytoscape({
    container: field("graph"),
    elements: [...[...nodes.values()].map((data) => ({ data })), ...edges.map((data) => ({ data }))],
    layout: { name: edges.length > 40 ? "cose" : "breadthfirst", directed: true, spacingFactor: 1.2, padding: 20, animate: false },
    maxZoom: 2,
    style: [
      { selector: "node", style: { ...text, label: "data(label)", "text-wrap": "ellipsis", "text-max-width": "110px", "font-size": "12px", "background-color": color("--accent"), width: 18, height: 18, "text-valign": "bottom", "text-margin-y": 4 } },
      { selector: 'node[kind="literal"]', style: { shape: "round-rectangle", "background-color": color("--series-1"), width: 14, height: 14 } },
      { selector: 'node[kind="subject"]', style: { "text-valign": "top", "text-margin-y": -4 } },
      { selector: "edge", style: { ...text, "text-rotation": "autorotate", label: "data(label)", "font-size": "11px", "line-color": color("--edge"), "target-arrow-color": color("--edge"), "target-arrow-shape": "triangle", "curve-style": "bezier", width: 1.5, "text-background-color": color("--card"), "text-background-opacity": 1 } },
      { selector: "edge.chosen", style: { "line-color": color("--accent"), "target-arrow-color": color("--accent"), width: 4 } },
    ],
  });
  drawn.on("tap", "edge", (event) => choose(event.target.data("statement")));
  field("graph-note").textContent = statements.length > most ? `The first ${most} statements; the table has more.` : "";
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => panel("graph").hidden || draw());

field("language").addEventListener("change", () => {
  mapping.speak(notations[field("language").value]);
  changed();
});
field("inputFormat").addEventListener("change", () => {
  sample.speak(languages[field("inputFormat").value]);
  run();
});
field("outputFormat").addEventListener("change", run);
field("dialect").addEventListener("change", run);
field("shapes").addEventListener("input", changed);

field("run").hidden = true; // the page runs the mapping after each change

field("suggest").addEventListener("click", async (event) => {
  event.preventDefault();
  try {
    const answer = await request(`${root}workbench/suggest`, { method: "POST", headers: { "Content-Type": "text/plain" }, body: sample.text });
    const suggested = await answer.json();
    const isNew = !mapping.text.trim();
    field("inputFormat").value = suggested.inputFormat;
    sample.speak(languages[suggested.inputFormat]);
    field("language").value = "RML";
    mapping.speak(notations.RML);
    mapping.text = suggested.mapping;
    run();
    if (!isNew) toast("The mapping was replaced. Undo in its editor restores the old one.");
  } catch (error) {
    report(error);
  }
});

// Storing the mapping does not leave the page.
field("store")?.addEventListener("click", async (event) => {
  event.preventDefault();
  try {
    const name = field("mappingName").value.trim();
    const answer = await request(`${root}api/annotations`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        name, inputFormat: field("inputFormat").value, outputFormat: field("outputFormat").value, rml: mapping.text,
        language: field("language").value === "RML" ? undefined : field("language").value,
        shapes: field("shapes").value,
      }),
    });
    const id = (await answer.text()).trim();
    toast(`The mapping is stored as “${name || id}”.`, { link: element("a", { href: `${root}annotations/${id}` }, "Show it") });
  } catch (error) {
    report(error);
  }
});

run();
