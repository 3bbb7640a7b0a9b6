// Tries the pages of cmd/enablers in Chromium: the console and /swagger/, on a
// desktop and on a phone, with and without JavaScript.
//
//   npm ci && node --test
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const scratch = mkdtempSync(join(tmpdir(), "enablers-"));
const desktop = { viewport: { width: 1280, height: 900 } };
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

let server; // the process
let address; // of the console
let browser;

before(async () => {
  const program = join(scratch, "enablers");
  execFileSync("go", ["build", "-buildvcs=false", "-o", program, "./cmd/enablers"], { cwd: root, stdio: "inherit" });
  server = spawn(program, ["-listen", "127.0.0.1:0", "-mqtt", "127.0.0.1:0", "-modelrepo", "127.0.0.1:0",
    "-flcollector", "127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-data", join(scratch, "data"), "-demo"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  address = await new Promise((found, failed) => {
    const lines = createInterface({ input: server.stdout });
    lines.on("line", (line) => {
      const match = /^listening on (http:\S+)/.exec(line);
      if (match) found(match[1]);
    });
    lines.on("close", () => failed(new Error("the server ended")));
  });
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});

after(async () => {
  await browser?.close();
  server?.kill("SIGINT");
  if (server && server.exitCode === null) await new Promise((ended) => server.once("exit", ended));
  rmSync(scratch, { recursive: true, force: true });
});

// open opens a page that must not complain, and must ask nobody but the server.
async function open(t, path, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) complaints.push(`asked ${request.url()}`);
  });
  t.after(() => context.close());
  const answer = await page.goto(address + path);
  assert.equal(answer.status(), 200);
  return { page, complaints };
}

async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

// live waits until the page has been brought up to date often enough for rates.
async function live(page) {
  await page.locator("#live", { hasText: "live" }).waitFor();
  await page.waitForFunction(() => {
    const rates = [...document.querySelectorAll('#channels [data-field="rate"]')];
    return rates.length === 3 && rates.every((rate) => parseFloat(rate.textContent) > 20);
  });
}

async function received(page) {
  return Number((await page.locator('#channels [data-id="demo-json"] [data-field="received"]').textContent()).replaceAll(",", ""));
}

async function overflows(page) {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}

test("the console counts along on a desktop", async (t) => {
  const { page, complaints } = await open(t, "/", desktop);
  await live(page);
  const first = await received(page);
  await page.waitForFunction((least) => {
    const cell = document.querySelector('#channels [data-id="demo-json"] [data-field="received"]');
    return Number(cell.textContent.replaceAll(",", "")) > least;
  }, first + 50);
  assert.deepEqual(await page.locator("#channels tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset.state)),
    ["running", "running", "running"]);
  assert.equal(await page.locator("#empty").isVisible(), false);
  assert.notEqual(await page.locator('#channels [data-id="demo-csv"] path').getAttribute("d"), "");
  assert.equal(await overflows(page), false);
  if (process.env.SCREENSHOTS) await page.waitForTimeout(30_000); // for a longer curve
  await picture(page, "console-desktop");
  assert.deepEqual(complaints, []);
});

test("the console fits a phone", async (t) => {
  const { page, complaints } = await open(t, "/", phone);
  await live(page);
  assert.equal(await overflows(page), false);
  const labels = await page.locator('#channels [data-id="demo-xml"] .number').evaluateAll((cells) =>
    cells.map((cell) => getComputedStyle(cell, "::before").content));
  assert.deepEqual(labels, ['"In"', '"Out"', '"Failed"', '"Rate"']);
  await picture(page, "console-phone");
  assert.deepEqual(complaints, []);
});

test("the console is dark for those who want it dark", async (t) => {
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const bright = await open(t, "/", { ...desktop, colorScheme: "light" });
  const dark = await open(t, "/", { ...desktop, colorScheme: "dark" });
  await live(dark.page);
  assert.notEqual(await background(bright.page), await background(dark.page));
  await picture(dark.page, "console-dark");
});

test("the console is whole without JavaScript", async (t) => {
  const { page, complaints } = await open(t, "/", { ...desktop, javaScriptEnabled: false });
  assert.ok((await received(page)) > 0);
  assert.equal(await page.locator("#channels tbody tr").count(), 3);
  assert.equal(await page.locator("#channels th.rate").isVisible(), false);
  assert.equal(await page.locator('noscript meta[http-equiv="refresh"]').count(), 1);
  await picture(page, "console-without-javascript");
  assert.deepEqual(complaints, []);
});

test("the console can be used with a keyboard", async (t) => {
  const { page } = await open(t, "/", desktop);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to the channels");
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Interface");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/swagger/");
});

test("a channel comes, fails and goes before the eyes of the reader", async (t) => {
  const { page, complaints } = await open(t, "/", desktop);
  await live(page);
  const topic = (name) => ({ topic: name, brokerType: "MQTT" });
  const dead = { ...topic("a"), mqttSettings: { protocol: "tcp", host: "127.0.0.1", port: 1 } };
  const demo = await (await fetch(`${address}/channels/demo-json?all`)).json();
  const name = "<img src=x onerror=alert(1)>";
  const made = await fetch(`${address}/channels`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      settings: { channelId: "not/reachable", inputTopicSettings: dead, outputTopicSettings: topic("b") },
      metadata: { name, mapping: demo.metadata.mapping },
      status: {},
    }),
  });
  assert.equal(made.status, 200);
  const row = page.locator('#channels [data-id="not/reachable"]');
  await row.waitFor();
  assert.equal(await row.locator('[data-field="name"]').textContent(), name);
  assert.equal(await row.getAttribute("data-state"), "failed");
  assert.match(await row.locator('[data-field="fault"]').textContent(), /unavailable|refused/);
  await picture(page, "console-fault");
  await row.locator("a").click();
  await page.waitForURL("**/channels/not%2Freachable?all");
  await page.goBack();
  await fetch(`${address}/channels/not%2Freachable`, { method: "DELETE" });
  await page.locator('#channels [data-id="not/reachable"]').waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

test("the interface can be tried at /swagger/", async (t) => {
  const { page, complaints } = await open(t, "/swagger/", desktop);
  const operation = page.locator(".opblock", { has: page.locator('[data-path="/version"]') });
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  const answer = operation.locator(".live-responses-table .highlight-code").first();
  await answer.waitFor();
  assert.match(await answer.textContent(), /"annotator"/);
  await picture(page, "swagger-desktop");
  assert.deepEqual(complaints, []);
});

test("the interface fits a phone", async (t) => {
  const { page, complaints } = await open(t, "/swagger/", phone);
  await page.locator(".opblock").first().waitFor();
  await picture(page, "swagger-phone");
  assert.deepEqual(complaints, []);
});

test("the console says when nobody answers any more", async (t) => {
  const { page } = await open(t, "/", desktop);
  await page.locator("#live", { hasText: "live" }).waitFor();
  server.kill("SIGINT");
  await page.locator("#live", { hasText: "no answer, trying again" }).waitFor();
  assert.ok((await received(page)) > 0, "the last counts stay");
});
