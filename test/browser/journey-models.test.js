// The journey of a person who stores a model: makes the place for it, uploads a large file while
// the connection breaks and the page is closed, and downloads it again.
//
//   npm ci && node --test journey-models.test.js
//
// It wants Go and Chromium, and 4 GB of disk; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Stage, desktop, overflows, phone, picture, reach } from "./stage.js";
import { Proxy } from "./proxy.js";

const MB = 1 << 20;
const stage = new Stage();
const proxy = new Proxy();
const scratch = mkdtempSync(join(tmpdir(), "journey-models-"));

before(async () => {
  await stage.start("modelrepo", ["-listen", "127.0.0.1:0"], (line) => line.startsWith("listening on http:"));
  await proxy.start(stage.address);
  stage.address = proxy.address;
});

after(async () => {
  await stage.close();
  await proxy.close();
  rmSync(scratch, { recursive: true, force: true });
});

// file makes a file in which no two blocks of a megabyte are equal, quickly.
async function file(name, size) {
  const path = join(scratch, name);
  const made = await open(path, "w");
  await made.truncate(size);
  for (let at = 0; at < size; at += MB) await made.write(`${name} ${at}`, at);
  await made.close();
  return path;
}

async function sum(path) {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: MB }), hash);
  return hash.digest("hex");
}

// The ways of using a page. Press uses a link or a button, type fills in a field.
const mouse = {
  press: (_, locator) => locator.click(),
  type: (_, locator, text) => locator.fill(text),
};
const touch = { ...mouse, press: (_, locator) => locator.tap() };
const keyboard = {
  async press(page, locator) {
    await reach(page, locator);
    await page.keyboard.press((await locator.evaluate((element) => element.type)) === "file" ? "Space" : "Enter");
  },
  async type(page, locator, text) {
    await reach(page, locator);
    await page.keyboard.type(text);
  },
};

async function journey(t, name, way, options, size) {
  const { page, complaints } = await stage.open(t, "/", { ...options, acceptDownloads: true });
  const press = (locator) => way.press(page, locator);
  const link = (text) => page.getByRole("link", { name: text, exact: true });
  const button = (text) => page.getByRole("button", { name: text, exact: true });

  // The place for the file: a namespace, a model and a version.
  await press(link("Make a namespace"));
  await way.type(page, page.getByLabel("Name"), name);
  await way.type(page, page.getByLabel("Metadata"), "licence: CC-BY-4.0");
  await press(button("Make the namespace"));
  await page.getByText("The namespace is made.").waitFor();
  await press(link("Make a model"));
  await way.type(page, page.getByLabel("Name"), "large");
  await press(button("Make the model"));
  await press(link("Make a version"));
  await way.type(page, page.getByLabel("Tag"), "1.0");
  await press(button("Make the version"));
  await page.getByText("This version has no content yet.").waitFor();

  // The upload goes on when the connection breaks.
  const path = await file(`${name}.onnx`, size);
  const choose = async () => {
    const chooser = page.waitForEvent("filechooser");
    await press(page.getByLabel("File", { exact: true }));
    await (await chooser).setFiles(path);
    await press(button("Upload"));
  };
  proxy.cutAfter(0.3 * size, 400);
  proxy.cutAfter(0.6 * size);
  await choose();
  await page.waitForFunction(() => document.querySelector("#uploads progress")?.value > 0.4);
  await page.getByText("The connection is broken").waitFor();
  await picture(page, `models-upload-broken-${name}`);

  // It goes on after the page was closed, with the same file.
  proxy.mend();
  await page.reload();
  await page.getByText("This upload was left.").waitFor();
  assert.ok(await page.locator("#uploads progress").evaluate((bar) => bar.value) > 0.3);
  await picture(page, `models-upload-left-${name}`);
  const before = proxy.sent;
  await choose();
  await page.locator('#uploads [data-state="stored"]').waitFor({ timeout: 120_000 });
  assert.ok(proxy.sent - before < 0.7 * size, "it began anew");
  assert.equal(await overflows(page), false);
  await picture(page, `models-upload-stored-${name}`);

  // What is shown and what comes back is the file.
  const expected = await sum(path);
  await page.locator("#formats").getByText(expected).waitFor();
  const download = page.waitForEvent("download");
  await press(page.getByRole("link", { name: "Download application/x-onnx" }));
  const came = await (await download).path();
  assert.equal(await sum(came), expected);
  rmSync(came);
  rmSync(path);
  // The browser complains about the broken connection, and about a piece that was sent twice.
  assert.deepEqual(complaints.filter((text) => !/net::ERR_|status of 409/.test(text)), []);
}

test("a gigabyte arrives over a broken connection, by mouse", (t) => journey(t, "mouse", mouse, desktop, 1000 * MB));

test("a file arrives over a broken connection, by keyboard", (t) => journey(t, "keyboard", keyboard, desktop, 64 * MB));

test("a file arrives over a broken connection, on a phone", (t) => journey(t, "phone", touch, phone, 64 * MB));
