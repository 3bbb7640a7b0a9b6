// The journey of a person who runs a channel: makes one for messages that come in, tries its
// connections, edits it, sees what failed and where, stops and removes it.
//
//   npm ci && node --test journey-channels.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { byKeyboard, byMouse, onPhone } from "./journeys.js";
import { Stage, desktop, enablersFlags, overflows, phone, picture } from "./stage.js";
import { faint } from "./contrast.js";
import { keyboard, mouse, touch } from "./ways.js";

const stage = new Stage();
const sample = '{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}';

before(() => stage.start("enablers", [...enablersFlags, "-demo"], (line) => line.startsWith("listening on http:")));

after(() => stage.close());

// seen checks that a page fits and can be read, and leaves a picture.
async function seen(page, name) {
  assert.equal(await overflows(page), false, `${name} is too wide`);
  assert.deepEqual(await faint(page), [], name);
  await picture(page, name);
}

// published waits until the channel of a page has published a message.
const published = (page) => page.locator('[data-field="published"]', { hasText: /[1-9]/ }).waitFor();

async function journey(t, options, way, name) {
  const { page, complaints } = await stage.open(t, "/ui/annotation/", options, "data:");
  page.on("dialog", (dialog) => dialog.accept());
  const button = (text) => page.getByRole("button", { name: text, exact: true });
  const link = (text) => page.getByRole("link", { name: text, exact: true });
  const state = (text) => page.locator(".badge", { hasText: text }).first().waitFor();

  await seen(page, `channels-list-${name}`);
  await way.press(link("Create a channel"));
  await way.type(page.locator('.cm-content[aria-label^="One message"]'), sample);
  await way.press(button("Suggest a mapping"));
  await page.locator('.cm-content[aria-label^="RML"]').filter({ hasText: "rr:" }).waitFor();
  await way.type(page.locator("#inputTopic"), "demo/json");
  await way.type(page.locator("#outputTopic"), `journey/${name}`);
  await way.type(page.locator("#name"), `Journey ${name}`);
  await way.press(button("Test the connections"));
  await page.locator("#connections", { hasText: "Output: connected to" }).waitFor();
  assert.equal(await page.locator("#connections li").count(), 2);
  await seen(page, `channels-new-${name}`);
  await way.press(button("Make the channel"));

  await state("running");
  await published(page);
  assert.match(new URL(page.url()).pathname, /^[\w/.~-]+$/, "the identifier needs no escapes");

  await way.press(link("Edit"));
  assert.equal(await page.locator("#outputTopic").inputValue(), `journey/${name}`);
  await way.type(page.locator("#inputTopic"), "demo/xml");
  await way.type(page.locator("#description"), "Reads another topic now");
  await seen(page, `channels-edit-${name}`);
  await way.press(button("Save"));
  await page.getByText("The channel has the new settings.").waitFor();
  await page.getByText("Reads another topic now").waitFor();

  await way.press(link("Show the messages that failed"));
  await page.locator("mark").first().waitFor(); // the place of what failed
  await seen(page, `channels-failures-${name}`);
  await page.goBack();
  await seen(page, `channels-channel-${name}`);
  await way.press(button("Stop"));
  await state("stopped");
  await way.press(button("Start"));
  await state("running");
  await way.press(button("Delete…"));
  await page.getByText(/is removed, and so is its subscription/).waitFor();
  assert.equal(await page.getByRole("link", { name: `Journey ${name}` }).count(), 0);
  assert.deepEqual(complaints, []);
}

const title = "a channel is made, edited and removed";
byMouse(title, (t) => journey(t, desktop, mouse, "mouse"));
byKeyboard(title, (t) => journey(t, { ...desktop, colorScheme: "dark" }, keyboard, "keyboard"));
onPhone(title, (t) => journey(t, phone, touch, "phone"));

// A store stands in for one of SPARQL and for an NGSI-LD broker: it takes everything.
for (const [kind, path, members, written] of [
  ["SPARQL", "/update", { protocol: "update" }, /INSERT DATA \{\nGRAPH <https:\/\/example\.org\/kept\/[0-9a-f]{32}>/],
  ["NGSI-LD", "", { mode: "replace", tenant: "city" }, /^\[\{.*"id":"/],
]) {
  byMouse(`a channel to a store of ${kind} is made`, async (t) => {
    const bodies = [];
    const store = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      bodies.push(`${request.headers["ngsild-tenant"] ?? ""} ${request.headers.authorization ?? ""} ${body}`);
      response.writeHead(204).end();
    });
    await new Promise((listening) => store.listen(0, "127.0.0.1", listening));
    t.after(() => {
      store.close();
      store.closeAllConnections();
    });
    const { page, complaints } = await stage.open(t, "/ui/annotation/new", desktop, "data:");
    page.on("dialog", (dialog) => dialog.accept());
    const field = (name) => page.locator(`[id="output.${kind}.${name}"]`);
    await page.locator('.cm-content[aria-label^="One message"]').fill(sample);
    await page.getByRole("button", { name: "Suggest a mapping" }).click();
    await page.locator('.cm-content[aria-label^="RML"]').filter({ hasText: "rr:" }).waitFor();
    await page.locator("#inputTopic").fill("demo/json");
    await page.locator("#outputTopic").fill("https://example.org/kept/");
    await page.getByText("Output: another broker", { exact: true }).click();
    assert.equal(await page.locator(`#inputBroker option[value="${kind}"]`).count(), 0, "a store is no input");
    await page.locator("#outputBroker").selectOption(kind);
    await field("url").waitFor();
    for (const [name, value] of Object.entries(members)) {
      if (await field(name).evaluate((element) => element.tagName === "SELECT")) await field(name).selectOption(value);
      else await field(name).fill(value);
    }
    await page.getByRole("button", { name: "Test the connections" }).click();
    await page.getByText(/url: required/i).first().waitFor();
    await field("url").fill(`http://127.0.0.1:${store.address().port}${path}`);
    await field("token").fill("key");
    await page.getByRole("button", { name: "Test the connections" }).click();
    await page.locator("#connections", { hasText: "Output: connected to" }).waitFor();
    await seen(page, `channels-store-${kind}`);
    await page.locator("#name").fill(`Store ${kind}`);
    await page.getByRole("button", { name: "Make the channel", exact: true }).click();
    await page.locator(".badge", { hasText: "running" }).first().waitFor();
    await published(page);
    const last = bodies.at(-1).replace(/^\S* Bearer key /, "");
    assert.match(last, written);
    assert.equal(bodies.at(-1).split(" ")[0], members.tenant ?? "");
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByText(/is removed/).waitFor();
    const others = complaints.filter((complaint) => !complaint.includes("status of 422"));
    assert.deepEqual(others, [], "besides the address that was missing");
  });
}
