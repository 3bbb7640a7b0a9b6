// Tries the pages of cmd/enablers in Chromium: the overview, the channels and /swagger/, on a
// desktop and on a phone, with and without JavaScript.
//
//   npm ci && node --test
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Stage, desktop, enablersFlags, eventually, overflows, phone, picture } from "./stage.js";
import { faint } from "./contrast.js";

const stage = new Stage();

before(() => stage.start("enablers", [...enablersFlags, "-demo"], (line) => line.includes("XML in")));

after(() => stage.close());

const open = (t, path, options) => stage.open(t, path, options, "data:");

// live waits until the page has been brought up to date.
const live = (page) => page.locator("#live", { hasText: /^live$/ }).waitFor();

const block = (page, name) => page.locator(`[data-block="${name}"]`);

// shows waits until a fact of a block has a value.
const shows = (page, of, name, value) => block(page, of).locator(`[data-fact="${name}"] dd`, { hasText: new RegExp(`^\\s*${value}\\s*$`) }).waitFor();

async function received(page) {
  return Number((await page.locator('#channels [data-id="demo-json"] [data-field="received"]').textContent()).replaceAll(",", ""));
}

const states = (page) => page.locator("[data-block]").evaluateAll((all) => [...new Set(all.map(({ dataset }) => dataset.state))]);

// tone is the colour of the state of a block.
const tone = (page, name) => block(page, name).locator(".dot").evaluate((dot) => getComputedStyle(dot).backgroundColor);

test("the first page is the overview of all blocks", async (t) => {
  const { page, complaints } = await open(t, "/", desktop);
  assert.equal(new URL(page.url()).pathname, "/ui/");
  await live(page);
  assert.deepEqual(await page.locator("nav.sections a").allTextContents(), ["Overview", "Annotation", "Models", "Training", "APIs", "Links"]);
  await eventually(async () => assert.deepEqual(await states(page), ["well"]));
  await eventually(async () => assert.equal(await page.locator("#health").innerText(), "all is well"));
  await shows(page, "Annotation", "channels", 3);
  await shows(page, "Annotation", "running", 3);
  assert.equal(await page.locator("#steps-title").count(), 0, "it is not empty");
  assert.equal(await overflows(page), false);
  await picture(page, "overview-desktop");
  assert.deepEqual(complaints, []);
});

test("a fact leads to its page", async (t) => {
  const { page, complaints } = await open(t, "/ui/", desktop);
  await block(page, "Annotation").locator('[data-fact="running"] a').click();
  await page.waitForURL("**/ui/annotation/?state=running");
  await page.locator("nav.sections").getByText("Overview").click();
  await page.waitForURL("**/ui/");
  assert.deepEqual(complaints, []);
});

test("old addresses of the console lead on", async (t) => {
  for (const path of ["/console/", "/console/assets/console.css"]) {
    const { page } = await open(t, path, desktop);
    assert.equal(new URL(page.url()).pathname, "/ui/");
  }
});

test("what happens is among the last events", async (t) => {
  const { page, complaints } = await open(t, "/ui/", desktop);
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
  const event = page.locator("#events li", { hasText: "new channel not started" });
  await event.waitFor();
  assert.match(await event.locator(".small").textContent(), /channel not\/reachable, error .*(unavailable|refused)/);
  assert.equal(await event.locator(".level").textContent(), "warn");
  await shows(page, "Annotation", "failed", 1);
  await picture(page, "overview-fault");
  await event.locator("a").click();
  await page.waitForURL("**/ui/annotation/channels/not%2Freachable");
  await page.getByText(name).first().waitFor();
  await page.goBack();
  await fetch(`${stage.address}/channels/not%2Freachable`, { method: "DELETE" });
  await page.locator("#events li", { hasText: "channel removed" }).waitFor();
  assert.deepEqual(complaints, []);
});

test("the channels count along on a desktop", async (t) => {
  const { page, complaints } = await open(t, "/ui/annotation/", desktop);
  await live(page);
  const first = await received(page);
  await eventually(async () => assert.ok((await received(page)) > first + 50));
  await eventually(async () => assert.deepEqual(await page.locator('#channels [data-field="state"]').allTextContents(), ["running", "running", "running"]));
  assert.equal(await overflows(page), false);
  await picture(page, "channels-desktop");
  assert.deepEqual(complaints, []);
});

test("overview and channels fit a phone", async (t) => {
  for (const path of ["/ui/", "/ui/annotation/"]) {
    const { page, complaints } = await open(t, path, phone);
    await live(page);
    assert.equal(await overflows(page), false);
    await picture(page, path === "/ui/" ? "overview-phone" : "channels-phone");
    assert.deepEqual(complaints, []);
  }
});

test("pages are dark for those who want it dark", async (t) => {
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const bright = await open(t, "/", { ...desktop, colorScheme: "light" });
  const dark = await open(t, "/", { ...desktop, colorScheme: "dark" });
  await live(dark.page);
  assert.notEqual(await background(bright.page), await background(dark.page));
  await picture(dark.page, "overview-dark");
});

test("the overview is whole without JavaScript", async (t) => {
  const { page, complaints } = await open(t, "/", { ...desktop, javaScriptEnabled: false });
  await shows(page, "Annotation", "channels", 3);
  assert.ok((await page.locator("#events li").count()) > 0);
  assert.equal(await page.locator('noscript meta[http-equiv="refresh"]').count(), 1);
  await page.locator("nav.sections").getByText("Annotation").click();
  await page.waitForURL("**/ui/annotation/");
  assert.ok((await received(page)) > 0);
  assert.equal(await page.locator("#channels tbody tr").count(), 3);
  await picture(page, "channels-without-javascript");
  assert.deepEqual(complaints, []);
});

test("the interface can be tried at /swagger/", async (t) => {
  const { page, complaints } = await open(t, "/swagger/", desktop);
  const operation = page.locator(".opblock", { has: page.locator('[data-path="/version"]') });
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .highlight-code", { hasText: '"annotator"' }).first().waitFor();
  await picture(page, "swagger-desktop");
  assert.deepEqual(complaints, []);
});

test("every text is readable, in light and in dark", async (t) => {
  const overview = await open(t, "/", desktop);
  await live(overview.page);
  const { page, complaints } = await open(t, "/swagger/", desktop);
  for (const method of ["get", "post", "put", "delete"]) await page.locator(`.opblock-${method} .opblock-summary-control`).first().click();
  await page.locator(".opblock-get").getByRole("button", { name: "Try it out" }).click();
  await page.locator(".opblock-get").getByRole("button", { name: "Execute" }).click();
  await page.locator(".live-responses-table .highlight-code").first().waitFor();
  for (const colorScheme of ["light", "dark"]) {
    for (const shown of [overview.page, page]) {
      await shown.emulateMedia({ colorScheme });
      assert.deepEqual(await faint(shown), [], colorScheme);
    }
    await picture(page, `swagger-${colorScheme}`);
  }
  assert.deepEqual([...overview.complaints, ...complaints], []);
});

test("the interface fits a phone", async (t) => {
  const { page, complaints } = await open(t, "/swagger/", phone);
  await page.locator(".opblock").first().waitFor();
  await picture(page, "swagger-phone");
  assert.deepEqual(complaints, []);
});

test("the overview shows what is not reachable, and finds it again", async (t) => {
  const { page } = await open(t, "/", desktop);
  await live(page);
  const well = await tone(page, "Annotation");
  await page.context().setOffline(true);
  await page.locator("#live", { hasText: "The server cannot be reached." }).waitFor();
  await eventually(async () => assert.match(await page.locator("#health").innerText(), /^not reachable; last answer at \d{4}-/));
  await eventually(async () => assert.match(await page.title(), /^Not reachable/));
  await eventually(async () => assert.notEqual(await tone(page, "Annotation"), well));
  assert.deepEqual(await faint(page), []);
  await picture(page, "overview-lost");
  await page.context().setOffline(false);
  await live(page);
  await eventually(async () => assert.equal(await tone(page, "Annotation"), well));
  await eventually(async () => assert.equal(await page.title(), "Overview · enablers"));
});

test("the overview says that it is refused, and finds everything again", async (t) => {
  const { page } = await open(t, "/", desktop);
  await live(page);
  await page.route("**/ui/state", (route) => route.fulfill({ status: 401, body: "This needs a token." }));
  await page.locator("#live", { hasText: "You are not signed in." }).waitFor();
  assert.equal(await page.locator("#live a").getAttribute("href"), "/.enablers/sign-in?to=%2Fui%2F");
  await eventually(async () => assert.match(await page.title(), /^Not shown/));
  assert.deepEqual(await faint(page), []);
  await picture(page, "overview-refused");
  await page.unroute("**/ui/state");
  await live(page);
  await page.locator("#live a").waitFor({ state: "detached" });
});

test("the overview is not green when the server is gone", async (t) => {
  const { page } = await open(t, "/", desktop);
  await live(page);
  const well = await tone(page, "Models");
  await shows(page, "Annotation", "channels", 3);
  await stage.end("SIGKILL"); // a server that ends in order still answers that the demonstration is removed
  await page.locator("#live", { hasText: "The server cannot be reached." }).waitFor();
  await eventually(async () => assert.notEqual(await tone(page, "Models"), well));
  await shows(page, "Annotation", "channels", 3); // the last counts stay
});
