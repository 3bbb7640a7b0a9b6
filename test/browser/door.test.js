// Attacks the door of a server in Chromium, with an administrator signed in: from pages of another
// origin, in frames, and with content that has scripts. And signs in as a person does, with the
// keyboard and on a phone.
//
//   npm ci && node --test door.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Stage, desktop, eventually, overflows, phone, picture, submit } from "./stage.js";
import { faint } from "./contrast.js";

const stage = new Stage("--host-resolver-rules=MAP *.example 127.0.0.1");
const folder = mkdtempSync(join(tmpdir(), "door-"));
const tokens = { reader: "the-token-of-a-reader", operator: "the-token-of-an-operator", admin: "the-token-of-an-admin" };
const signInPage = "/.enablers/sign-in";

const elsewhere = createServer((_, answer) => {
  answer.setHeader("Content-Type", "text/html");
  answer.end("<!doctype html><title>elsewhere</title><link rel=icon href=data:,>");
});
let origins; // of the foreign page: another port of this machine, and another site

before(async () => {
  const file = join(folder, "tokens");
  writeFileSync(file, Object.entries(tokens).map(([role, token]) => `the-${role} ${role} ${token}\n`).join(""), { mode: 0o600 });
  await stage.start("modelrepo", ["-listen", "127.0.0.1:0", "-access", "token", "-access-tokens", file], (line) => line.startsWith("listening on http:"));
  await new Promise((listening) => elsewhere.listen(0, "127.0.0.1", listening));
  const { port } = elsewhere.address();
  origins = [`http://127.0.0.1:${port}`, `http://evil.example:${port}`];
  for (const path of ["/w3c", "/w3c/sosa", "/w3c/sosa/1.0"]) assert.equal((await send("POST", path)).status, 200);
});

after(async () => {
  elsewhere.closeAllConnections();
  elsewhere.close();
  await stage.close();
  rmSync(folder, { recursive: true, force: true });
});

// send sends a request as a program with the token of an administrator does.
function send(method, path, body = undefined) {
  return fetch(stage.address + path, { method, body, redirect: "manual", headers: { Authorization: `Bearer ${tokens.admin}` } });
}

const person = (t, options = desktop) => stage.person(t, options);

// focused waits until an element has the focus.
const focused = (page, id) => eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), id));

// signedIn opens a browser in which an administrator has signed in.
async function signedIn(t, options) {
  const { context, page } = await person(t, options);
  await page.goto(stage.address + signInPage);
  await page.getByLabel("Token").fill(tokens.admin);
  await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "Sign in" }).click()]);
  assert.equal((await page.goto(stage.address + "/w3c")).status(), 200);
  return { context, page };
}

test("a person signs in with the keyboard, and out", async (t) => {
  const { context, page } = await person(t);
  await page.goto(stage.address + "/w3c?skip=0");
  assert.equal(page.url(), `${stage.address}${signInPage}?to=%2Fw3c%3Fskip%3D0`, "a protected page leads to the sign-in page");
  await focused(page, "token");
  await page.keyboard.type(tokens.reader);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.equal(page.url(), `${stage.address}/w3c?skip=0`, "and on to what was asked for");
  const [cookie, ...others] = await context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path, others.length], [true, "Strict", "/", 0]);
  assert.ok(!cookie.value.includes(tokens.reader), "the cookie is not the token");
  await page.goto(stage.address + signInPage);
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts do not see the cookie");
  assert.match(await page.locator("main").textContent(), /the-reader, with the role reader/);
  await picture(page, "door-signed-in");
  const reached = [];
  for (let i = 0; i < 4; i++) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement.textContent.trim()));
  }
  assert.deepEqual(reached.slice(-2), ["Go on", "Sign out"], "everything is reached by the keyboard");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.deepEqual(await context.cookies(), []);
  await context.addCookies([{ name: cookie.name, value: cookie.value, url: stage.address }]);
  assert.equal((await context.request.get(`${stage.address}/w3c`)).status(), 401, "the session has ended at the server");
});

test("a wrong token is said and not shown again", async (t) => {
  const { context, page } = await person(t);
  await page.goto(stage.address + signInPage);
  await page.getByLabel("Token").fill("a token that is wrong");
  const [answer] = await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "Sign in" }).click()]);
  assert.equal(answer.status(), 403);
  assert.match(await page.getByRole("alert").textContent(), /token is not valid/);
  assert.equal(await page.getByLabel("Token").inputValue(), "");
  await focused(page, "token");
  assert.ok(!(await page.content()).includes("a token that is wrong"));
  assert.deepEqual(await context.cookies(), []);
  await picture(page, "door-wrong-token");
});

for (const [name, options] of [["desktop", desktop], ["phone", phone], ["phone-dark", { ...phone, colorScheme: "dark" }]]) {
  test(`the sign-in page fits: ${name}`, async (t) => {
    const { page, complaints } = await stage.open(t, signInPage, options);
    assert.equal(await overflows(page), false);
    for (const target of await page.locator("main :is(button, input:not([type=hidden]))").all()) {
      assert.ok((await target.boundingBox()).height >= 24, "a finger finds it (WCAG 2.2, criterion 2.5.8)");
    }
    assert.deepEqual(await faint(page), []);
    assert.deepEqual(complaints, []);
    await picture(page, `door-sign-in-${name}`);
  });
}

test("the sign-in page works without JavaScript", async (t) => {
  const { page } = await signedIn(t, { ...desktop, javaScriptEnabled: false });
  assert.equal((await page.goto(`${stage.address}/w3c/sosa`)).status(), 200);
});

test("pages elsewhere change nothing in the name of an administrator", async (t) => {
  for (const origin of origins) {
    const { context, page } = await signedIn(t);
    for (const [path, enctype, fields] of [
      ["/stolen", "application/x-www-form-urlencoded", {}],
      ["/w3c/sosa/1.0/content?format=text/plain", "multipart/form-data", { content: "stolen" }],
      ["/.enablers/sign-out", "application/x-www-form-urlencoded", {}],
      [signInPage, "application/x-www-form-urlencoded", { token: tokens.reader }], // under a name of the attacker's choice
    ]) {
      const foreign = await context.newPage();
      await foreign.goto(origin);
      assert.equal((await submit(foreign, stage.address + path, enctype, fields)).status(), 403, `${path} from ${origin}`);
    }
    await page.goto(stage.address + signInPage);
    assert.match(await page.locator("main").textContent(), /the-admin, with the role admin/);
    assert.equal((await send("GET", "/stolen")).status, 404);
    assert.equal((await send("GET", "/w3c/sosa/1.0/content?format=text/plain")).status, 404);
    assert.equal((await context.cookies()).length, 1);
  }
});

test("pages elsewhere read nothing in the name of an administrator", async (t) => {
  for (const origin of origins) {
    const { page } = await signedIn(t);
    await page.goto(origin);
    const read = await page.evaluate(async (address) => {
      try {
        return await (await fetch(address, { credentials: "include" })).text();
      } catch (error) {
        return error.name;
      }
    }, `${stage.address}/w3c`);
    assert.equal(read, "TypeError");
    const [backup] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith("/.enablers/backup")),
      page.evaluate((address) => fetch(address, { mode: "no-cors", credentials: "include" }).catch(() => {}), `${stage.address}/.enablers/backup`),
    ]);
    assert.equal(backup.status(), 403, "a backup is not even made");
  }
});

test("no page is shown in a frame", async (t) => {
  for (const origin of origins) {
    const { page } = await signedIn(t);
    await page.goto(origin);
    const blocked = [];
    for (const path of [signInPage, "/docs/"]) {
      const framed = await page.evaluate((address) => new Promise((shown) => {
        const frame = document.createElement("iframe");
        frame.onload = () => shown(true);
        frame.src = address;
        document.body.append(frame);
      }), stage.address + path);
      assert.ok(framed);
      blocked.push("chrome-error:");
      const shown = () => page.mainFrame().childFrames().map((frame) => /^[^/]*/.exec(frame.url())[0]);
      await eventually(() => assert.deepEqual(shown(), blocked, `${path} in a frame of ${origin}`)); // it is loaded before it is known here
    }
  }
});

test("where to go on to stays on the server", async (t) => {
  for (const to of ["//evil.example/", "https://evil.example/", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)", " //evil.example"]) {
    const { page } = await person(t);
    await page.goto(`${stage.address}${signInPage}?to=${encodeURIComponent(to)}`);
    await page.getByLabel("Token").fill(tokens.reader);
    await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "Sign in" }).click()]);
    assert.equal(new URL(page.url()).origin, stage.address, to);
  }
});

test("content with scripts does nothing in the name of who opens it", async (t) => {
  const attack = `<!doctype html><title>content</title><img src=x onerror="fetch('/by-image', {method: 'POST'})">
    <svg onload="fetch('/by-svg', {method: 'POST'})"></svg><script>fetch("/by-script", {method: "POST"}); document.title = "run"</script>
    <form method=post action=/by-form></form><script>document.forms[0].submit()</script>`;
  const kinds = { "text/html": attack, "image/svg+xml": `<svg xmlns="http://www.w3.org/2000/svg"><script>fetch("/by-svg", {method: "POST"})</script></svg>`,
    "application/xhtml+xml": `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title><script>fetch("/by-xhtml", {method: "POST"})</script></head></html>` };
  for (const [kind, text] of Object.entries(kinds)) {
    const path = `/w3c/sosa/1.0/content?format=${encodeURIComponent(kind)}`;
    const form = new FormData();
    form.set("content", new Blob([text], { type: kind }), "x");
    assert.equal((await send("POST", path, form)).status, 200);
    const { page } = await signedIn(t);
    const download = page.waitForEvent("download").catch(() => {});
    await page.goto(stage.address + path).catch(() => {}); // it is downloaded
    if (await page.title() === "run") assert.fail(`${kind} is run`);
    await page.goto(stage.address + signInPage); // what a script would have sent is sent by now
    void download;
  }
  for (const path of ["/by-image", "/by-svg", "/by-script", "/by-form", "/by-xhtml"]) assert.equal((await send("GET", path)).status, 404, path);
});
