// The journey of a person who adds a link, cuts it and watches what happens: by mouse, by
// keyboard alone, and on a phone.
//
//	npm ci && node --test journey-links.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before } from "node:test";
import assert from "node:assert/strict";
import { byKeyboard, byMouse, onPhone } from "./journeys.js";
import { Stage, desktop, overflows, phone, picture } from "./stage.js";
import { keyboard, mouse } from "./ways.js";

const token = "a token for the trial";
const stage = new Stage();

before(() => stage.start("./examples/multilinkpage", ["-role", "server", "-token", token], (line) => line.startsWith("listening on ")));
after(() => stage.close());

async function journey(t, name, way, options) {
  const { page, complaints } = await stage.open(t, "/", options);
  page.on("dialog", (dialog) => dialog.accept());
  await way.type(page.getByLabel("Token"), token);
  await page.keyboard.press("Enter");
  await page.locator('#live[data-state="running"]').waitFor();
  const topic = async (title) => {
    if (options === phone) await way.press(page.getByRole("navigation", { name: "Topics" }).getByRole("link", { name: title }));
  };
  const button = (title) => page.getByRole("button", { name: title, exact: true });

  await topic("Links");
  await page.getByText("No link is managed yet.").waitFor();
  await picture(page, `journey-links-${name}-1-empty`);
  for (const [i, link] of ["wlan0", "mesh0"].entries()) {
    await way.press(page.getByRole("link", { name: "Add a link" }));
    await way.type(page.getByLabel("Name"), link);
    await way.type(page.getByLabel("Endpoint"), `203.0.113.9:${51820 + i}`);
    await picture(page, `journey-links-${name}-2-form`);
    await way.press(button("Add the link"));
    await page.getByText(`The link ${link} is added.`).waitFor();
  }
  const state = (link) => page.locator(`#link-list [data-name="${link}"] .badge`);
  await state("wlan0").getByText("up, active").waitFor();
  await way.press(button("Disable link wlan0"));
  await page.getByText("The link wlan0 is disabled").waitFor();
  await state("wlan0").getByText("disabled").waitFor();
  await state("mesh0").getByText("up, active").waitFor();
  await picture(page, `journey-links-${name}-3-cut`);
  await topic("Events");
  const event = page.locator("#event-list > li", { hasText: "mesh0 took over from wlan0" }).first();
  await way.press(event.locator("summary"));
  await event.locator("ol").getByText("the configuration changed").first().waitFor();
  await picture(page, `journey-links-${name}-4-events`);
  await topic("Charts");
  await page.locator('[data-chart="rtt"] .u-legend', { hasText: "mesh0" }).waitFor();
  await way.press(button("1h"));
  await page.getByRole("button", { name: "1h", exact: true, pressed: true }).waitFor();
  await picture(page, `journey-links-${name}-5-charts`);

  await topic("Links");
  await way.press(button("Enable link wlan0"));
  await state("wlan0").getByText("up, active").waitFor();
  assert.equal(await overflows(page), false);
  for (const link of ["wlan0", "mesh0"]) {
    await way.press(button(`Delete link ${link}`));
    await page.getByText(`The link ${link} is deleted.`).waitFor();
  }
  assert.deepEqual(complaints, []);
}

const title = "a link is added, cut and watched";
byMouse(title, (t) => journey(t, "mouse", mouse, desktop));
byKeyboard(title, (t) => journey(t, "keyboard", keyboard, { ...desktop, colorScheme: "dark" }));
onPhone(title, (t) => journey(t, "phone", mouse, phone));
