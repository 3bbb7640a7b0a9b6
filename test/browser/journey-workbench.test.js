// The journey of a person who has never seen the platform: from a sample message over the
// workbench to a channel whose RDF comes out, by mouse, by keyboard alone, and on a phone.

import { after, before } from "node:test";
import assert from "node:assert/strict";
import { byKeyboard, byMouse, onPhone } from "./journeys.js";
import { publish } from "./mqtt.js";
import { Stage, desktop, enablersFlags, overflows, phone, picture } from "./stage.js";
import { keyboard, mouse } from "./ways.js";

const stage = new Stage();

let broker; // the port of the MQTT broker

before(() => stage.start("enablers", enablersFlags, (line) => {
  broker ??= /^listening on mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
  return broker && line.includes("multi-link client");
}));
after(() => stage.close());

const message = '{"station":"EWR","time":"2026-01-01T06:00:00Z","temp":3.9,"sensors":[{"id":"w1","value":10.4},{"id":"r1","value":0}]}';
async function journey(t, way, options, name) {
  const { page, complaints } = await stage.open(t, "/ui/annotation/", options);
  const press = (selector) => way.press(page.locator(selector));
  const editor = (id) => page.locator(`#${id} + .editor .cm-content`);
  await press('a[href$="workbench"]');
  await page.waitForURL("**/ui/annotation/workbench");
  await way.type(editor("sample"), message);
  await press("#suggest");
  await page.locator("#live", { hasText: "up to date" }).waitFor();
  assert.equal(await page.locator("#verdict").textContent(), "10 statements from 3 records of the message.");
  assert.equal(await overflows(page), false);

  // A statement leads to the rule that made it.
  await press("#statements tbody tr:nth-child(4) button");
  await page.locator("#rule", { hasText: /^Line \d+ created the statement: predicate-object map of triples map map:Message\.$/ }).waitFor();
  assert.match((await page.locator("#rml + .editor .cm-marked").allTextContents()).join(""), /rr:predicate ex:temp/);
  await picture(page, `workbench-${name}`);

  // The mapping becomes a channel.
  await press('button[formaction$="new"]');
  await page.waitForURL("**/ui/annotation/new");
  assert.match(await page.locator("#rml").inputValue(), /ex:temp/);
  assert.equal(await page.locator("#sample").inputValue(), message);
  await way.type(page.locator("#inputTopic"), `${name}/in`);
  await way.type(page.locator("#outputTopic"), `${name}/out`);
  await press('main form p.buttons button[name="action"][value="create"]');
  await page.waitForURL(/\/ui\/annotation\/channels\//);

  // A message passes through it.
  await page.locator('.badge[data-state="running"]').waitFor();
  await publish(broker, `${name}/in`, message);
  await page.locator('[data-field="published"]', { hasText: /^1$/ }).waitFor();
  assert.equal(await overflows(page), false);
  await picture(page, `workbench-${name}-channel`);
  assert.deepEqual(complaints, []);
}

const title = "a message becomes a channel";
byMouse(title, (t) => journey(t, mouse, desktop, "mouse"));
byKeyboard(title, (t) => journey(t, keyboard, desktop, "keyboard"));
onPhone(title, (t) => journey(t, mouse, phone, "phone"));
