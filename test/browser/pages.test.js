// Tries the pages of cmd/enablers in Chromium: the console and /swagger/, on a
// desktop and on a phone, with and without JavaScript.
//
//   npm ci && node --test
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Stage, desktop, phone, picture } from "./stage.js";
import { faint } from "./contrast.js";

const stage = new Stage();

before(() => stage.start("enablers", ["-listen", "127.0.0.1:0", "-mqtt", "127.0.0.1:0", "-modelrepo", "127.0.0.1:0",
  "-flcollector", "127.0.0.1:0", "-flcollector-grpc", "127.0.0.1:0", "-apimanager", "127.0.0.1:0", "-gateway", "127.0.0.1:0", "-gateway-admin", "127.0.0.1:0",
  "-multilink", "127.0.0.1:0", "-multilink-client", "127.0.0.1:0", "-demo"], (line) => line.startsWith("listening on http:")));

after(() => stage.close());

const open = (t, path, options) => stage.open(t, path, options, "data:");

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
  const demo = await (await fetch(`${stage.address}/channels/demo-json?all`)).json();
  const name = "<img src=x onerror=alert(1)>";
  const made = await fetch(`${stage.address}/channels`, {
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
  await fetch(`${stage.address}/channels/not%2Freachable`, { method: "DELETE" });
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

for (const colorScheme of ["light", "dark"]) {
  test(`every text is readable when it is ${colorScheme}`, async (t) => {
    const console = await open(t, "/", { ...desktop, colorScheme });
    await live(console.page);
    assert.deepEqual(await faint(console.page), []);
    const { page, complaints } = await open(t, "/swagger/", { ...desktop, colorScheme });
    for (const method of ["get", "post", "put", "delete"]) await page.locator(`.opblock-${method} .opblock-summary-control`).first().click();
    await page.locator(".opblock-get").getByRole("button", { name: "Try it out" }).click();
    await page.locator(".opblock-get").getByRole("button", { name: "Execute" }).click();
    await page.locator(".live-responses-table .highlight-code").first().waitFor();
    assert.deepEqual(await faint(page), []);
    await picture(page, `swagger-${colorScheme}`);
    assert.deepEqual(complaints, []);
  });
}

test("the interface fits a phone", async (t) => {
  const { page, complaints } = await open(t, "/swagger/", phone);
  await page.locator(".opblock").first().waitFor();
  await picture(page, "swagger-phone");
  assert.deepEqual(complaints, []);
});

const states = (page) => page.locator("[data-service], #channels tbody tr").evaluateAll((all) => [...new Set(all.map(({ dataset }) => dataset.state))]);

test("the console shows what is not reachable, and finds it again", async (t) => {
  const { page } = await open(t, "/", desktop);
  await live(page);
  assert.deepEqual(await states(page), ["running"]);
  await page.context().setOffline(true);
  await page.locator("#live", { hasText: "not reachable, trying again; last answer at" }).waitFor();
  assert.deepEqual(await states(page), ["lost"]);
  assert.match(await page.title(), /^not reachable/);
  assert.equal(await page.locator('[data-service="Annotator"] [data-field="fault"]').textContent(), "not reachable");
  assert.deepEqual(await faint(page), []);
  await picture(page, "console-lost");
  await page.context().setOffline(false);
  await page.locator("#live", { hasText: "live" }).waitFor();
  assert.deepEqual(await states(page), ["running"]);
  assert.equal(await page.title(), "enablers console");
  assert.equal(await page.locator('[data-service="Annotator"] [data-field="fault"]').textContent(), "");
});

test("the console says that it is refused, and finds everything again", async (t) => {
  const { page } = await open(t, "/", desktop);
  await live(page);
  await page.route("**/console/state", (route) => route.fulfill({ status: 401, body: "This needs a token." }));
  await page.locator("#live", { hasText: "You are not signed in." }).waitFor();
  assert.equal(await page.locator("#live a").getAttribute("href"), "/.enablers/sign-in?to=%2F");
  assert.deepEqual(await states(page), ["lost"]);
  assert.match(await page.title(), /^not shown/);
  assert.deepEqual(await faint(page), []);
  await picture(page, "console-refused");
  await page.unroute("**/console/state");
  await page.locator("#live", { hasText: "live" }).waitFor();
  assert.deepEqual(await states(page), ["running"]);
  assert.equal(await page.locator("#live a").count(), 0);
});

test("the console is not green when the server is gone", async (t) => {
  const { page } = await open(t, "/", desktop);
  await page.locator("#live", { hasText: "live" }).waitFor();
  stage.server.kill("SIGINT");
  await page.locator("#live", { hasText: "not reachable, trying again" }).waitFor();
  assert.deepEqual(await states(page), ["lost"]);
  assert.ok((await received(page)) > 0, "the last counts stay");
});
