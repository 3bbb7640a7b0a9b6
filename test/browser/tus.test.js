// Tries cmd/modelrepo with the JavaScript client of tus: in chunks, with an
// upload that is interrupted and resumed, with the server started anew between,
// and with what the server refuses.
//
//   npm ci && node --test tus.test.js

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as tus from "tus-js-client";
import { build } from "./stage.js";

const scratch = mkdtempSync(join(tmpdir(), "modelrepo-"));

let program;
let server; // the process
let address;

// start starts the server at a free port: another process may have taken the one of before.
async function start() {
  server = spawn(program, ["-listen", "127.0.0.1:0", "-store", "disk:" + join(scratch, "data")], { stdio: ["ignore", "pipe", "inherit"] });
  address = await new Promise((found, failed) => {
    const lines = createInterface({ input: server.stdout });
    lines.on("line", (line) => {
      const match = /(http:\/\/[^\s/]+)/.exec(line);
      if (match) found(match[1]);
    });
    lines.on("close", () => failed(new Error("the server ended")));
  });
}

function stop(signal) {
  return new Promise((stopped) => {
    server.once("exit", stopped);
    server.kill(signal);
  });
}

before(async () => {
  program = build("modelrepo", scratch);
  await start();
  for (const path of ["/w3c", "/w3c/sosa", "/w3c/sosa/1.0"]) {
    assert.equal((await fetch(address + path, { method: "POST" })).status, 200);
  }
});

after(async () => {
  await stop("SIGTERM");
  rmSync(scratch, { recursive: true, force: true });
});

const upload = (data, format, options = {}) => new Promise((resolve, reject) => {
  const u = new tus.Upload(data, {
    endpoint: `${address}/w3c/sosa/1.0/content?format=${format}`,
    chunkSize: 100_000,
    retryDelays: null,
    metadata: { filetype: "application/octet-stream" },
    onError: reject,
    onSuccess: () => resolve(u),
    ...options,
  });
  u.start();
});

async function check(data, format) {
  const answer = await fetch(`${address}/w3c/sosa/1.0/content?format=${format}`);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "application/octet-stream");
  const sum = (bytes) => createHash("sha256").update(bytes).digest("hex");
  assert.equal(sum(Buffer.from(await answer.arrayBuffer())), sum(data));
}

test("an upload in chunks is published", async () => {
  const data = randomBytes(1_234_567);
  await upload(data, "chunks");
  await check(data, "chunks");
});

test("an upload of nothing is published", async () => {
  await upload(Buffer.alloc(0), "nothing");
  await check(Buffer.alloc(0), "nothing");
});

test("an upload goes on after the server was killed", async () => {
  const data = randomBytes(1_000_000);
  const { pathname, search } = new URL(await new Promise((resolve, reject) => {
    const u = new tus.Upload(data, {
      endpoint: `${address}/w3c/sosa/1.0/content?format=killed`,
      chunkSize: 100_000,
      retryDelays: null,
      metadata: { filetype: "application/octet-stream" },
      onError: reject,
      onChunkComplete: (_, sent) => {
        if (sent >= 400_000) u.abort().then(() => resolve(u.url));
      },
    });
    u.start();
  }));
  await stop("SIGKILL");
  await start();
  let first;
  await upload(data, "killed", { uploadUrl: address + pathname + search, onProgress: (sent) => { first ??= sent; } });
  assert.ok(first >= 400_000, `it began again at ${first}`);
  await check(data, "killed");
});

test("what the server refuses is an error", async () => {
  await assert.rejects(upload(randomBytes(10), "chunks"), /already exists for this model version/);
});
