// Tries the page of multi-link instances in Chromium: signing in, links added, moved by
// dragging and by keys, clients and their keys, the policy, events; on a desktop and on a
// phone, in light and dark.
//
//	npm ci && node --test multilink.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Stage, desktop, phone, picture } from "./stage.js";

const token = "a token for the trial";
const server = new Stage();
const client = new Stage();
const ready = (line) => line.startsWith("listening on ");
let provision; // what the server answered

before(async () => {
  await server.start("./examples/multilinkpage", ["-role", "server", "-token", token], ready);
  await client.start("./examples/multilinkpage", ["-role", "client", "-token", token], ready);
});
after(async () => {
  await server.close();
  await client.close();
});

// visit opens the page as an operator with the token.
async function visit(t, stage, options) {
  const { page, complaints } = await stage.open(t, "/", options);
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await page.locator("#live", { hasText: "live" }).waitFor();
  return { page, complaints };
}

const order = (page) => page.locator("#links > li").evaluateAll((all) => all.map((item) => item.dataset.name));
const overflows = (page) => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

async function addLink(page, name, endpoint) {
  if (!await page.getByLabel("Kind").isVisible()) await page.getByText("Add a link").click();
  const form = page.locator("#add-link");
  await form.locator('button:not([aria-disabled="true"])').waitFor(); // the answer to the one before
  await form.getByLabel("Name").fill(name);
  if (endpoint) await form.getByLabel("Endpoint").fill(endpoint);
  await form.getByRole("button", { name: "Add link" }).click();
}

test("a wrong token is refused, and the right one is not kept in the browser", async (t) => {
  const { page } = await server.open(t, "/", desktop);
  await page.getByLabel("Token").fill("not the token, but long");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("The token is not valid").waitFor();
  await picture(page, "multilink-signin-desktop");
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await page.locator("#live", { hasText: "live" }).waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.equal(kept, '[{},{},""]');
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("links are added, moved by keys and by dragging, disabled and deleted", async (t) => {
  const { page, complaints } = await visit(t, server, desktop);
  for (const [i, name] of ["wlan0", "mesh0", "wwan0"].entries()) {
    await addLink(page, name, `203.0.113.9:${51820 + i}`);
    await page.locator(`#links [data-name="${name}"] .state`, { hasText: "up" }).waitFor();
  }
  await addLink(page, "nix0", "203.0.113.9:51830");
  await page.getByRole("alert").filter({ hasText: "unknown interface" }).waitFor();
  await addLink(page, "eth0", "203.0.113.9:51831");
  await page.locator('#links [data-name="eth0"]').waitFor();
  assert.deepEqual(await order(page), ["wlan0", "mesh0", "wwan0", "eth0"]);

  await page.getByRole("button", { name: "Move mesh0" }).focus();
  await page.keyboard.press("ArrowUp");
  await page.locator("#told", { hasText: "mesh0 is number 1 of 4, the primary" }).waitFor({ state: "attached" });
  assert.deepEqual(await order(page), ["mesh0", "wlan0", "wwan0", "eth0"]);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Move mesh0");
  await page.keyboard.press("ArrowUp");
  await page.locator("#told", { hasText: "mesh0 is first already" }).waitFor({ state: "attached" });
  await page.locator('#links [data-name="mesh0"]', { hasText: "active" }).waitFor();
  await page.locator('#links [data-name="mesh0"] .about', { hasText: "primary" }).waitFor();

  const handle = page.getByRole("button", { name: "Move wwan0" });
  await handle.scrollIntoViewIfNeeded();
  const from = await handle.boundingBox();
  const to = await page.locator('#links [data-name="mesh0"]').boundingBox();
  await page.mouse.move(from.x + 10, from.y + 10);
  await page.mouse.down();
  await page.mouse.move(to.x + 30, to.y + 60, { steps: 10 });
  await page.mouse.move(to.x + 30, to.y + 5, { steps: 5 });
  await picture(page, "multilink-dragging-desktop");
  await page.mouse.up();
  await page.locator("#told", { hasText: "wwan0 is number 1 of 4" }).waitFor({ state: "attached" });
  assert.deepEqual(await order(page), ["wwan0", "mesh0", "wlan0", "eth0"]);
  await page.reload();
  await page.locator("#live", { hasText: "live" }).waitFor();
  assert.deepEqual(await order(page), ["wwan0", "mesh0", "wlan0", "eth0"], "the server knows");

  await page.getByRole("button", { name: "Disable link wwan0" }).click();
  await page.locator('#links [data-name="wwan0"] .state', { hasText: "disabled" }).waitFor();
  await page.getByRole("button", { name: "Enable link wwan0" }).click();
  await page.locator('#links [data-name="wwan0"] .state', { hasText: "up, active" }).waitFor();
  await page.getByRole("button", { name: "Delete link eth0" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.locator('#links [data-name="eth0"]').waitFor({ state: "detached" });

  await page.getByLabel("Frames travel by").selectOption("redundant");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator("#events", { hasText: "policy is redundant" }).waitFor();
  await page.getByLabel("Link", { exact: true }).selectOption("wlan0");
  await page.getByRole("button", { name: "Switch", exact: true }).click();
  await page.locator("#events", { hasText: "wlan0 took over from wwan0: switched by hand" }).waitFor();
  await page.getByRole("button", { name: "End early" }).click();
  await page.locator('[data-chart="rtt"] .u-legend', { hasText: "wwan0" }).waitFor();
  await page.locator('[data-chart="rate"] canvas').waitFor();
  await picture(page, "multilink-links-desktop");
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 400")), []);
});

test("a client is added, its keys are shown once, and it is disabled, enabled and deleted", async (t) => {
  const { page, complaints } = await visit(t, server, { ...desktop, colorScheme: "dark" });
  await page.getByText("Add a client").click();
  const form = page.locator("#add-client");
  await form.getByLabel("Name").fill("gw-1");
  await form.getByRole("button", { name: "Add client" }).click();
  const text = page.getByLabel("Object to attach with");
  await text.waitFor();
  provision = await text.inputValue();
  const made = JSON.parse(provision);
  assert.equal(made.private_key.length, 44);
  assert.deepEqual(made.addresses, ["10.9.0.2/24"]);
  await picture(page, "multilink-keys-dark");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  assert.equal((await download).suggestedFilename(), "gw-1.json");
  await page.keyboard.press("Escape");
  await page.waitForFunction((field) => field.value === "", await text.elementHandle()); // it is forgotten
  assert.equal((await page.content()).includes(made.private_key), false);

  const row = page.locator("#clients tbody tr", { hasText: "gw-1" });
  await row.getByText("connected by").waitFor();
  await row.getByRole("button", { name: "Disable client gw-1" }).click();
  await row.locator(".client-state", { hasText: "disabled" }).waitFor();
  await row.getByRole("button", { name: "Enable client gw-1" }).click();
  await row.getByText("connected by").waitFor();
  await form.getByLabel("Name").fill("gw-1");
  await form.getByRole("button", { name: "Add client" }).click();
  await form.getByRole("alert").filter({ hasText: "another client is called" }).waitFor();
  await form.getByLabel("Name").fill("gw-2");
  await form.getByRole("button", { name: "Add client" }).click();
  await page.getByRole("button", { name: "Close and forget" }).click();
  await page.getByRole("button", { name: "Delete client gw-2" }).click();
  await picture(page, "multilink-delete-dark");
  await page.getByRole("button", { name: "Keep" }).click();
  await page.getByRole("button", { name: "Delete client gw-2" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.locator("#clients tbody tr", { hasText: "gw-2" }).waitFor({ state: "detached" });
  await picture(page, "multilink-clients-dark");
  assert.deepEqual(complaints.filter((line) => !line.includes("status of 409")), []);
});

test("a client attaches with what the server answered, on a phone", async (t) => {
  const { page, complaints } = await visit(t, client, phone);
  await addLink(page, "wlan0");
  await page.locator('#links [data-name="wlan0"]').waitFor();
  await addLink(page, "eth0");
  await page.locator('#links [data-name="eth0"]').waitFor();
  await page.getByLabel("URL of the server").fill("http://203.0.113.9:3333");
  await page.getByLabel("What the server answered").fill("nonsense");
  await page.getByRole("button", { name: "Attach" }).click();
  await page.getByRole("alert").filter({ hasText: "is no JSON" }).waitFor();
  await page.getByLabel("What the server answered").fill(provision);
  await page.getByRole("button", { name: "Attach" }).click();
  await page.getByText("Attached to http://203.0.113.9:3333 as gw-1: connected by wlan0").waitFor();
  assert.equal(await page.getByLabel("What the server answered").inputValue(), "");
  await page.locator("#unpaired", { hasText: "eth0: this client has it, and the server has not" }).waitFor();
  await page.locator("#addresses", { hasText: "10.9.0.2/24" }).waitFor();
  assert.equal(await overflows(page), false);
  await picture(page, "multilink-client-phone");
  await page.getByRole("button", { name: "Detach" }).click();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("Not attached").waitFor();
  assert.deepEqual(complaints, []);
});

test("the page of a server fits a phone, in the dark, and begins with a way to the content", async (t) => {
  const { page, complaints } = await visit(t, server, { ...phone, colorScheme: "dark" });
  await page.locator("#clients tbody tr").first().waitFor();
  assert.equal(await overflows(page), false);
  await page.getByText("Add a client").click();
  await page.getByText("Add a link").click();
  assert.equal(await overflows(page), false);
  await picture(page, "multilink-server-phone-dark");
  await page.reload();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content");
  assert.deepEqual(complaints, []);
});
