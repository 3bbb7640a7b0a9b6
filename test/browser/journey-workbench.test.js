// The journey of a person who has never seen the platform: from a sample message over the
// workbench to a channel whose RDF comes out, by mouse, by keyboard alone, and on a phone.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { Stage, desktop, enablersFlags, overflows, phone, picture } from "./stage.js";
import { found } from "./axe.js";

const stage = new Stage();

let broker; // the port of the MQTT broker

before(() => stage.start("enablers", enablersFlags, (line) => {
  broker ??= /^listening on mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
  return broker && line.includes("multi-link client");
}));
after(() => stage.close());

const message = '{"station":"EWR","time":"2026-01-01T06:00:00Z","temp":3.9,"sensors":[{"id":"w1","value":10.4},{"id":"r1","value":0}]}';
const workbench = "/ui/annotation/workbench";

const editor = (page, id) => page.locator(`#${id} + .editor .cm-content`);

// retype replaces the text of an editor as a person does.
async function retype(page, id, text) {
  await editor(page, id).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

const upToDate = (page) => page.locator("#live", { hasText: "up to date" }).waitFor();

// publish sends a message to the broker: CONNECT and, once that is acknowledged, PUBLISH and
// DISCONNECT of MQTT 3.1.1 (OASIS standard, sections 3.1, 3.3 and 3.14).
function publish(topic, payload) {
  const text = (words) => Buffer.concat([Buffer.from([words.length >> 8, words.length & 255]), Buffer.from(words)]);
  const packet = (type, body) => Buffer.concat([Buffer.from([type, (body.length & 127) | 128, body.length >> 7]), body]);
  return new Promise((finished, failed) => {
    const socket = connect(Number(broker), "127.0.0.1");
    socket.on("error", failed);
    socket.on("close", finished);
    socket.once("data", () => socket.end(Buffer.concat([packet(0x30, Buffer.concat([text(topic), Buffer.from(payload)])), Buffer.from([0xe0, 0])])));
    socket.write(packet(0x10, Buffer.concat([text("MQTT"), Buffer.from([4, 2, 0, 60]), text("journey")])));
  });
}

// tabTo presses Tab until an element has the focus, and fails where a person would give up.
async function tabTo(page, selector) {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
  }
  assert.fail(`Tab does not lead to ${selector}`);
}

// The hands of a person: how things are pressed, and where text goes.
const mouse = {
  press: (page, selector) => page.locator(selector).click(),
  type: async (page, id, text) => {
    const target = (await page.locator(`#${id} + .editor`).count()) ? editor(page, id) : page.locator(`#${id}`);
    await target.click();
    await page.keyboard.insertText(text);
  },
};
const keyboard = {
  press: async (page, selector) => {
    await tabTo(page, selector);
    await page.keyboard.press("Enter");
  },
  type: async (page, id, text) => {
    await tabTo(page, `#${id}, #${id} + .editor`);
    await page.keyboard.insertText(text);
  },
};

async function journey(t, hands, options, name) {
  const { page, complaints } = await stage.open(t, "/ui/annotation/", options);
  await hands.press(page, 'a[href$="workbench"]');
  await page.waitForURL(`**${workbench}`);
  await hands.type(page, "sample", message);
  await hands.press(page, "#suggest");
  await upToDate(page);
  assert.equal(await page.locator("#verdict").textContent(), "10 statements from 3 records of the message.");
  assert.equal(await overflows(page), false);

  // A statement leads to the rule that made it.
  await hands.press(page, "#statements tbody tr:nth-child(4) button");
  assert.match(await page.locator("#rule").textContent(), /^Line \d+ made the statement: predicate-object map of triples map map:Message\.$/);
  assert.match((await page.locator("#rml + .editor .cm-marked").allTextContents()).join(""), /rr:predicate ex:temp/);
  await picture(page, `workbench-${name}`);

  // The mapping becomes a channel.
  await hands.press(page, 'button[formaction$="new"]');
  await page.waitForURL("**/ui/annotation/new");
  assert.match(await page.locator("#rml").inputValue(), /ex:temp/);
  assert.equal(await page.locator("#sample").inputValue(), message);
  await hands.type(page, "inputTopic", `${name}/in`);
  await hands.type(page, "outputTopic", `${name}/out`);
  await hands.press(page, 'main form p.buttons button[name="action"][value="create"]');
  await page.waitForURL(/\/ui\/annotation\/channels\//);

  // A message passes through it.
  await page.locator('.badge[data-state="running"]').waitFor();
  await publish(`${name}/in`, message);
  await page.locator('[data-field="published"]', { hasText: /^1$/ }).waitFor();
  assert.equal(await overflows(page), false);
  await picture(page, `workbench-${name}-channel`);
  assert.deepEqual(complaints, []);
}

test("a message becomes a channel by mouse", (t) => journey(t, mouse, desktop, "mouse"));
test("a message becomes a channel by keyboard", (t) => journey(t, keyboard, desktop, "keyboard"));
test("a message becomes a channel on a phone", (t) => journey(t, mouse, phone, "phone"));

// begin opens the workbench with an example.
async function begin(t, options) {
  const { page, complaints } = await stage.open(t, workbench, options);
  await page.locator("#example").click();
  await upToDate(page);
  return { page, complaints };
}

test("what is typed is run, and findings are at their lines", async (t) => {
  const { page, complaints } = await begin(t, desktop);
  const rml = editor(page, "rml");
  const replace = async (from, to) => retype(page, "rml", (await page.locator("#rml").inputValue()).replace(from, to));

  await replace('rml:reference "temperature"', 'rml:reference "temprature"');
  await page.locator("#findings", { hasText: 'its reference "temprature" has no value' }).waitFor();
  await page.locator("#findings button").click();
  assert.ok(await rml.evaluate((content) => content.getRootNode().activeElement === content), "the cursor is at the line");

  await replace("rr:subjectMap [", "rr:subjectMap [ [");
  await page.locator("#verdict .fault", { hasText: /^Mapping, line \d+/ }).waitFor();
  assert.ok((await page.locator("#statements tbody tr").count()) > 0, "the last result stays");
  await picture(page, "workbench-fault");

  await replace("rr:subjectMap [ [", "rr:subjectMap [");
  await upToDate(page);
  await retype(page, "sample", '{"station":');
  await page.locator("#verdict .fault", { hasText: "Message: JSON line 1 column 12" }).waitFor();
  await page.locator("#sample + .editor .cm-lintRange-error, #sample + .editor .cm-lintPoint-error").waitFor();
  await picture(page, "workbench-failure");
  assert.deepEqual(complaints, []);
});

test("shapes are checked as they are typed, and become those of the channel", async (t) => {
  const { page, complaints } = await begin(t, desktop);
  const shapes = (most) => `@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ex: <http://example.org/vocabulary#> .
ex:Cold sh:targetSubjectsOf ex:temperature ;
  sh:property [ sh:path ex:temperature ; sh:maxInclusive ${most} ; sh:message "too warm" ] .`;
  await page.locator("#mapping-title ~ details summary", { hasText: "Shapes" }).click();
  await page.locator("#shapes").fill(shapes(2));
  await page.locator("#verdict .fault", { hasText: "The RDF violates the shapes" }).waitFor();
  assert.match(await page.locator("#violations li").textContent(), /^Violation, line 4 of the shapes: .*too warm/);
  assert.deepEqual(await found(page), []);
  await picture(page, "workbench-shapes");

  await page.locator("#shapes").fill(shapes('"warm" ; sh:minCont 1'));
  await page.locator("#verdict .fault", { hasText: /^Mapping, shapes: .*line 4/ }).waitFor();
  await page.locator("#shapes").fill(shapes(40));
  await upToDate(page);
  assert.equal(await page.locator("#violations li").count(), 0);

  await page.locator('button[formaction$="new"]').click();
  await page.waitForURL("**/ui/annotation/new");
  assert.equal(await page.locator("#shapes").inputValue(), shapes(40));
  assert.ok(await page.locator("#shapes").isVisible(), "the shapes of a channel are open");
  assert.deepEqual(await found(page), []);
  await page.locator("#inputTopic").fill("cold/in");
  await page.locator("#outputTopic").fill("cold/out");
  await page.locator("#shapes").fill(shapes(2));
  await page.locator('main form p.buttons button[name="action"][value="create"]').click();
  await page.waitForURL(/\/ui\/annotation\/channels\//);
  await page.locator('.badge[data-state="running"]').waitFor();
  await publish("cold/in", message.replace('"temp"', '"temperature"'));
  await page.locator('[data-field="invalid"]', { hasText: /^1$/ }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a line of the mapping shows its statements", async (t) => {
  const { page } = await begin(t, desktop);
  await page.locator("#rml + .editor .cm-line", { hasText: "rr:predicate ex:station" }).click();
  assert.match(await page.locator("#rule").textContent(), /made 1 statement, highlighted below/);
  assert.deepEqual(await page.locator("#statements tr.chosen td:nth-child(2)").allTextContents(), ["ex:station"]);
});

test("the RDF is shown as a graph and as text", async (t) => {
  const { page, complaints } = await begin(t, desktop);
  await page.locator('[data-tab="graph"]').click();
  await page.locator("#graph canvas").first().waitFor();
  await picture(page, "workbench-graph");
  await page.locator('[data-tab="output"]').click();
  assert.match(await page.locator("#output").textContent(), /ex:temperature "3\.9"\^\^xsd:decimal/);
  assert.deepEqual(complaints, []);
});

test("a mapping is stored, and loaded with the sample kept", async (t) => {
  const { page, complaints } = await begin(t, desktop);
  await page.locator("#mappingName").fill("Weather");
  await page.locator("#store").click();
  await page.locator(".toast", { hasText: "The mapping is stored as “Weather”." }).waitFor();
  await page.goto(stage.address + workbench);
  await editor(page, "sample").fill(message);
  await page.locator("summary", { hasText: "Load a stored annotation" }).click();
  await page.locator("#annotation").selectOption({ label: "Weather (JSON to TTL)" });
  await page.locator('button[value="load"]').click();
  await upToDate(page);
  assert.equal(await page.locator("#sample").inputValue(), message);
  assert.equal(await page.locator("#mappingName").inputValue(), "Weather");
  assert.deepEqual(complaints, []);
});

test("a message that failed is mended in the workbench", async (t) => {
  const rml = await readFile(new URL("../../examples/weather/channel.json", import.meta.url), "utf8").then((text) => JSON.parse(text).metadata.mapping);
  const topic = (name) => ({ topic: `failing/${name}`, brokerType: "MQTT" });
  const made = await fetch(`${stage.address}/ui/annotation/api/channels`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      settings: { channelId: "failing", inputTopicSettings: topic("in"), outputTopicSettings: topic("out") },
      metadata: { name: "Failing", mapping: rml }, status: {},
    }),
  });
  assert.equal(made.status, 200);
  await publish("failing/in", '{"station":"EWR","time":oops}');
  const { page, complaints } = await stage.open(t, "/ui/annotation/channels/failing", desktop);
  await page.locator("a", { hasText: "Show the messages that failed" }).click();
  await page.locator("a", { hasText: "Open in the workbench" }).click();
  await page.locator(".notice", { hasText: "This message failed at" }).waitFor();
  await page.locator("#sample + .editor .cm-lintRange-error").waitFor();
  await picture(page, "workbench-failed-message");
  await retype(page, "sample", '{"station":"EWR","time":"2026-01-01T06:00:00Z","temp":3.9}');
  await upToDate(page);
  await page.locator("button", { hasText: "Use it in Failing" }).click();
  await page.locator(".notice", { hasText: "The channel has the new mapping." }).waitFor();
  assert.deepEqual(complaints, []);
});

test("the workbench is whole without JavaScript", async (t) => {
  const { page } = await stage.open(t, workbench, { ...desktop, javaScriptEnabled: false });
  await page.locator("#example").click();
  assert.match(await page.locator("#verdict").textContent(), /statements from 3 records/);
  assert.match(await page.locator("#statements").textContent(), /<http:\/\/example\.org\/sensor\/w1>/);
  await picture(page, "workbench-without-javascript");
});

test("axe finds nothing on a result", async (t) => {
  const { page, complaints } = await begin(t, { ...desktop, reducedMotion: "reduce" });
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const tab of ["graph", "output", "statements"]) {
      await page.locator(`[data-tab="${tab}"]`).click();
      if (tab === "statements") await page.locator("#statements tbody tr").nth(2).click();
      assert.deepEqual(await found(page, ...(colorScheme === "dark" ? ["color-contrast"] : [])), [], `${tab}, ${colorScheme}`);
      await picture(page, `workbench-${tab}-${colorScheme}`);
    }
  }
  assert.deepEqual(complaints, []);
});
