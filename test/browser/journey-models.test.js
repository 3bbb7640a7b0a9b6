// The journey of a person who stores a model: makes the place for it, uploads a large file while
// the connection breaks and the page is closed, and downloads it again.
//
//   npm ci && node --test journey-models.test.js
//
// It wants Go and Chromium, and 4 GB of disk; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { byKeyboard, byMouse, onPhone } from "./journeys.js";
import { Proxy } from "./proxy.js";
import { Stage, desktop, overflows, phone, picture } from "./stage.js";
import { keyboard, mouse, touch } from "./ways.js";

const MB = 1 << 20;
const long = { timeout: 300_000 }; // milliseconds for a gigabyte
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

async function journey(t, name, way, options, size) {
  const { page, complaints } = await stage.open(t, "/", { ...options, acceptDownloads: true });
  const press = (locator) => way.press(locator);
  const link = (text) => page.getByRole("link", { name: text, exact: true });
  const button = (text) => page.getByRole("button", { name: text, exact: true });

  // The place for the file: a namespace, a model and a version.
  await press(link("Create a namespace"));
  await way.type(page.getByLabel("Name"), name);
  await way.type(page.getByLabel("Metadata"), "licence: CC-BY-4.0");
  await press(button("Create the namespace"));
  await page.getByText("The namespace is created.").waitFor();
  await press(link("Create a model"));
  await way.type(page.getByLabel("Name"), "large");
  await press(button("Create the model"));
  await press(link("Create a version"));
  await way.type(page.getByLabel("Tag"), "1.0");
  await press(button("Create the version"));
  await page.getByText("This version has no content yet.").waitFor();

  // The upload goes on when the connection breaks.
  const path = await file(`${name}.onnx`, size);
  const choose = async () => {
    await way.upload(page.getByLabel("File", { exact: true }), path);
    await press(button("Upload"));
  };
  proxy.cutAfter(0.3 * size, 400);
  proxy.cutAfter(0.6 * size);
  await choose();
  await page.waitForFunction(() => document.querySelector("#uploads progress")?.value > 0.4, undefined, long);
  await page.getByText("The connection is broken").waitFor(long);
  await picture(page, `models-upload-broken-${name}`);

  // It goes on after the page was closed, with the same file.
  proxy.mend();
  await page.reload();
  await page.getByText("This upload was left.").waitFor();
  assert.ok(await page.locator("#uploads progress").evaluate((bar) => bar.value) > 0.3);
  await picture(page, `models-upload-left-${name}`);
  const before = proxy.sent;
  await choose();
  await page.locator('#uploads [data-state="stored"]').waitFor(long);
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

const title = "a file of 64 MB arrives over a broken connection";
byMouse(title, (t) => journey(t, "mouse", mouse, desktop, 64 * MB));
byKeyboard("a gigabyte arrives over a broken connection", (t) => journey(t, "keyboard", keyboard, desktop, 1000 * MB));
onPhone(title, (t) => journey(t, "phone", touch, phone, 64 * MB));
