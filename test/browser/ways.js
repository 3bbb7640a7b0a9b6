// The ways of using a page: by mouse, by touch, and by keyboard alone. A way has these methods, of which
// each waits until the page has its scripts: press uses a link, a button or a box; type replaces the
// text of a field or an editor; choose selects an option by its text; upload opens the chooser of a
// field, and gives it a file.

import assert from "node:assert/strict";
import { reach } from "./stage.js";

async function upload(way, target, file) {
  const chooser = target.page().waitForEvent("filechooser");
  await way.press(target);
  await (await chooser).setFiles(file);
}

export const mouse = {
  async press(target) {
    await target.page().waitForLoadState();
    await target.click();
  },
  async type(target, text) {
    await this.press(target);
    await target.fill(text);
  },
  async choose(target, label) {
    await target.page().waitForLoadState();
    await target.selectOption({ label });
  },
  upload(target, file) {
    return upload(this, target, file);
  },
};

// A finger does what a mouse does.
export const touch = {
  ...mouse,
  async press(target) {
    await target.page().waitForLoadState();
    await target.tap();
  },
};

// The keyboard reaches everything with the Tab key.
export const keyboard = {
  async reach(target) {
    await target.page().waitForLoadState();
    await reach(target.page(), target);
  },
  async press(target) {
    await this.reach(target);
    const box = await target.evaluate((element) => ["checkbox", "radio", "file"].includes(element.type));
    await target.press(box ? "Space" : "Enter"); // unlike the key alone, this waits for the page that follows
  },
  async type(target, text) {
    await this.reach(target);
    const { keyboard } = target.page();
    await keyboard.press("ControlOrMeta+a");
    // An editor completes brackets that are typed.
    if (await target.evaluate((element) => element.isContentEditable)) await keyboard.insertText(text);
    else await keyboard.type(text);
  },
  async choose(target, label) {
    await this.reach(target);
    const chosen = () => target.locator("option:checked").textContent();
    await target.press("Home");
    for (let options = await target.locator("option").count(); options > 0 && await chosen() !== label; options--) await target.press("ArrowDown");
    assert.equal(await chosen(), label);
  },
  upload(target, file) {
    return upload(this, target, file);
  },
};
