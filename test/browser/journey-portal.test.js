// A person who has never seen the platform publishes two APIs with the same paths, tries one,
// and is refused what an account without the role may not do: by mouse, by keyboard alone and
// on a phone, in the pages of cmd/enablers.
//
//   npm ci && node --test journey-portal.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { byKeyboard, byMouse, onPhone } from "./journeys.js";
import { Stage, desktop, enablersFlags, overflows, phone, picture } from "./stage.js";
import { keyboard, mouse } from "./ways.js";

const stage = new Stage();
const scratch = mkdtempSync(join(tmpdir(), "journey-portal-"));
const services = []; // that the published APIs are of
let gateway;
let portal; // the identity provider is on its listener
let password;

before(async () => {
  for (const name of ["first", "second"]) {
    const service = createServer((request, response) => {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ service: name, path: request.url }));
    });
    await new Promise((listening) => service.listen(0, "127.0.0.1", listening));
    services.push(service);
  }
  await stage.start("enablers", enablersFlags, (line) => {
    portal ??= /^listening on (\S+) \(API portal\)/.exec(line)?.[1];
    gateway ??= /^listening on (\S+) \(API gateway\)/.exec(line)?.[1];
    const file = /^new password of demouser.*: demo_password in (.+)$/.exec(line)?.[1];
    if (file) password = JSON.parse(readFileSync(file, "utf8")).demo_password;
    return line.startsWith("Or start with -demo");
  });
});

after(async () => {
  await stage.close();
  for (const service of services) {
    service.closeAllConnections();
    service.close();
  }
  rmSync(scratch, { recursive: true, force: true });
});

// definition writes the file of the API of a service, all of which have the same path.
function definition(service, path) {
  const file = join(scratch, `${path}-${service}.json`);
  writeFileSync(file, JSON.stringify({
    openapi: "3.0.3",
    info: { title: `The ${service === 0 ? "first" : "second"} station`, version: "1.0" },
    servers: [{ url: `http://127.0.0.1:${services[service].address().port}` }],
    paths: { [`/${path}`]: { get: { summary: "How it is", responses: { 200: { description: "It is well." } } } } },
  }));
  return file;
}

async function journey(t, name, options, way) {
  const { page, complaints } = await stage.open(t, "/ui/apis/", options, gateway, portal, "data:", "blob:");
  const signIn = async (user) => {
    await way.press(page.locator("main").getByRole("link", { name: "Sign in" }));
    await way.type(page.locator("[name=username]"), user);
    await way.type(page.locator("[name=password]"), password);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${stage.address}/ui/apis/`);
    await page.locator(".person strong", { hasText: user }).waitFor();
  };
  const fits = async (what) => {
    assert.equal(await overflows(page), false, what);
    await picture(page, `journey-portal-${name}-${what}`);
  };
  const publish = page.getByRole("button", { name: "Publish to the gateway" });
  const done = (enabler) => page.locator(".good", { hasText: `${enabler} 1.0 is published` });

  await signIn("demodeveloper");
  await page.locator('[data-enabler="model repository"]', { hasText: "/models" }).waitFor(); // the platform's own
  await way.type(page.getByLabel("Enabler’s name"), `first ${name}`);
  await way.upload(page.getByLabel("OpenAPI file"), definition(0, name));
  await way.press(publish);
  await done(`first ${name}`).waitFor();

  await way.type(page.getByLabel("Enabler’s name"), `second ${name}`);
  await way.upload(page.getByLabel("OpenAPI file"), definition(1, name));
  await way.press(publish);
  await page.getByText("others serve the same routes").waitFor();
  assert.equal(await page.getByLabel("Path at the gateway").inputValue(), `/second-${name}`, "a path is suggested");
  await fits("conflict");
  await way.press(publish);
  await done(`second ${name}`).waitFor();
  await fits("published");

  await way.press(page.locator(`[data-enabler="second ${name}"]`).getByRole("link"));
  const operation = page.locator(".opblock");
  await way.press(operation.locator(".opblock-summary-control"));
  await way.press(operation.getByRole("button", { name: "Try it out" }));
  await way.press(operation.getByRole("button", { name: "Execute" }));
  const answer = operation.locator(".live-responses-table");
  await answer.getByText(`"service": "second"`).waitFor();
  assert.match(await answer.textContent(), /200/);
  await fits("tried");
  assert.deepEqual(complaints.filter((text) => !text.includes("409")), []);

  await way.press(page.getByRole("button", { name: "Sign out" }));
  await page.waitForURL(`${stage.address}/ui/`);
  await way.press(page.locator(".sections").getByRole("link", { name: "APIs" }));
  await signIn("demoopencaller");
  assert.equal(await page.locator("#upload").count(), 0, "nothing is offered that is refused");
  const refused = await page.goto(`${stage.address}/ui/apis/apis/second%20${name}/delete`);
  assert.equal(refused.status(), 403);
  await page.getByText("The role Developer is needed for this.").waitFor();
  await fits("refused");
  await way.press(page.getByRole("link", { name: "Back to the library" }));
  await page.locator(`[data-enabler="second ${name}"]`).waitFor();
}

const title = "two APIs with the same paths are published and tried";
byMouse(title, (t) => journey(t, "mouse", desktop, mouse));
byKeyboard(title, (t) => journey(t, "keys", desktop, keyboard));
onPhone(title, (t) => journey(t, "phone", phone, mouse));
