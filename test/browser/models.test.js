// Tries the pages of cmd/modelrepo in Chromium: lists, forms, uploads that are dropped, refused,
// stopped and continued, on a desktop and on a phone, with and without JavaScript.
//
//   npm ci && node --test models.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Stage, desktop, eventually, overflows, phone, picture } from "./stage.js";
import { faint } from "./contrast.js";

const stage = new Stage();
const pages = "/ui/models/";

before(async () => {
  await stage.start("modelrepo", ["-listen", "127.0.0.1:0", "-max-namespace", "60000000"], (line) => line.startsWith("listening on http:"));
  await make("/w3c", { metadata: { title: "Models of the W3C", licence: ["W3C-20150513", "CC-BY-4.0"] } });
  for (let i = 0; i < 60; i += 1) await make(`/w3c/model-${i}`, { metadata: { domain: i % 2 ? "sensing" : "acting" } });
  await make("/w3c/sosa", {});
});

after(() => stage.close());

async function make(path, body) {
  const answer = await fetch(stage.address + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.text());
}

async function version(tag) {
  await make(`/w3c/sosa/${tag}`, {});
  return `${pages}v/w3c/sosa/${tag}`;
}

const stored = (page) => page.locator('#uploads [data-state="stored"]');
const isUpload = /\/u\//; // addresses of uploads
const text = (name, content) => ({ name, mimeType: "", buffer: Buffer.from(content) });

// drop drops files on the form; the content of one is a text or a number of bytes.
async function drop(page, ...files) {
  const transfer = await page.evaluateHandle((files) => {
    const made = new DataTransfer();
    for (const [name, content, type] of files) {
      made.items.add(new File([typeof content === "number" ? new Uint8Array(content) : content], name, { type }));
    }
    return made;
  }, files);
  await page.dispatchEvent("#upload", "drop", { dataTransfer: transfer });
}

for (const [name, options] of [["desktop", desktop], ["phone", phone], ["dark", { ...desktop, colorScheme: "dark" }]]) {
  test(`the pages are legible and fit: ${name}`, async (t) => {
    const at = await version(`look-${name}`);
    const { page, complaints } = await stage.open(t, pages, options);
    for (const path of ["", "n/w3c", "n/w3c/usage", "n/w3c/change", "m/w3c/sosa", "m/w3c/sosa/new", at.slice(pages.length), "usage", "webhooks"]) {
      await page.goto(stage.address + pages + path);
      assert.deepEqual(await faint(page), [], path);
      assert.equal(await overflows(page), false, path);
      await picture(page, `models-${path.replaceAll("/", "-")}-${name}`);
    }
    assert.deepEqual(complaints, []);
  });
}

test("a list is filtered and paged", async (t) => {
  const { page, complaints } = await stage.open(t, `${pages}n/w3c`, desktop);
  const rows = page.locator("tbody tr");
  await eventually(async () => assert.equal(await rows.count(), 50));
  await page.getByRole("link", { name: "Next" }).click();
  await page.getByText("page 2 of 2").waitFor();
  await eventually(async () => assert.equal(await rows.count(), 11));
  await page.getByText("Filter and order").click();
  await page.getByLabel("Metadata key").fill("domain");
  await page.getByLabel("Value").fill("acting");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("30 models").waitFor();
  await page.getByRole("link", { name: "Show all" }).click();
  await page.getByText("61 models").waitFor();
  assert.deepEqual(complaints, []);
});

test("files are dropped, and each is stored in its format", async (t) => {
  const { page, complaints } = await stage.open(t, await version("dropped"), desktop);
  await drop(page, ["one.ttl", "<a> <b> <c> ."], ["none.jsonld", ""], ["three.xml", "<x/>", "text/xml"]);
  await page.waitForFunction(() => document.querySelectorAll('#uploads [data-state="stored"]').length === 3);
  await page.waitForFunction(() => document.querySelectorAll("#formats tbody tr").length === 3);
  const formats = () => page.locator("#formats tbody th").evaluateAll((cells) => cells.map((cell) => cell.firstChild.textContent.trim()).sort());
  await eventually(async () => assert.deepEqual(await formats(), ["application/ld+json", "application/xml", "text/turtle"]));
  const sum = createHash("sha256").update("<a> <b> <c> .").digest("hex");
  await page.locator("#formats").getByText(sum).waitFor();
  await page.locator("#uploads").getByText(sum).waitFor();
  await eventually(async () => assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), []));
  assert.deepEqual(complaints, []);
});

test("the first of the files that are dropped at once is the default format", async (t) => {
  const { page, complaints } = await stage.open(t, await version("defaulted"), desktop);
  await drop(page, ["large.zip", 12 << 20], ["small.ttl", "<a> <b> <c> ."], ["none.jsonld", ""]);
  await page.waitForFunction(() => document.querySelectorAll('#uploads [data-state="stored"]').length === 3);
  await page.locator("#formats tbody tr", { hasText: "default" }).getByText("application/zip").waitFor();
  assert.deepEqual(complaints, []);
});

test("what the server refuses is said, and can be mended", async (t) => {
  const { page } = await stage.open(t, await version("refused"), desktop);
  await drop(page, ["a.ttl", "one"]);
  await stored(page).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await drop(page, ["a.ttl", "two"]);
  await page.getByText("already exists").waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByLabel("Replace the content").check();
  await drop(page, ["a.ttl", "three"]);
  await stored(page).waitFor();
  await drop(page, ["large.zip", 61_000_000]);
  await page.getByText("The content does not fit.").waitFor();
});

test("an upload is stopped, goes on, and another one is discarded", async (t) => {
  const at = await version("stopped");
  const { page, complaints } = await stage.open(t, at, desktop);
  const network = await page.context().newCDPSession(page);
  const limit = (uploadThroughput) =>
    network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput });
  // send stops an upload within its second piece, for which the network is slow.
  const send = async (name) => {
    let pieces = 0;
    await page.route(isUpload, async (route) => {
      if (route.request().method() === "PATCH" && ++pieces === 2) await limit(50_000);
      await route.continue();
    });
    await drop(page, [name, 20 << 20]);
    await page.waitForFunction(() => document.querySelector("#uploads li:last-child progress")?.value > 0.3);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped. What has arrived is kept.").waitFor();
    await page.unroute(isUpload);
    await limit(-1);
  };
  await send("a.onnx");
  await page.getByRole("button", { name: "Go on" }).click();
  await stored(page).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await send("b.ttl");
  await page.reload();
  await page.getByText("This upload was left.").waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.waitForFunction(() => document.querySelector("#uploads").childElementCount === 0 && localStorage.length === 0);
  await page.reload();
  await page.locator("#formats tbody tr").waitFor();
  assert.equal(await page.locator("#uploads li").count(), 0);
  // A piece that was stopped may still arrive; the next one is refused then, and sent again.
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 409")), []);
});

test("an upload waits for the network from its beginning", async (t) => {
  const { page, complaints } = await stage.open(t, await version("waiting"), desktop);
  await page.context().setOffline(true);
  await drop(page, ["a.ttl", "<a> <b> <c> ."]);
  await page.getByText("The connection is broken: try 2").waitFor();
  await page.context().setOffline(false);
  await stored(page).waitFor();
  assert.deepEqual(complaints.filter((text) => !text.includes("net::ERR_")), []);
});

test("something is deleted only when that is confirmed", async (t) => {
  await make("/gone", {});
  const { page } = await stage.open(t, `${pages}n/gone`, desktop);
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("button", { name: "Delete the namespace" }).click();
  assert.equal((await fetch(`${stage.address}/gone`)).status, 200);
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Delete the namespace" }).click();
  await page.getByText("The namespace gone is deleted.").waitFor();
  assert.equal((await fetch(`${stage.address}/gone`)).status, 404);
});

test("everything works without JavaScript", async (t) => {
  const { page, complaints } = await stage.open(t, pages, { ...desktop, javaScriptEnabled: false });
  const press = (role, name) => page.getByRole(role, { name, exact: true }).click();
  await press("link", "Create a namespace");
  await page.getByLabel("Name").fill("plain");
  await press("button", "Create the namespace");
  await press("link", "Create a model");
  await page.getByLabel("Name").fill("m");
  await press("button", "Create the model");
  await press("link", "Create a version");
  await page.getByLabel("Tag").fill("1.0");
  await press("button", "Create the version");
  await page.getByLabel("File", { exact: true }).setInputFiles(text("a.ttl", "<a> <b> <c> ."));
  await press("button", "Upload");
  await page.getByText("The file a.ttl is stored as text/turtle.").waitFor();
  await page.getByText("Write it in Markdown").click();
  await page.getByLabel("Markdown files").setInputFiles(text("README.md", "# How to use it\n\n| a | b |\n|---|---|\n| 1 | 2 |"));
  await press("button", "Render");
  const opened = page.waitForEvent("popup");
  await page.getByRole("link", { name: "Read the documentation" }).click();
  await (await opened).getByRole("heading", { name: "How to use it" }).waitFor();
  await press("link", "Change");
  await page.getByLabel("Metadata").fill("checked by: Ada");
  await press("button", "Change the version");
  await page.getByRole("alert").filter({ hasText: "Invalid metadata key" }).waitFor();
  await page.getByLabel("Metadata").fill("checked-by: Ada");
  await page.getByLabel("Make it immutable").check();
  await press("button", "Change the version");
  await page.getByText("The version is changed.").waitFor();
  await page.getByText("Delete this version").click();
  await page.getByLabel("Type its tag, 1.0").fill("1.0");
  await press("button", "Delete it with its content");
  await page.getByText("The version 1.0 is deleted.").waitFor();
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 400")), []);
});
