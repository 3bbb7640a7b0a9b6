// A person who has never seen the platform publishes two APIs with the same paths, tries one,
// and is refused what an account without the role may not do: by mouse, by keyboard alone and
// on a phone, in the pages of cmd/enablers.
//
//   npm ci && node --test journey-portal.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Stage, desktop, overflows, phone, picture } from "./stage.js";

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
  const listeners = ["listen", "mqtt", "modelrepo", "flcollector", "flcollector-grpc", "flcollector-fleet", "apimanager", "gateway", "gateway-admin", "multilink", "multilink-client"];
  await stage.start("enablers", listeners.flatMap((name) => [`-${name}`, "127.0.0.1:0"]), (line) => {
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

// pointer acts as a person with a mouse or a finger does.
const pointer = (page) => ({
  press: (what) => what.click(),
  type: async (what, text) => {
    await what.click();
    await page.keyboard.type(text);
  },
  choose: async (what, file) => {
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), what.click()]);
    await chooser.setFiles(file);
  },
});

// keyboard acts by keys alone: it goes to what it uses with the tabulator.
function keyboard(page) {
  const to = async (what) => {
    await what.waitFor();
    for (let i = 0; i < 80; i++) {
      if (await what.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`no way by keyboard to ${what}`);
  };
  return {
    press: async (what) => {
      await to(what);
      await page.keyboard.press("Enter");
    },
    type: async (what, text) => {
      await to(what);
      await page.keyboard.type(text);
    },
    choose: async (what, file) => {
      await to(what);
      let chooser = null; // in some runs none opens at the first press, see portal.test.js
      for (let i = 0; i < 3 && chooser === null; i++) {
        const opened = page.waitForEvent("filechooser", { timeout: 5000 }).catch(() => null);
        await page.keyboard.press("Space");
        chooser = await opened;
      }
      assert.ok(chooser, "the space bar opens no chooser");
      await chooser.setFiles(file);
    },
  };
}

async function journey(t, name, options, handsOf) {
  const { page, complaints } = await stage.open(t, "/ui/apis/", options, gateway, portal, "data:", "blob:");
  page.setDefaultTimeout(15_000);
  const hands = handsOf(page);
  const signIn = async (user) => {
    await hands.press(page.locator("main").getByRole("link", { name: "Sign in" }));
    await hands.type(page.locator("[name=username]"), user);
    await hands.type(page.locator("[name=password]"), password);
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
  await hands.type(page.getByLabel("Enabler’s name"), `first ${name}`);
  await hands.choose(page.getByLabel("OpenAPI file"), definition(0, name));
  await hands.press(publish);
  await done(`first ${name}`).waitFor();

  await hands.type(page.getByLabel("Enabler’s name"), `second ${name}`);
  await hands.choose(page.getByLabel("OpenAPI file"), definition(1, name));
  await hands.press(publish);
  await page.getByText("others serve the same routes").waitFor();
  assert.equal(await page.getByLabel("Path at the gateway").inputValue(), `/second-${name}`, "a path is suggested");
  await fits("conflict");
  await hands.press(publish);
  await done(`second ${name}`).waitFor();
  await fits("published");

  await hands.press(page.locator(`[data-enabler="second ${name}"]`).getByRole("link"));
  const operation = page.locator(".opblock");
  await hands.press(operation.locator(".opblock-summary-control"));
  await hands.press(operation.getByRole("button", { name: "Try it out" }));
  await hands.press(operation.getByRole("button", { name: "Execute" }));
  const answer = operation.locator(".live-responses-table");
  await answer.getByText(`"service": "second"`).waitFor();
  assert.match(await answer.textContent(), /200/);
  await fits("tried");
  assert.deepEqual(complaints.filter((text) => !text.includes("409")), []);

  await hands.press(page.getByRole("button", { name: "Sign out" }));
  await page.waitForURL(`${stage.address}/ui/`);
  await hands.press(page.locator(".sections").getByRole("link", { name: "APIs" }));
  await signIn("demoopencaller");
  assert.equal(await page.locator("#upload").count(), 0, "nothing is offered that is refused");
  const refused = await page.goto(`${stage.address}/ui/apis/apis/second%20${name}/delete`);
  assert.equal(refused.status(), 403);
  await page.getByText("The role Developer is needed for this.").waitFor();
  await fits("refused");
  await hands.press(page.getByRole("link", { name: "Back to the library" }));
  await page.locator(`[data-enabler="second ${name}"]`).waitFor();
}

test("by mouse", (t) => journey(t, "mouse", desktop, pointer));
test("by keyboard alone", (t) => journey(t, "keys", desktop, keyboard));
test("on a phone", (t) => journey(t, "phone", phone, pointer));
