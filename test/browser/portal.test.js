// Tries the portal of cmd/apimanager in Chromium: signing in and out, publishing,
// trying an API through the gateway, as a developer and as an open caller, by
// keyboard and on a phone.
//
//   npm ci && node --test portal.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { found } from "./axe.js";
import { faint } from "./contrast.js";
import { Stage, desktop, eventually, overflows, phone, picture } from "./stage.js";
import { keyboard } from "./ways.js";

const password = "password for the trial";
const secret = "client secret for the trial";
const stage = new Stage();
const scratch = mkdtempSync(join(tmpdir(), "portal-"));
let service; // that the published API is of
let seen = []; // by it
let gateway;
let admin;

before(async () => {
  service = createServer((request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ sky: "blue", path: request.url }));
  });
  await new Promise((listening) => service.listen(0, "127.0.0.1", listening));
  process.env.APIMANAGER_DEMO_PASSWORD = password;
  process.env.APIMANAGER_CLIENT_SECRET = secret;
  await stage.start("apimanager", ["-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0"], (line) => {
    gateway ??= /^listening on (\S+) \(gateway\)/.exec(line)?.[1];
    admin ??= /^listening on (\S+) \(admin\)/.exec(line)?.[1];
    return line.endsWith("(idp)");
  });
});

after(async () => {
  await stage.close();
  service?.closeAllConnections();
  service?.close();
  rmSync(scratch, { recursive: true, force: true });
});

// open opens the portal. Its pages may ask the gateway besides.
const open = (t, path, options) => stage.open(t, path, options, gateway, "data:", "blob:");

// definition is a file with a public operation and one that is secured.
function definition(version, prefix, title = "Weather") {
  const realm = `${stage.address}/auth/realms/OpenAPI`;
  const answer = { 200: { description: "The forecast.", content: { "application/json": { schema: { type: "object" } } } } };
  const file = join(scratch, `${prefix}-${version}.json`);
  writeFileSync(file, JSON.stringify({
    openapi: "3.0.3",
    info: { title, version, description: "What the *sky* does, **hour by hour**.\n\n- forecasts\n- warnings" },
    servers: [{ url: `http://127.0.0.1:${service.address().port}` }],
    tags: [{ name: "sky", description: "All about it" }],
    paths: {
      [`/${prefix}/forecast/{city}`]: {
        get: {
          tags: ["sky"], summary: "The forecast for a city", parameters: [{ name: "city", in: "path", required: true, schema: { type: "string" }, example: "Lisbon" }],
          responses: answer,
        },
      },
      [`/${prefix}/warnings`]: {
        get: {
          tags: ["sky"], summary: "Warnings, for those who are signed in", responses: answer,
          "x-kong-plugin-oidc": {
            name: "oidc", enabled: true,
            config: {
              client_id: "kong", client_secret: secret, bearer_only: "yes", realm: "OpenAPI",
              introspection_endpoint: `${realm}/protocol/openid-connect/token/introspect`, discovery: `${realm}/.well-known/openid-configuration`,
            },
          },
        },
      },
    },
  }));
  return file;
}

async function signIn(page, user) {
  await page.locator("main").getByRole("link", { name: "Sign in" }).click();
  await page.locator("[name=username]").fill(user);
  await page.locator("[name=password]").fill(password);
  await page.keyboard.press("Enter");
  await page.locator(".person strong", { hasText: user }).waitFor();
}

async function publish(page, enabler, description, file) {
  await page.getByLabel("Enabler’s name").fill(enabler);
  await page.getByLabel("Enabler’s description").fill(description);
  await page.getByLabel("OpenAPI file").setInputFiles(file);
  await page.getByRole("button", { name: "Publish to the gateway" }).click();
  await page.locator(".good", { hasText: "is published" }).waitFor();
}

// tryIt sends a request of the interactive documentation, and returns the status.
async function tryIt(page, path) {
  const operation = page.locator(".opblock", { hasText: path });
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  return (await operation.locator(".live-responses-table .response-col_status:not(.col_header)").textContent()).trim();
}

test("a developer signs in, previews, publishes, tries and signs out", async (t) => {
  const { page, complaints } = await open(t, "/", desktop);
  await picture(page, "portal-welcome-desktop");
  await signIn(page, "demodeveloper");
  assert.equal(await page.locator(".person .role").textContent(), "Developer");

  await page.getByLabel("Enabler’s name").fill("Weather station");
  await page.getByLabel("Enabler’s description").fill("Forecasts and warnings for the edge");
  await page.getByLabel("OpenAPI file").setInputFiles(definition("1.0", "weather"));
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("What publishing version 1.0 would do").waitFor();
  await eventually(async () => assert.ok(await page.locator('[data-op="create"]').count() > 2));
  assert.equal(await page.getByText("No API is published yet.").isVisible(), true);
  await picture(page, "portal-preview-desktop");

  await page.getByRole("button", { name: "Publish to the gateway" }).click();
  const card = page.locator('[data-enabler="Weather station"]');
  await card.waitFor();
  await picture(page, "portal-library-desktop");

  await card.getByRole("link").click();
  await page.locator(".opblock").first().waitFor();
  assert.equal(await page.locator(".prose em").textContent(), "sky");
  await picture(page, "portal-api-desktop");

  seen = [];
  assert.equal(await tryIt(page, "/weather/warnings"), "200");
  assert.equal(seen.length, 1);
  assert.equal(seen[0].headers.cookie ?? "", "");
  assert.match(seen[0].headers.authorization, /^Bearer ey/);
  await page.locator("#send-token").uncheck();
  await page.locator(".opblock", { hasText: "/weather/warnings" }).getByRole("button", { name: "Execute" }).click();
  await page.locator(".live-responses-table", { hasText: "401" }).waitFor();
  await picture(page, "portal-tried-desktop");
  assert.equal((await page.content()).includes(secret), false);
  assert.equal(await overflows(page), false);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator("main").getByRole("link", { name: "Sign in" }).click();
  await page.locator("[name=password]").waitFor(); // the provider has signed out, too
  assert.deepEqual(complaints.filter((text) => !text.includes("401")), []);
});

test("an open caller reads and tries, and cannot publish", async (t) => {
  const developer = await open(t, "/", desktop);
  await signIn(developer.page, "demouser");
  await publish(developer.page, "tides", "When the water comes", definition("1.0", "tides", "Tides"));

  const { page, complaints } = await open(t, "/", desktop);
  await signIn(page, "demoopencaller");
  assert.equal(await page.locator(".person .role").textContent(), "Open-Caller");
  assert.equal(await page.locator("#upload").count(), 0);
  await page.getByLabel("Search").fill("water");
  await page.locator("#count", { hasText: /^1 API$/ }).waitFor();
  await picture(page, "portal-open-caller-desktop");
  const status = await page.evaluate(async () => {
    const body = new FormData();
    body.set("action", "publish");
    body.set("enabler", "mine");
    body.set("upload_file", new Blob(["{}"]), "api.json");
    return (await fetch("/apis", { method: "POST", body })).status;
  });
  assert.equal(status, 403);
  await page.getByRole("link", { name: "tides" }).click();
  await page.locator(".opblock").first().waitFor();
  assert.equal(await page.locator("#send-token").isChecked(), false, "the service is of another person");
  assert.match(await page.locator("#send-token-hint").textContent(), /belongs to demouser/);
  seen = [];
  assert.equal(await page.getByRole("heading", { name: "Manage version" }).count(), 0);
  assert.equal(await tryIt(page, "/tides/forecast/{city}"), "200");
  assert.equal(seen[0].headers.authorization ?? "", "");
  await page.locator("#send-token").check();
  await Promise.all([
    page.waitForResponse((answer) => answer.url().includes("/tides/forecast/")),
    page.locator(".opblock", { hasText: "/tides/forecast/{city}" }).getByRole("button", { name: "Execute" }).click(),
  ]);
  assert.match(seen[1].headers.authorization, /^Bearer ey/);
  assert.deepEqual(complaints.filter((text) => !text.includes("403")), []);
});

for (const colorScheme of ["light", "dark"]) {
  test(`every text is readable when it is ${colorScheme}, and axe finds nothing`, async (t) => {
    const { page, complaints } = await open(t, "/", { ...desktop, colorScheme });
    assert.deepEqual(await faint(page), []);
    assert.deepEqual(await found(page), []);
    await signIn(page, "demouser");
    await publish(page, colorScheme, "When the water comes", definition("1.0", colorScheme, "Tides"));
    await page.locator(`[data-enabler="${colorScheme}"] a`).waitFor();
    assert.deepEqual(await faint(page), []);
    assert.deepEqual(await found(page), []);
    await picture(page, `portal-library-${colorScheme}`);
    await page.locator(`[data-enabler="${colorScheme}"] a`).click();
    assert.equal(await tryIt(page, `/${colorScheme}/warnings`), "200");
    await page.locator(".opblock", { hasText: "{city}" }).locator(".opblock-summary-control").click();
    await page.locator(".parameters-col_description").first().waitFor();
    assert.deepEqual(await faint(page), []);
    assert.deepEqual(await found(page), []);
    await picture(page, `portal-tried-${colorScheme}`);
    await page.getByRole("link", { name: /^Delete/ }).click();
    assert.deepEqual(await faint(page), []);
    assert.deepEqual(await found(page), []);
    assert.deepEqual(complaints, []);
  });
}

test("faults stand at their fields, and a file may be dropped", async (t) => {
  const { page } = await open(t, "/", desktop);
  await signIn(page, "demouser");
  const bad = join(scratch, "bad.yaml");
  writeFileSync(bad, "openapi: 3.0.3\ninfo:\n  title: X\npaths: {}\n");
  await page.getByLabel("Enabler’s name").fill("broken");
  await page.getByLabel("OpenAPI file").setInputFiles(bad);
  await page.getByRole("button", { name: "Publish to the gateway" }).click();
  await page.locator("#fault-file", { hasText: "version" }).waitFor();
  await eventually(async () => assert.equal(await page.getByLabel("OpenAPI file").getAttribute("aria-invalid"), "true"));
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), "upload_file"));
  await picture(page, "portal-fault-desktop");

  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["{}"], "dropped.json"));
    document.querySelector("#drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  assert.equal(await page.evaluate(() => document.querySelector("#upload_file").files[0].name), "dropped.json");
});

test("everything is done by keyboard alone", async (t) => {
  const { page, complaints } = await open(t, "/", desktop);
  await page.keyboard.press("Tab");
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content"));
  await keyboard.press(page.locator("main").getByRole("link", { name: "Sign in" }));
  await keyboard.type(page.locator("[name=username]"), "demouser");
  await keyboard.type(page.locator("[name=password]"), password);
  await page.keyboard.press("Enter");
  await page.locator(".person strong", { hasText: "demouser" }).waitFor();
  await keyboard.type(page.getByLabel("Enabler’s name"), "typed");
  await keyboard.upload(page.getByLabel("OpenAPI file"), definition("1.0", "typed"));
  await keyboard.press(page.getByRole("button", { name: "Publish to the gateway" }));
  await keyboard.press(page.locator('[data-enabler="typed"] a'));
  await page.locator(".opblock").first().waitFor();
  await keyboard.press(page.getByRole("link", { name: "Delete typed…" }));
  await page.getByRole("heading", { name: "Delete typed with all its versions?" }).waitFor();
  await picture(page, "portal-delete-desktop");
  await keyboard.press(page.getByRole("button", { name: "Delete" }));
  await page.getByRole("heading", { name: "APIs", exact: true }).waitFor();
  await page.waitForLoadState();
  assert.equal(await page.locator('[data-enabler="typed"]').count(), 0);
  await keyboard.press(page.getByRole("button", { name: "Sign out" }));
  await page.locator("main").getByRole("link", { name: "Sign in" }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a phone shows every page without scrolling sideways", async (t) => {
  const { page, complaints } = await open(t, "/", phone);
  assert.equal(await overflows(page), false);
  await picture(page, "portal-welcome-phone");
  await signIn(page, "demodeveloper");
  await publish(page, "A station with quite a long name for a small screen", "Its_description_has_a_word_that_is_longer_than_the_screen_is_wide_by_far", definition("1.0.0-rc.1", "phone"));
  assert.equal(await overflows(page), false);
  await picture(page, "portal-library-phone");
  await page.getByRole("link", { name: "A station" }).first().click();
  await page.locator(".opblock").first().waitFor();
  assert.equal(await tryIt(page, "/phone/forecast/{city}"), "200");
  assert.equal(await overflows(page), false);
  await picture(page, "portal-api-phone");
  await page.getByRole("link", { name: /^Delete A station/ }).click();
  assert.equal(await overflows(page), false);
  await picture(page, "portal-delete-phone");
  assert.deepEqual(complaints, []);
});

test("without scripts one can publish and read all the same", async (t) => {
  const { page } = await open(t, "/", { ...desktop, javaScriptEnabled: false });
  await signIn(page, "demouser");
  await publish(page, "plain", "No scripts", definition("1.0", "plain"));
  await page.getByRole("link", { name: "plain" }).first().click();
  assert.equal(await page.locator(".operations li").count(), 2);
  assert.equal(admin.startsWith("http://127.0.0.1:"), true);
});
