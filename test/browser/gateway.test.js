// Tries the page of the gateway in Chromium: the first visit, signing in and out,
// services, routes and plugins, and the live traffic, on a desktop and on a phone, by
// keyboard.
//
//   npm ci && node --test gateway.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Stage, desktop, eventually, overflows, phone, picture } from "./stage.js";
import { faint } from "./contrast.js";

const password = "password for the trial";
const stage = new Stage();
let gateway;

before(() => stage.start("./examples/gateway", [], (line) => {
  gateway = /^listening on (\S+) \(gateway\)/.exec(line)?.[1];
  return gateway !== undefined;
}));

after(() => stage.close());

// visit opens a page as the administrator, with the first visit before if there was none.
async function visit(t, path, options) {
  const { page, complaints } = await stage.open(t, "/admin/", options);
  await page.getByLabel("Name").fill("root");
  await page.getByLabel("Password", { exact: true }).fill(password);
  if (page.url().endsWith("/setup")) {
    await picture(page, "gateway-setup");
    await page.getByLabel("The password again").fill(password);
    await page.keyboard.press("Enter");
  } else {
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  await page.getByRole("heading", { name: "Traffic" }).waitFor();
  if (path !== "/admin/") await page.goto(stage.address + path);
  return { page, complaints };
}

test("the first visit creates the administrator, and traffic is drawn live", async (t) => {
  const { page, complaints } = await visit(t, "/admin/", desktop);
  await page.locator("#live", { hasText: "live" }).waitFor();
  for (let i = 0; i < 20; i++) assert.equal((await fetch(`${gateway}/hello`)).status, 200);
  await page.getByText("No request has failed").waitFor();
  const lost = await fetch(`${gateway}/nowhere?apikey=secret`);
  assert.equal(lost.status, 404);
  const failure = page.locator("#failures tbody tr", { hasText: lost.headers.get("X-Kong-Request-Id") });
  await failure.locator("td", { hasText: "GET /nowhere" }).waitFor();
  await failure.locator('[data-label="Reason"]', { hasText: "no_route" }).waitFor();
  assert.ok(!(await page.content()).includes("secret"));
  const row = page.locator("#routes tbody tr", { hasText: "hello" });
  await row.locator("td", { hasText: /^20$/ }).waitFor();
  await row.locator('[data-label="99 %"]', { hasText: "ms" }).waitFor();
  await page.locator('[data-field="requests"]', { hasText: "21" }).waitFor();
  await page.locator('[data-field="4xx"]', { hasText: "1" }).waitFor();
  await page.locator('[data-field="p50"]', { hasText: "ms" }).waitFor();
  await page.locator('[data-chart="rate"] canvas').waitFor();
  await page.locator('[data-chart="latency"] .u-legend', { hasText: "99 %" }).waitFor();
  await page.locator('[data-chart="errors"] .u-legend', { hasText: "4xx" }).waitFor();
  await page.locator("#upstreams .health", { hasText: /^\s*HEALTHY\s*$/ }).waitFor();
  const told = await fetch(`${stage.address}/upstreams/pool/targets/192.0.2.1:80/unhealthy`, { method: "POST" });
  assert.equal(told.status, 204);
  await page.locator("#upstreams .health", { hasText: "UNHEALTHY" }).waitFor();
  await picture(page, "gateway-traffic-desktop");
  await page.getByRole("button", { name: "1h" }).click();
  await page.getByRole("button", { name: "1h", pressed: true }).waitFor();
  await row.getByRole("link", { name: "hello" }).click();
  await page.getByRole("heading", { name: "Traffic of hello" }).waitFor();
  await page.locator('[data-field="requests"]', { hasText: "20" }).waitFor();
  await page.locator('[data-field="4xx"]', { hasText: /^0$/ }).waitFor();
  await page.getByText("None of the last 200 requests that failed was of this route.").waitFor();
  assert.deepEqual(complaints, []);
});

test("a service, a route and a plugin are created, changed and deleted", async (t) => {
  const { page, complaints } = await visit(t, "/admin/services", desktop);
  await page.getByRole("link", { name: "New service" }).click();
  await page.getByLabel("Name", { exact: true }).fill("lamps");
  await page.getByLabel("Host", { exact: true }).fill("lamps.example");
  await picture(page, "gateway-service-desktop");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("status").getByText("Saved service “lamps”").waitFor();
  await page.getByRole("link", { name: "lamps" }).click();
  await page.getByRole("link", { name: "New route to this service" }).click();
  await page.getByLabel("Name", { exact: true }).fill("lamps");
  await page.getByLabel("Paths", { exact: true }).fill("/lamps\n~/lights/(?<id>[0-9]+)$");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "/lamps" }).waitFor();
  await picture(page, "gateway-routes-desktop");

  await page.getByRole("link", { name: "lamps" }).click();
  await page.getByRole("link", { name: "New plugin on this route" }).click();
  await picture(page, "gateway-kinds-desktop");
  await page.getByRole("link", { name: "request-termination" }).click();
  assert.equal(await page.getByLabel("On route").evaluate((e) => e.selectedOptions[0].textContent), "lamps");
  await page.getByLabel("Status code").fill("many");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("is not a number").waitFor(); // the one complaint of this page: status 400
  assert.equal(await page.getByLabel("Status code").getAttribute("aria-invalid"), "true");
  assert.deepEqual(await faint(page), []);
  await picture(page, "gateway-plugin-fault-desktop");
  await page.getByLabel("Status code").fill("418");
  await page.getByRole("button", { name: "JSON" }).click();
  assert.deepEqual(JSON.parse(await page.getByLabel("Configuration", { exact: true }).inputValue()), { status_code: 418 });
  await picture(page, "gateway-plugin-json-desktop");
  await page.getByRole("button", { name: "Form" }).click();
  assert.equal(await page.getByLabel("Status code").inputValue(), "418");
  await page.getByLabel("Status code").press("Enter"); // which saves, and shows no JSON
  await page.getByRole("cell", { name: "route lamps" }).waitFor();
  assert.equal((await fetch(`${gateway}/lamps`)).status, 418);

  await page.goto(`${stage.address}/admin/routes`);
  await page.getByRole("link", { name: "lamps" }).click();
  await page.getByRole("link", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted route “lamps”").waitFor();
  assert.equal((await fetch(`${gateway}/lamps`)).status, 404);
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 400")), []);
});

test("a consumer gets a key that is shown once, and calls with it", async (t) => {
  const { page, complaints } = await visit(t, "/admin/consumers", { ...desktop, colorScheme: "dark" });
  await page.getByRole("link", { name: "New consumer" }).click();
  await page.getByLabel("Username").fill("ann");
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("Saved consumer “ann”").waitFor();
  await page.getByRole("link", { name: "ann" }).click();
  await page.getByRole("link", { name: "New key" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New key" }).waitFor();
  await page.getByRole("button", { name: "Create the key" }).press("Enter");
  await page.getByText("This is the new key").waitFor();
  const key = await page.locator(".secret code").textContent();
  assert.ok(key.length >= 20);
  assert.deepEqual(await faint(page), []);
  await picture(page, "gateway-key-dark");
  await page.reload(); // which sends the form again
  await page.getByText("It was shown once.").waitFor();
  assert.equal((await page.content()).includes(key), false);
  assert.equal(await page.locator("tbody tr").count(), 1);

  const admin = async (path, body) => assert.equal((await fetch(stage.address + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).status, 201);
  await admin("/routes", { name: "keyed", paths: ["/keyed"] });
  await admin("/routes/keyed/plugins", { name: "key-auth" });
  await admin("/routes/keyed/plugins", { name: "request-termination", config: { status_code: 418 } });
  assert.equal((await fetch(`${gateway}/keyed`)).status, 401);
  assert.equal((await fetch(`${gateway}/keyed`, { headers: { apikey: key } })).status, 418);

  await page.getByRole("link", { name: /^Revoke key/ }).click();
  await page.getByText("are refused from then on").waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("status").getByText("Revoked key").waitFor();
  assert.equal((await fetch(`${gateway}/keyed`, { headers: { apikey: key } })).status, 401);
  await page.getByRole("link", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted consumer “ann”").waitFor();
  assert.deepEqual(complaints, []);
});

test("an upstream and its targets are created, changed and deleted, and show their health", async (t) => {
  const { page, complaints } = await visit(t, "/admin/upstreams", desktop);
  await page.getByRole("link", { name: "New upstream" }).click();
  await page.getByLabel("Name", { exact: true }).fill("lamps");
  await page.getByLabel("Algorithm").selectOption("least-connections");
  await page.getByLabel("Watch the health").check();
  await page.getByRole("group", { name: "Answers to requests" }).getByLabel("Unhealthy after failures to connect").fill("1");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "least-connections" }).waitFor();
  await page.getByRole("link", { name: "lamps" }).click();
  for (const target of ["192.0.2.7:80", "192.0.2.8:8080"]) {
    await page.getByRole("link", { name: "New target" }).click();
    await page.getByLabel("Target", { exact: true }).fill(target);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: target }).getByText("HEALTHY").waitFor();
  }
  await page.getByRole("link", { name: "192.0.2.8:8080" }).click();
  await page.getByLabel("Weight").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("row", { name: "192.0.2.8:8080" }).getByText("7", { exact: true }).waitFor();
  assert.equal((await fetch(`${stage.address}/upstreams/lamps/targets/192.0.2.8:8080/unhealthy`, { method: "POST" })).status, 204);
  await page.reload();
  await page.getByRole("row", { name: "192.0.2.8:8080" }).getByText("UNHEALTHY").waitFor();
  assert.deepEqual(await faint(page), []);
  await picture(page, "gateway-upstream-desktop");
  await page.setViewportSize(phone.viewport);
  assert.equal(await overflows(page), false);
  await picture(page, "gateway-upstream-phone");

  await page.getByRole("link", { name: "192.0.2.7:80" }).click();
  await page.getByRole("link", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("status").getByText("Deleted target “192.0.2.7:80”").waitFor();
  await page.getByRole("link", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted upstream “lamps”").waitFor();
  assert.deepEqual(complaints, []);
});

test("the pages fit a phone, and are used by keyboard", async (t) => {
  const { page, complaints } = await visit(t, "/admin/", phone);
  await page.locator("#live", { hasText: "live" }).waitFor();
  assert.equal(await overflows(page), false);
  await picture(page, "gateway-traffic-phone");
  for (const path of ["services", "routes", "plugins", "consumers", "upstreams", "services/new", "routes/new", "consumers/new", "upstreams/new", "targets/new", "key-auths/new", "plugins/new", "plugins/new?kind=oidc", "plugins/new?kind=request-transformer"]) {
    await page.goto(`${stage.address}/admin/${path}`);
    assert.equal(await overflows(page), false, path);
  }
  await picture(page, "gateway-plugin-phone");
  await page.goto(`${stage.address}/admin/routes`);
  await page.keyboard.press("Tab");
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content"));
  await page.getByRole("button", { name: "Sign out" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.equal((await page.goto(`${stage.address}/admin/services`)).url(), `${stage.address}/admin/sign-in`);
  assert.deepEqual(complaints, []);
});
