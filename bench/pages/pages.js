// Fills cmd/enablers and measures how soon Chromium paints its pages. README.md says what
// is claimed.
//
//   (cd test/browser && npm ci) && node bench/pages/pages.js [--share 1] [--rounds 5]

import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { gzipSync } from "node:zlib";
import { parseArgs } from "node:util";
import { Stage, desktop } from "../../test/browser/stage.js";

const { values: flags } = parseArgs({ options: {
  share: { type: "string", default: "1" }, // of the counts below
  rounds: { type: "string", default: "5" },
} });
const share = Number(flags.share);
const count = { channels: 10_000 * share, models: 100_000 * share, jobs: 1000 * share, apis: 1000 * share };

// pages are the first pages of the sections, by what there is much of.
const pages = ["", "annotation/", "annotation/new", "annotation/workbench", "models/", "models/n/bench", "training/", "training/new",
  "apis/", "gateway/", "gateway/services", "links/"];

const listeners = ["listen", "mqtt", "modelrepo", "flcollector", "flcollector-grpc", "flcollector-fleet", "apimanager", "gateway", "gateway-admin",
  "multilink", "multilink-client"];
const stage = new Stage();
const address = {}; // of each service
let credentials; // the file with the password of the demonstration

// send sends one request, which must succeed.
async function send(method, url, body, headers = { "Content-Type": "application/json" }) {
  const answer = await fetch(url, { method, headers, body: typeof body === "object" && !(body instanceof FormData) ? JSON.stringify(body) : body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return text;
}

// many runs work for the numbers below n, some at a time.
async function many(n, work) {
  let next = 0;
  await Promise.all(Array.from({ length: 16 }, async () => {
    while (next < n) await work(next++);
  }));
}

async function fill() {
  const channel = JSON.parse(readFileSync(new URL("../../examples/weather/channel.json", import.meta.url)));
  channel.status.isStopped = true;
  await many(count.channels, (i) =>
    send("POST", `${address.annotator}/channels`, { ...channel, settings: { ...channel.settings, channelId: `channel-${i}` } }));
  await send("POST", `${address.models}/bench`, {});
  await many(count.models, (i) => send("POST", `${address.models}/bench/model-${i}`, {}));
  for (let i = 0; i < count.jobs; i++) {
    await send("POST", `${address.training}/job/config/job-${i}`, {
      strategy: "FedAvg", model_name: "model", model_version: "1", server_conf: { num_rounds: 5 },
      strategy_conf: {}, client_conf: [{ epochs: 1 }], "privacy-mechanisms": {}, configuration_id: 10,
    });
    await send("POST", `${address.training}/job/stop`);
  }
  const grant = new URLSearchParams({
    grant_type: "password", client_id: "public-backend-access", username: "demodeveloper", password: JSON.parse(readFileSync(credentials)).demo_password,
  });
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  const token = JSON.parse(await send("POST", `${address.apis}/auth/realms/OpenAPI/protocol/openid-connect/token`, `${grant}`, form)).access_token;
  const definition = JSON.stringify({
    openapi: "3.0.3", info: { title: "Benchmark", version: "1.0.0" },
    paths: { "/healthz": { get: { operationId: "health", responses: { 200: { description: "It is well." } } } } },
  });
  await many(count.apis, (i) => {
    const form = new FormData();
    form.set("upload_file", new Blob([definition], { type: "application/json" }), "openapi.json");
    const query = `enabler=bench-${i}&description=Benchmark&path=/bench-${i}&server=http://127.0.0.1:9`;
    return send("POST", `${address.apis}/OpenAPIDocumentation/?${query}`, form, { Authorization: `Bearer ${token}` });
  });
}

let signedIn; // the cookies of a person, whom the pages of APIs want

async function signIn() {
  const context = await stage.browser.newContext(desktop);
  const page = await context.newPage();
  await page.goto(`${address.annotator}/.enablers/sign-on?to=/ui/`);
  await page.getByLabel("User").fill("demodeveloper");
  await page.getByLabel("Password").fill(JSON.parse(readFileSync(credentials)).demo_password);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/ui/");
  signedIn = await context.storageState();
  await context.close();
}

// visit opens a page in a browser without a cache and returns the milliseconds to its first
// paint, and the bytes that came over the wire.
async function visit(path) {
  const context = await stage.browser.newContext({ ...desktop, storageState: signedIn });
  const page = await context.newPage();
  const answer = await page.goto(`${address.annotator}/ui/${path}`, { waitUntil: "load" });
  if (answer.status() !== 200) throw new Error(`${path}: ${answer.status()}`);
  const seen = await page.evaluate(async () => {
    const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
    while (!painted()) await new Promise(requestAnimationFrame);
    return { paint: painted().startTime, answer: performance.getEntriesByType("navigation")[0].responseEnd };
  });
  await context.close();
  return seen;
}

// weigh returns the compressed bytes of what every page needs: its style and its script.
async function weigh() {
  const context = await stage.browser.newContext(desktop);
  const page = await context.newPage();
  const files = [];
  page.on("response", (answer) => files.push(answer));
  await page.goto(`${address.annotator}/ui/`, { waitUntil: "networkidle" });
  let total = 0;
  for (const file of files) {
    const bytes = gzipSync(await file.body().catch(() => Buffer.alloc(0))).length;
    total += bytes;
    console.log(`    ${String(bytes).padStart(7)}  ${new URL(file.url()).pathname}`);
  }
  await context.close();
  return total;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

try {
  await stage.start("enablers", listeners.flatMap((name) => [`-${name}`, "127.0.0.1:0"]), (line) => {
    for (const [name, part] of [["annotator", "annotator"], ["models", "(model repository)"], ["training", "training collector"], ["apis", "API portal"]]) {
      if (line.startsWith("listening on http") && line.includes(part)) address[name] ??= line.split(" ")[2];
    }
    credentials ??= /\S+credentials\.json/.exec(line)?.[0];
    return line.startsWith("Or start with");
  });
  console.log(`${cpus()[0].model}, ${cpus().length} cores, node ${process.version}, Chromium ${stage.browser.version()}, load ${loadavg()[0]}`);
  console.log("compressed bytes of the overview, which has the shell:");
  console.log(`    ${String(await weigh()).padStart(7)}  together`);
  await signIn();
  const results = new Map(pages.map((page) => [page, { empty: [], full: [] }]));
  const measure = async (state) => {
    for (let round = 0; round < Number(flags.rounds); round++) {
      for (const page of pages) {
        if (state === "empty" && page === "models/n/bench") continue;
        results.get(page)[state].push(await visit(page));
      }
    }
  };
  await measure("empty");
  const start = performance.now();
  await fill();
  console.log(`filled in ${Math.round((performance.now() - start) / 1000)} s: ${JSON.stringify(count)}`);
  await measure("full");
  console.log("\n| page | first paint, empty, ms | first paint, full, ms | slowest, full | answer, full |\n|---|---:|---:|---:|---:|");
  for (const [page, { empty, full }] of results) {
    const of = (list, what) => list.length === 0 ? "" : Math.round(median(list.map((seen) => seen[what])));
    const slowest = Math.round(Math.max(...full.map((seen) => seen.paint)));
    console.log(`| /ui/${page} | ${of(empty, "paint")} | ${of(full, "paint")} | ${slowest} | ${of(full, "answer")} |`);
  }
} finally {
  await stage.close();
}
