// Tries the pages of multi-link instances in Chromium: signing in, links added, moved by
// dragging and by keys, clients and their keys, the policy, events; on a desktop and on a
// phone, in light and dark, and without scripts.
//
//	npm ci && node --test multilink.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Stage, desktop, eventually, overflows, phone, picture } from "./stage.js";

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

const live = (page) => page.locator("#live", { hasText: "live" }).waitFor();

// visit opens the page as a person with the token.
async function visit(t, stage, options) {
  const { page, complaints } = await stage.open(t, "/", options);
  page.on("dialog", (dialog) => dialog.accept());
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await page.locator(options?.javaScriptEnabled === false ? "#status" : '#live[data-state="running"]').waitFor();
  return { page, complaints };
}

const order = (page) => page.locator("#link-list > li").evaluateAll((all) => all.map((item) => item.dataset.name));
const ordered = (page, ...names) => eventually(async () => assert.deepEqual(await order(page), names));
const link = (page, name) => page.locator(`#link-list [data-name="${name}"]`);

async function addLink(page, name, endpoint) {
  await page.getByRole("link", { name: "Add a link" }).click();
  await page.getByLabel("Name").fill(name);
  if (endpoint) await page.getByLabel("Endpoint").fill(endpoint);
  await page.getByRole("button", { name: "Add the link" }).click();
}

test("a wrong token is refused, and the right one is not kept in the browser", async (t) => {
  const { page } = await server.open(t, "/", desktop);
  await page.getByLabel("Token").fill("not the token, but long");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("The token is not valid").waitFor();
  await picture(page, "multilink-signin-desktop");
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await live(page);
  await picture(page, "multilink-empty-desktop");
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.equal(kept, '[{},{},""]');
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("links are added, moved by keys and by dragging, disabled and deleted", async (t) => {
  const { page, complaints } = await visit(t, server, desktop);
  for (const [i, name] of ["wlan0", "mesh0", "wwan0"].entries()) {
    await addLink(page, name, `203.0.113.9:${51820 + i}`);
    await link(page, name).locator(".badge", { hasText: "up" }).waitFor();
  }
  await addLink(page, "nix0", "203.0.113.9:51830");
  await page.getByRole("alert").filter({ hasText: "unknown interface" }).waitFor();
  await picture(page, "multilink-link-fault-desktop");
  await page.getByLabel("Name").fill("eth0");
  await page.getByRole("button", { name: "Add the link" }).click();
  await link(page, "eth0").waitFor();
  await ordered(page, "wlan0", "mesh0", "wwan0", "eth0");

  await page.getByRole("button", { name: "Move mesh0" }).focus();
  await page.keyboard.press("ArrowUp");
  await page.locator("#told", { hasText: "mesh0 is number 1 of 4, the primary" }).waitFor({ state: "attached" });
  await ordered(page, "mesh0", "wlan0", "wwan0", "eth0");
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Move mesh0"));
  await page.keyboard.press("ArrowUp");
  await page.locator("#told", { hasText: "mesh0 is first already" }).waitFor({ state: "attached" });
  await link(page, "mesh0").locator(".badge", { hasText: "active" }).waitFor();
  await link(page, "mesh0").locator(".about", { hasText: "primary" }).waitFor();

  const handle = page.getByRole("button", { name: "Move wwan0" });
  await handle.scrollIntoViewIfNeeded();
  await handle.hover(); // once it does not move any more
  await page.mouse.down();
  await link(page, "wwan0").and(page.locator(".dragged")).waitFor();
  const to = await link(page, "mesh0").boundingBox();
  await page.mouse.move(to.x + 30, to.y + 60, { steps: 10 });
  await page.mouse.move(to.x + 30, to.y + 5, { steps: 5 });
  await picture(page, "multilink-dragging-desktop");
  await page.mouse.up();
  await page.locator("#told", { hasText: "wwan0 is number 1 of 4" }).waitFor({ state: "attached" });
  await ordered(page, "wwan0", "mesh0", "wlan0", "eth0");
  await page.reload();
  await live(page);
  await ordered(page, "wwan0", "mesh0", "wlan0", "eth0"); // the server knows

  await page.getByRole("button", { name: "Disable link wwan0" }).click();
  await page.getByText("The link wwan0 is disabled").waitFor();
  await link(page, "wwan0").locator(".badge", { hasText: "disabled" }).waitFor();
  await page.getByRole("button", { name: "Enable link wwan0" }).click();
  await link(page, "wwan0").locator(".badge", { hasText: "up, active" }).waitFor();
  await page.getByRole("link", { name: "Change link eth0" }).click();
  await page.getByLabel("Metered").check();
  await page.getByRole("button", { name: "Change the link" }).click();
  await link(page, "eth0").locator(".about", { hasText: "metered" }).waitFor();
  await page.getByRole("button", { name: "Delete link eth0" }).click();
  await link(page, "eth0").waitFor({ state: "detached" });

  await page.getByRole("link", { name: "Policy, switch by hand" }).click();
  await picture(page, "multilink-policy-desktop");
  await page.getByLabel("Frames travel by").selectOption("redundant");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator("#event-list", { hasText: "policy is redundant" }).waitFor();
  await page.getByRole("link", { name: "Policy, switch by hand" }).click();
  await page.getByLabel("Link", { exact: true }).selectOption("wlan0");
  await page.getByRole("button", { name: "Switch", exact: true }).click();
  await page.locator("#event-list", { hasText: "wlan0 took over from wwan0: switched by hand" }).waitFor();
  await page.getByRole("link", { name: "Policy, switch by hand" }).click();
  await page.getByRole("button", { name: "End early" }).click();
  await page.getByText("The switch by hand has ended.").waitFor();
  await page.locator('[data-chart="rtt"] .u-legend', { hasText: "wwan0" }).waitFor();
  await page.locator('[data-chart="rate"] canvas').waitFor();
  await page.getByRole("button", { name: "1h", exact: true }).click();
  await page.locator('[data-chart="rtt"] canvas').waitFor();
  assert.equal(await overflows(page), false);
  await picture(page, "multilink-links-desktop");
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 400")), []);
});

test("a client is added, its keys are shown once, and it is disabled, enabled and deleted", async (t) => {
  const { page, complaints } = await visit(t, server, { ...desktop, colorScheme: "dark" });
  await page.getByRole("link", { name: "Add a client" }).click();
  await page.getByLabel("Name").fill("gw-1");
  await page.getByRole("button", { name: "Add the client" }).click();
  const text = page.getByLabel("Object to attach with");
  provision = await text.inputValue();
  const made = JSON.parse(provision);
  assert.equal(made.private_key.length, 44);
  assert.deepEqual(made.addresses, ["10.9.0.2/24"]);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), provision);
  await picture(page, "multilink-keys-dark");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  assert.equal((await download).suggestedFilename(), "gw-1.json");
  await page.getByRole("link", { name: "Close and forget" }).click();
  await live(page);
  assert.equal((await page.content()).includes(made.private_key), false);

  const row = page.locator("#client-list tbody tr", { hasText: "gw-1" });
  await row.getByText("connected by").waitFor();
  await row.getByRole("button", { name: "Disable client gw-1" }).click();
  await row.locator(".badge", { hasText: "disabled" }).waitFor();
  await row.getByRole("button", { name: "Enable client gw-1" }).click();
  await row.getByText("connected by").waitFor();
  await page.getByRole("link", { name: "Add a client" }).click();
  await page.getByLabel("Name").fill("gw-1");
  await page.getByRole("button", { name: "Add the client" }).click();
  await page.getByRole("alert").filter({ hasText: "another client is called" }).waitFor();
  await page.getByLabel("Name").fill("gw-2");
  await page.getByRole("button", { name: "Add the client" }).click();
  await page.getByRole("link", { name: "Close and forget" }).click();
  await page.getByRole("button", { name: "Delete client gw-2" }).click();
  await page.getByText("The client gw-2 is deleted").waitFor();
  await page.locator("#client-list tbody tr", { hasText: "gw-2" }).waitFor({ state: "detached" });
  await live(page);
  await picture(page, "multilink-clients-dark");
  assert.deepEqual(complaints.filter((line) => !line.includes("status of 409")), []);
});

test("a client attaches with what the server answered, on a phone", async (t) => {
  const { page, complaints } = await visit(t, client, phone);
  const topic = (name) => page.getByRole("navigation", { name: "Topics" }).getByRole("link", { name }).click();
  await topic("Links");
  await addLink(page, "wlan0");
  await link(page, "wlan0").waitFor();
  await addLink(page, "eth0");
  await link(page, "eth0").waitFor();
  await topic("Server");
  await page.getByRole("link", { name: "Attach" }).click();
  await page.getByLabel("URL of the server").fill("http://203.0.113.9:3333");
  await page.getByLabel("Response of the server").fill("nonsense");
  await page.getByRole("button", { name: "Attach" }).click();
  await page.getByRole("alert").filter({ hasText: "JSON" }).waitFor();
  await page.getByLabel("Response of the server").fill(provision);
  await page.getByRole("button", { name: "Attach" }).click();
  await page.getByText("Attached to http://203.0.113.9:3333 as gw-1: connected by wlan0").waitFor();
  await page.locator("#unpaired", { hasText: "eth0: this client has it, and the server has not" }).waitFor();
  assert.equal(await overflows(page), false);
  await picture(page, "multilink-client-phone");
  await topic("Status");
  await page.locator("#addresses", { hasText: "10.9.0.2/24" }).waitFor();
  await topic("Server");
  await page.getByRole("button", { name: "Detach" }).click();
  await page.getByText("Not attached").waitFor();
  assert.deepEqual(complaints.filter((line) => !line.includes("status of 400")), []);
});

test("on a phone each topic is a screen, in the dark, and the page begins with a way to the content", async (t) => {
  const { page, complaints } = await visit(t, server, { ...phone, colorScheme: "dark" });
  const topics = page.getByRole("navigation", { name: "Topics" }).getByRole("link");
  assert.deepEqual(await topics.allTextContents(), ["Status", "Links", "Charts", "Clients", "Events"]);
  for (const [i, id] of ["status", "links", "plots", "clients", "events"].entries()) {
    await topics.nth(i).click();
    await page.locator(`#${id}`).waitFor();
    const shown = () => page.locator(".topic").evaluateAll((all) => all.filter((one) => one.offsetParent !== null).map((one) => one.id));
    await eventually(async () => assert.deepEqual(await shown(), [id]));
    await eventually(async () => assert.equal(await topics.nth(i).getAttribute("aria-current"), "true"));
    assert.equal(await overflows(page), false, id);
    await eventually(async () => assert.ok(await page.evaluate(() => scrollY) < 5, "the screen begins at its top"));
    if (id === "plots") await page.locator('[data-chart="rtt"] canvas').waitFor();
    await picture(page, `multilink-${id}-phone-dark`);
  }
  await page.goto(`${server.address}/`);
  await page.keyboard.press("Tab");
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content"));
  assert.deepEqual(complaints, []);
});

test("without scripts links are ordered, disabled and enabled, and the topics work", async (t) => {
  const { page, complaints } = await visit(t, server, { ...phone, javaScriptEnabled: false });
  await page.getByRole("navigation", { name: "Topics" }).getByRole("link", { name: "Links" }).click();
  const before = await order(page);
  await page.getByRole("button", { name: `Move link ${before[1]} up` }).click();
  await page.getByText(`The order of the links is ${before[1]}, ${before[0]}`).waitFor();
  await page.getByRole("button", { name: `Disable link ${before[0]}` }).click();
  await link(page, before[0]).getByText("disabled", { exact: true }).waitFor();
  await page.getByRole("button", { name: `Enable link ${before[0]}` }).click();
  await picture(page, "multilink-links-phone-noscript");
  assert.deepEqual(complaints, []);
});
