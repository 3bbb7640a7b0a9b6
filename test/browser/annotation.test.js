// Tries the pages of the annotation of cmd/enablers in Chromium: the workbench, and what the journeys
// of channels leave out.
//
//   npm ci && node --test annotation.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { found } from "./axe.js";
import { publish } from "./mqtt.js";
import { Stage, desktop, enablersFlags, eventually, picture } from "./stage.js";

const stage = new Stage();

let broker; // the port of the MQTT broker

before(() => stage.start("enablers", [...enablersFlags, "-demo"], (line) => {
  broker ??= /^listening on mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
  return line.includes("XML in"); // the demonstration runs
}));
after(() => stage.close());

const message = '{"station":"EWR","time":"2026-01-01T06:00:00Z","temp":3.9,"sensors":[{"id":"w1","value":10.4},{"id":"r1","value":0}]}';
const sample = '{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}'; // of the demonstration
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
  await eventually(async () => assert.ok(await rml.evaluate((content) => content.getRootNode().activeElement === content), "the cursor is at the line"));

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
  await publish(broker, "cold/in", message.replace('"temp"', '"temperature"'));
  await page.locator('[data-field="invalid"]', { hasText: /^1$/ }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a line of the mapping shows its statements", async (t) => {
  const { page } = await begin(t, desktop);
  await page.locator("#rml + .editor .cm-line", { hasText: "rr:predicate ex:station" }).click();
  await page.locator("#rule", { hasText: "created 1 statement, highlighted below" }).waitFor();
  assert.deepEqual(await page.locator("#statements tr.chosen td:nth-child(2)").allTextContents(), ["ex:station"]);
});

test("the RDF is shown as a graph and as text", async (t) => {
  const { page, complaints } = await begin(t, desktop);
  await page.locator('[data-tab="graph"]').click();
  await page.locator("#graph canvas").first().waitFor();
  await picture(page, "workbench-graph");
  await page.locator('[data-tab="output"]').click();
  await page.locator("#output", { hasText: 'ex:temperature "3.9"^^xsd:decimal' }).waitFor();
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
  const state = async () => (await (await fetch(`${stage.address}/ui/annotation/channels/failing/state`)).json()).state;
  await eventually(async () => assert.equal(await state(), "running"));
  await publish(broker, "failing/in", '{"station":"EWR","time":oops}');
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
  await page.locator("#verdict", { hasText: "statements from 3 records" }).waitFor();
  await page.locator("#statements", { hasText: "<http://example.org/sensor/w1>" }).waitFor();
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

test("a channel is made and edited without scripts", async (t) => {
  const { page } = await stage.open(t, "/ui/annotation/new", { ...desktop, javaScriptEnabled: false }, "data:");
  await page.locator("#sample").fill(sample);
  await page.getByRole("button", { name: "Suggest a mapping" }).click();
  await page.locator("#inputTopic").fill("demo/json");
  await page.locator("#outputTopic").fill("journey/plain");
  await page.locator('[id="input.MQTT.port"]').fill("1");
  await page.getByRole("button", { name: "Test the connections" }).click();
  await page.getByText("Input: cannot connect to").waitFor();
  await page.getByText(/127\.0\.0\.1:1.*refused/).first().waitFor();
  await picture(page, "channels-new-plain");
  await page.locator('[id="input.MQTT.port"]').fill("");
  await page.locator('button:not(.said)', { hasText: "Make the channel" }).click();
  await page.getByText("The channel is created.").waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.locator("#name").fill("Plain");
  await page.locator('button:not(.said)', { hasText: "Save" }).click();
  await page.getByRole("heading", { name: "Plain" }).waitFor();
});

test("the list shows how many messages come in", async (t) => {
  const { page, complaints } = await stage.open(t, "/ui/annotation/", desktop, "data:");
  await page.waitForFunction(() => parseFloat(document.querySelector('[data-id="demo-json"] [data-field="rate"]').textContent) > 20);
  assert.deepEqual(complaints, []);
});
