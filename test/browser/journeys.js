// The journeys: what a person does from the first page to the end. Every journey is tried by mouse, by
// keyboard and on a phone, and the name of its test ends so.
//
// WAYS=mouse has the journeys of that way alone, as `npm run quick` does; the ways are mouse,
// keyboard and phone.

import assert from "node:assert/strict";
import { test } from "node:test";

const words = { mouse: "by mouse", keyboard: "by keyboard", phone: "on a phone" };
const wanted = process.env.WAYS ? process.env.WAYS.split(" ") : Object.keys(words);
for (const way of wanted) assert.ok(way in words, `WAYS: must be of ${Object.keys(words).join(", ")}, got ${way}`);

let declared = 0;
process.on("exit", () => {
  if (declared > 0) return;
  console.error(`no journey of this file is ${wanted.map((way) => words[way]).join(" or ")}`);
  process.exitCode = 1; // a file without tests passes otherwise
});

const journeys = (way) => (title, run) => {
  if (!wanted.includes(way)) return;
  declared += 1;
  test(`${title} ${words[way]}`, run);
};

// byMouse, byKeyboard and onPhone declare the test of a journey.
export const byMouse = journeys("mouse");
export const byKeyboard = journeys("keyboard");
export const onPhone = journeys("phone");
