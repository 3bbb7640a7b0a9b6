// Attacks the services of cmd/enablers from a page of another origin in Chromium: forms,
// multipart forms, fetch without CORS, an image, and a name that is rebound to this
// machine. Each is refused, and nothing has changed after it. A page of an origin that -hosts
// names uses the services.
//
//   npm ci && node --test guard.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Stage, desktop, enablersFlags, submit } from "./stage.js";

const rebound = "evil.example";
const stage = new Stage(`--host-resolver-rules=MAP ${rebound} 127.0.0.1`);
const at = {}; // addresses of the services
const services = {
  "console and annotator": "console", "model repository": "models", "training collector and FL repository": "collector",
  "API portal": "portal", "API gateway": "gateway", "gateway admin": "admin",
  "multi-link server, in memory": "bonding", "multi-link client, in memory": "attached",
};

const [elsewhere, trusted] = [1, 2].map(() => createServer((_, answer) => {
  answer.setHeader("Content-Type", "text/html");
  answer.end("<!doctype html><title>elsewhere</title><link rel=icon href=data:,>");
}));
let content; // the address of what the repository holds
let origins; // of the foreign page: another port of this machine, and another site
let app; // the origin that -hosts names

before(async () => {
  for (const site of [elsewhere, trusted]) await new Promise((listening) => site.listen(0, "127.0.0.1", listening));
  app = `http://app.localhost:${trusted.address().port}`;
  await stage.start("enablers", [...enablersFlags, "-hosts", app], (line) => {
    const [, address, name] = /^listening on (\S+) \((.*)\)$/.exec(line) ?? [];
    if (services[name]) at[services[name]] = address;
    return Object.keys(at).length === Object.keys(services).length;
  });
  const { port } = elsewhere.address();
  origins = [`http://127.0.0.1:${port}`, `http://${rebound}:${port}`];
  for (const path of ["/w3c", "/w3c/sosa", "/w3c/sosa/1.0"]) assert.equal(await status(at.models + path, "POST"), 200);
  content = `${at.models}/w3c/sosa/1.0/content?format=text/plain`;
  const form = new FormData();
  form.set("content", new Blob(["the original"], { type: "text/plain" }));
  assert.equal(await status(content, "POST", form), 200);
});

after(async () => {
  for (const site of [elsewhere, trusted]) {
    site.closeAllConnections();
    site.close();
  }
  await stage.close();
});

// status sends a request as a program does.
async function status(address, method = "GET", body = undefined) {
  return (await fetch(address, { method, body, redirect: "manual" })).status;
}

// foreign opens the page of another origin.
async function foreign(t, origin) {
  const { page } = await stage.person(t, desktop);
  await page.goto(origin);
  return page;
}

test("a form creates nothing", async (t) => {
  for (const origin of origins) {
    const answer = await submit(await foreign(t, origin), `${at.models}/stolen`, "application/x-www-form-urlencoded", {});
    assert.equal(answer.status(), 403);
    assert.match(await answer.text(), /page of another origin/);
    assert.equal(await status(`${at.models}/stolen`), 404);
  }
});

test("a multipart form overwrites nothing", async (t) => {
  for (const origin of origins) {
    const answer = await submit(await foreign(t, origin), `${content}&overwrite=1`, "multipart/form-data", { content: "stolen" });
    assert.equal(answer.status(), 403);
    assert.equal(await (await fetch(content)).text(), "the original");
  }
});

test("fetch without CORS changes nothing at any service", async (t) => {
  const targets = [
    `${at.console}/channels`, `${at.models}/fetched`, `${at.collector}/job/config/stolen`, `${at.collector}/job/stop`,
    `${at.collector}/model`, `${at.collector}/repository/model`, `${at.portal}/OpenAPIDocumentation/`, `${at.portal}/logout`,
    `${at.admin}/services`, `${at.admin}/admin/services/new`, `${at.bonding}/interfaces/add`, `${at.attached}/.enablers/sign-in`,
  ];
  for (const origin of origins) {
    const page = await foreign(t, origin);
    for (const target of targets) {
      const answer = page.waitForResponse((response) => response.url() === target);
      await page.evaluate((target) => fetch(target, { method: "POST", mode: "no-cors", body: "{}" }).catch(() => {}), target);
      assert.equal((await answer).status(), 403, `${target} from ${origin}`);
    }
  }
  assert.equal(await status(`${at.models}/fetched`), 404);
});

test("neither an image nor a link stops a job", async (t) => {
  const answer = await fetch(`${at.collector}/job/config/mine`, {
    method: "POST",
    body: JSON.stringify({
      strategy: "FedMedian", model_name: "m", model_version: "1", server_conf: { num_rounds: 5 },
      strategy_conf: {}, client_conf: [{ epochs: 1 }], "privacy-mechanisms": {}, configuration_id: 10,
    }),
  });
  assert.equal(await answer.text(), "200");
  const state = async () => (await (await fetch(`${at.collector}/job/status/mine`)).json()).status;
  assert.equal(await state(), "WAITING");
  for (const origin of origins) {
    const page = await foreign(t, origin);
    const stop = `${at.collector}/job/stop`;
    // The browser shows no answer that is not an image; the state shows that it was refused.
    await page.evaluate((source) => new Promise((ended) => {
      const image = new Image();
      image.onload = image.onerror = ended;
      image.referrerPolicy = "no-referrer";
      image.src = source;
    }), stop);
    assert.equal(await state(), "WAITING");
    const [link] = await Promise.all([page.waitForNavigation(), page.evaluate((to) => { location.href = to; }, stop)]);
    assert.equal(link.status(), 403);
    assert.equal(await state(), "WAITING");
  }
  assert.equal(await status(`${at.collector}/job/stop`), 200, "programs may");
  assert.notEqual(await state(), "WAITING");
});

test("a rebound name reaches no service", async (t) => {
  const page = await foreign(t, origins[1]);
  for (const [name, address] of Object.entries(at)) {
    if (name === "gateway") continue; // it is for other names
    const target = address.replace("127.0.0.1", rebound);
    for (const path of ["/", "/healthz", "/metrics"]) {
      const answer = await page.goto(target + path);
      assert.equal(answer.status(), 421, target + path);
      assert.match(await answer.text(), new RegExp(`-hosts ${rebound}`), "the answer names the remedy");
    }
    // The page is of the origin that the name makes of the service by now.
    assert.equal(await page.evaluate(async () => (await fetch("/rebound", { method: "POST" })).status), 421, target);
  }
  assert.equal(await status(`${at.models}/rebound`), 404);
});

test("pages of the services still change what is theirs, and links lead to them", async (t) => {
  const page = await foreign(t, origins[1]);
  const [own] = await Promise.all([page.waitForNavigation(), page.evaluate((to) => { location.href = to; }, `${at.models}/docs/`)]);
  assert.equal(own.status(), 200);
  assert.equal(await page.evaluate(async () => (await fetch("/own", { method: "POST" })).status), 200);
  assert.equal((await page.goto(at.models.replace("127.0.0.1", "localhost") + "/docs/")).status(), 200);
  assert.equal(await page.evaluate(async () => (await fetch("/other", { method: "POST" })).status), 200);
});

test("a page of an origin that -hosts names sends every method, and reads answers with their header fields", async (t) => {
  const exchange = async ([address, method, body]) => {
    const header = { "Content-Type": body ? "application/json" : "text/plain", "X-Request-Id": "mine", Authorization: "Bearer none" };
    const answer = await fetch(address, { method, body, headers: header });
    return { status: answer.status, id: answer.headers.get("X-Request-Id"), text: await answer.text() };
  };
  const mine = await foreign(t, app);
  for (const [name, address] of Object.entries(at)) {
    if (name === "gateway") continue; // its plugins decide
    for (const request of [[`${address}/healthz`, "GET"], [`${address}/none/of/it`, "PUT", "{}"], [`${address}/none/of/it`, "DELETE"]]) {
      const answer = await mine.evaluate(exchange, request);
      assert.equal(answer.id, "mine", request.join(" "));
      assert.notEqual(answer.text, "", request.join(" "));
    }
  }
  assert.equal((await mine.evaluate(exchange, [`${at.models}/byapp`, "POST"])).status, 200);
  assert.equal((await mine.evaluate(exchange, [`${at.models}/byapp`, "DELETE"])).status, 200);
  for (const origin of origins) {
    const page = await foreign(t, origin);
    await assert.rejects(page.evaluate((address) => fetch(address), `${at.models}/healthz`), /Failed to fetch/);
    await assert.rejects(page.evaluate(exchange, [`${at.models}/w3c`, "DELETE"]), /Failed to fetch/);
  }
  assert.equal(await status(`${at.models}/w3c`), 200);
});

test("the gateway is for pages of other origins", async (t) => {
  const page = await foreign(t, origins[0]);
  const target = `${at.gateway}/none`;
  const answer = page.waitForResponse((response) => response.url() === target);
  await page.evaluate((target) => fetch(target, { method: "POST", mode: "no-cors" }).catch(() => {}), target);
  assert.equal((await answer).status(), 404);
});
