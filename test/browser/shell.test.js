// Tries what all pages of cmd/enablers have in common: axe finds nothing on them, in light and
// dark, on a desktop and a phone; they can be used by keyboard; and they are light.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Stage, desktop, enablersFlags, patience, picture } from "./stage.js";
import { found } from "./axe.js";

const stage = new Stage();

// The pages, each with a name for its pictures. New ones are added here.
const pages = [
  ["overview", "/ui/"],
  ["channels", "/ui/annotation/"],
  ["channel", "/ui/annotation/channels/weather"],
  ["channel-new", "/ui/annotation/new"],
  ["channel-edit", "/ui/annotation/channels/weather/edit"],
  ["channel-failures", "/ui/annotation/channels/weather/failures"],
  ["annotations", "/ui/annotation/annotations"],
  ["workbench", "/ui/annotation/workbench"],
  ["workbench-channel", "/ui/annotation/workbench?channel=weather"],
  ["models", "/ui/models/"],
  ["namespace", "/ui/models/n/demo"],
  ["model", "/ui/models/m/demo/first"],
  ["version", "/ui/models/v/demo/first/1.0"],
  ["apis", "/ui/apis/"],
  ["sign-in", "/.enablers/sign-in"],
  ["gateway", "/ui/gateway/"],
  ["gateway-services", "/ui/gateway/services"],
  ["gateway-upstream-new", "/ui/gateway/upstreams/new"],
  ["gateway-plugins", "/ui/gateway/plugins"],
  ["gateway-kinds", "/ui/gateway/plugins/new"],
  ["gateway-plugin-new", "/ui/gateway/plugins/new?kind=oidc"],
  ["links", "/ui/links/"],
  ["links-client", "/ui/links/client/"],
  ["link-new", "/ui/links/new"],
  ["link", "/ui/links/links/wifi0"],
  ["links-policy", "/ui/links/policy"],
  ["links-client-new", "/ui/links/clients/new"],
  ["links-attach", "/ui/links/client/attach"],
];

// send makes what the pages of items show.
async function send(method, url, body) {
  const answer = await fetch(url, { method, body, headers: { "Content-Type": "application/json" } });
  assert.ok(answer.ok, `${method} ${url}: ${answer.status} ${await answer.text()}`);
}

const addresses = {};
let tokenFile; // of the links, which take a sign-in also where the platform is open

before(async () => {
  await stage.start("enablers", enablersFlags, (line) => {
    const [, address, name] = /^listening on (http:\S+) \((.*)\)$/.exec(line) ?? [];
    if (name) addresses[name] = address;
    tokenFile ??= /The token is in (.*)\.$/.exec(line)?.[1];
    return tokenFile !== undefined;
  });
});

async function make() {
  await send("POST", `${stage.address}/channels`, readFileSync(new URL("../../examples/weather/channel.json", import.meta.url)));
  const models = addresses["model repository"];
  for (const path of ["/demo", "/demo/first", "/demo/first/1.0"]) await send("POST", models + path, path === "/demo" ? undefined : "{}");
}

// open opens a page of a platform that is not empty.
let made;
async function open(t, path, options) {
  made ??= make();
  await made;
  if (!path.startsWith("/ui/links/")) return stage.open(t, path, options, "data:");
  const opened = await stage.open(t, `/.enablers/sign-in?to=${encodeURIComponent(path)}`, options, "data:");
  await opened.page.getByLabel("Token").fill(readFileSync(tokenFile, "utf8").trim());
  await opened.page.getByRole("button", { name: "Sign in with the token" }).click();
  await opened.page.waitForURL(stage.address + path);
  return opened;
}

after(() => stage.close());

const sizes = { 1200: { width: 1200, height: 900 }, 390: { width: 390, height: 844 } };

// examine looks at a page in both sizes and in light and dark.
async function examine(page, name) {
  await page.locator("main").waitFor();
  for (const [width, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const rules = colorScheme === "dark" ? ["color-contrast"] : []; // only colours differ
      assert.deepEqual(await found(page, ...rules), [], `${name}, ${width}, ${colorScheme}`);
      if ((width === "1200") === (colorScheme === "light")) await picture(page, `${name}-${width}-${colorScheme}`);
    }
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(content <= window, `${name} is ${content} wide at ${window}`);
  }
}

test("an empty platform says what to do next", async (t) => {
  const { page, complaints } = await stage.open(t, "/", { viewport: sizes[1200], reducedMotion: "reduce" });
  assert.deepEqual(await page.locator(".steps h3").allTextContents(),
    ["Annotate messages", "Keep a model", "Train a model", "Publish an API", "Lose a link"]);
  await page.getByText("As a command").first().click();
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.locator(".toast", { hasText: /Copied|does not allow copying/ }).waitFor();
  await examine(page, "overview-empty");
  await page.setViewportSize(sizes[1200]);
  await page.getByRole("link", { name: "Create a channel" }).click();
  await page.waitForURL("**/ui/annotation/new");
  assert.deepEqual(complaints, []);
});

for (const [name, path] of pages) {
  test(`axe finds nothing on the page ${name}`, async (t) => {
    const { page, complaints } = await open(t, path, { viewport: sizes[1200], reducedMotion: "reduce" });
    await examine(page, name);
    assert.deepEqual(complaints, []);
  });
}

// steps presses the tabulator through a page, and returns where the focus was.
async function steps(page, most) {
  const seen = [];
  for (let i = 0; i < most; i++) {
    await page.keyboard.press("Tab");
    const step = await page.evaluate(async (patience) => {
      const at = document.activeElement;
      if (at === document.body || at.dataset.seen) return null;
      at.dataset.seen = "yes";
      const outlines = () => [at, at.shadowRoot?.activeElement?.closest(".cm-editor") ?? at].map((element) => getComputedStyle(element).outlineStyle);
      const end = performance.now() + patience;
      while (outlines().every((style) => style === "none") && performance.now() < end) await new Promise(requestAnimationFrame); // an editor shows its focus late
      const box = at.getBoundingClientRect();
      const all = [...document.querySelectorAll("*")];
      return { text: at.textContent.trim().slice(0, 40) || at.name || at.tagName, order: all.indexOf(at), tabIndex: Number(at.getAttribute("tabindex")),
        shown: box.width > 0 && box.bottom > 0 && box.left >= 0,
        outlines: outlines(), inMain: Boolean(at.closest("main")) };
    }, patience);
    if (!step) break;
    seen.push(step);
  }
  return seen;
}

for (const [name, path] of pages.filter(([, path]) => path.startsWith("/ui/"))) {
  test(`the keyboard goes through the page ${name} in its order`, async (t) => {
    const { page } = await open(t, path, desktop);
    const seen = await steps(page, 25);
    assert.equal(seen[0].text, "To the content");
    const sections = seen.map(({ text }) => text).filter((text) => ["Overview", "Annotation", "Models", "Training", "APIs", "Links"].includes(text));
    assert.deepEqual(sections.slice(0, 6), ["Overview", "Annotation", "Models", "Training", "APIs", "Links"]);
    assert.ok(seen.some(({ inMain }) => inMain), "the focus reaches the content");
    for (const [i, step] of seen.entries()) {
      assert.ok(step.shown, `${step.text} is shown`);
      assert.equal(step.tabIndex, 0, `${step.text} has no order of its own`);
      assert.ok(step.outlines.some((style) => style !== "none"), `${step.text} shows the focus`);
      if (i > 0) assert.ok(step.order > seen[i - 1].order, `${step.text} comes after ${seen[i - 1].text}`);
    }
  });
}

test("the first key leads past the header", async (t) => {
  const { page } = await open(t, "/ui/", desktop);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => Boolean(document.activeElement.closest("main"))), true);
});

test("the shell is light", async (t) => {
  const { page } = await stage.person(t, desktop); // without a cache
  const answers = [];
  page.on("requestfinished", async (request) => answers.push((await request.response()).body()));
  await page.goto(`${stage.address}/ui/`, { waitUntil: "load" });
  await page.locator("#live", { hasText: "live" }).waitFor();
  const bytes = (await Promise.all(answers)).reduce((sum, body) => sum + gzipSync(body).length, 0);
  assert.ok(bytes < 150_000, `${bytes} bytes`);
});
