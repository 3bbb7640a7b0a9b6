// A person who has never seen it makes a job, has clients train it, compares two runs and
// stops one: by mouse, by keyboard alone, and on a phone.
//
//   npm ci && node --test journey-training.test.js

import { after, before } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { found } from "./axe.js";
import { faint } from "./contrast.js";
import { byKeyboard, byMouse, onPhone } from "./journeys.js";
import { Stage, build, desktop, overflows, patience, phone, picture } from "./stage.js";
import { keyboard, mouse } from "./ways.js";

const stage = new Stage();
let scratch;
let flclient; // the program

before(async () => {
  scratch = mkdtempSync(join(tmpdir(), "flclient-"));
  flclient = build("./examples/flclient", scratch);
  await stage.start("flcollector", ["-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0", "-park", "1s"],
    (line) => line.startsWith("repository listening on"));
});

after(async () => {
  await stage.close();
  rmSync(scratch, { recursive: true, force: true });
});

// fits checks that a page can be read and does not scroll sideways.
async function fits(page) {
  assert.equal(await overflows(page), false);
  assert.deepEqual(await faint(page), []);
  assert.deepEqual(await found(page), []);
}

// make makes a job in the form, and returns when its page is shown.
async function make(page, way, id, rate) {
  await way.press(page.getByRole("link", { name: "Make a job" }));
  await page.waitForURL("**/new");
  await way.type(page.getByLabel("Model", { exact: true }), "tumours");
  await way.type(page.getByLabel("Version of the model"), "1.0");
  await way.type(page.getByLabel("Rounds", { exact: true }), "5");
  await way.type(page.getByLabel("Clients", { exact: true }), "3");
  await way.type(page.getByLabel("Identifier of the job"), id);
  await way.choose(page.getByLabel("How updates become one model"), "FedAvgM");
  await way.type(page.getByLabel("server_learning_rate"), rate);
  await way.press(page.getByRole("button", { name: "Start the job" }));
}

// train runs the command that the page of a waiting job shows, until the server sends the
// clients away.
async function train(page) {
  const command = await page.locator("#waiting .copied").last().evaluate((element) => element.firstChild.textContent);
  const address = /^go run \.\/examples\/flclient (\S+)$/.exec(command)[1];
  const clients = spawn(flclient, [address], { stdio: "ignore", timeout: 5 * patience });
  assert.equal(await new Promise((ended) => clients.once("exit", ended)), 0);
}

async function journey(t, name, way, options) {
  const { page, complaints } = await stage.open(t, "/ui/training/", options);
  page.on("dialog", (dialog) => dialog.accept());
  const id = (what) => `${name}-${what}`;
  const look = way === keyboard ? () => {} : fits; // the pages are those of the mouse
  const state = (text) => page.locator('h1 [data-field="status"]', { hasText: text }).waitFor();

  // A faulty form says what is wrong at the field, and keeps what was typed.
  await make(page, way, id("one"), "-1");
  const rate = page.getByLabel("server_learning_rate");
  assert.equal(await rate.evaluate((input) => input.validity.rangeUnderflow), true, "the browser knows the bound");
  await way.type(rate, "1");
  await way.type(page.getByLabel("Identifier of the configuration"), "one");
  await way.press(page.getByRole("button", { name: "Start the job" }));
  await page.getByText("The job is not started: 1 field needs another value.").waitFor();
  const configuration = page.getByLabel("Identifier of the configuration");
  assert.equal(await configuration.getAttribute("aria-invalid"), "true");
  assert.notEqual(await page.locator("#fault-configuration_id").textContent(), "");
  await picture(page, `journey-training-${name}-fault`);
  await way.type(configuration, "1");

  // What privacy costs is said as it is typed.
  const privacy = page.getByLabel("Differential privacy", { exact: false });
  await way.press(privacy);
  await way.type(page.getByLabel("num_sampled_clients"), "100");
  await way.type(page.getByLabel("noise_multiplier"), "3");
  await page.locator("#estimate", { hasText: /^Epsilon will be [\d.]+ after 5 rounds/ }).waitFor();
  await look(page);
  await picture(page, `journey-training-${name}-form`);
  await way.press(privacy);
  await way.press(page.getByRole("button", { name: "Start the job" }));

  // The job waits, and shows the command with which clients come.
  await page.waitForURL(`**/live/${id("one")}`);
  await page.locator("#waiting", { hasText: "Waits for 3 more clients" }).waitFor();
  await look(page);
  await picture(page, `journey-training-${name}-waits`);
  await train(page);
  await state("FINISHED");
  await page.locator("#waiting").waitFor({ state: "hidden" });
  await page.locator("#report strong", { hasText: "oncology" }).waitFor();
  await look(page);
  await picture(page, `journey-training-${name}-trained`);

  // A second run is compared with it.
  await way.press(page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "Training" }));
  await make(page, way, id("two"), "0.5");
  await page.waitForURL(`**/live/${id("two")}`);
  await page.locator("#waiting", { hasText: "Waits for 3 more clients" }).waitFor();
  await train(page);
  await state("FINISHED");
  await way.press(page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "Training" }));
  await look(page);
  for (const job of [id("one"), id("two")]) await way.press(page.getByLabel(`Compare ${job}`));
  await way.press(page.getByRole("button", { name: "Compare 2 jobs" }));
  await page.waitForURL("**/compare?*");
  await page.waitForFunction(() => document.querySelectorAll('[data-chart="loss"] .u-series').length === 3 && document.querySelector('[data-metric="accuracy"] canvas'));
  assert.deepEqual(await page.locator("#configured .differs code").allTextContents(), ["strategy_conf.server_learning_rate"]);
  await look(page);
  await picture(page, `journey-training-${name}-compared`);
  if (way === mouse) await losesTheServer(page);

  // A job like one of them is made, and stopped.
  await way.press(page.locator("#reached").getByRole("link", { name: id("two") }));
  await way.press(page.getByRole("link", { name: "Make a job like this" }));
  await page.waitForURL("**/new?*");
  assert.equal(await page.getByLabel("server_learning_rate").inputValue(), "0.5");
  await way.type(page.getByLabel("Identifier of the job"), id("three"));
  await way.press(page.getByRole("button", { name: "Start the job" }));
  await page.waitForURL(`**/live/${id("three")}`);
  await state("WAITING");
  await way.press(page.getByRole("button", { name: "Stop the job" }));
  await page.getByText(`The job ${id("three")} is stopped.`).waitFor();
  await state("INTERRUPTED");
  await page.getByRole("button", { name: "Train anew" }).waitFor();
  await picture(page, `journey-training-${name}-stopped`);
  assert.deepEqual(complaints, expected(complaints));
}

// losesTheServer checks that a page about jobs that have ended says whether the server answers.
async function losesTheServer(page) {
  const live = page.locator("#live");
  await live.getByText("live", { exact: true }).waitFor();
  await page.context().setOffline(true);
  await live.getByText("The server cannot be reached.").waitFor();
  await page.context().setOffline(false);
  await live.getByText("live", { exact: true }).waitFor();
}

// expected are the complaints that belong to the journey: the answer to the faulty form, and
// requests while the server could not be reached.
const expected = (complaints) => complaints.filter((text) => text.includes("422") || text.includes("ERR_INTERNET_DISCONNECTED"));

const title = "a model is trained";
byMouse(title, (t) => journey(t, "mouse", mouse, desktop));
byKeyboard(title, (t) => journey(t, "keyboard", keyboard, desktop));
onPhone(title, (t) => journey(t, "phone", mouse, phone));
