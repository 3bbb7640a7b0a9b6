// The order of the links, by dragging and by keys.

import { report, request } from "./shell.js";

const list = document.getElementById("link-list");
const root = document.getElementById("main").dataset.root;
let busy = false; // an item is dragged, or the answer to a new order is awaited
let changes = 0; // by the person

const names = () => [...list.children].map((item) => item.dataset.name);
const item = (name) => [...list.children].find((one) => one.dataset.name === name);

function tell(text) {
  document.getElementById("told").textContent = text;
}

// turn is to be taken before the server is asked for the order.
export const turn = () => changes;

// show has the list in the order of the server, unless a person has changed it since that
// turn.
export function show(order, since) {
  if (busy || since !== changes || names().join() === order.join()) return;
  const focused = document.activeElement;
  list.append(...order.map(item));
  if (list.contains(focused)) focused.focus();
}

async function store(moved) {
  busy = true;
  changes++;
  const order = names();
  const at = order.indexOf(moved.dataset.name) + 1;
  try {
    await request(`${root}api/interfaces`, { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ order }) });
    tell(`${moved.dataset.name} is number ${at} of ${order.length}${at === 1 ? ", the primary" : ""}`);
  } catch (error) {
    report(error);
  } finally {
    busy = false;
    changes++;
  }
}

// move moves an item by a place and stores the order.
function move(moved, step) {
  const at = names().indexOf(moved.dataset.name) + step;
  if (at < 0 || at >= list.children.length) {
    tell(`${moved.dataset.name} is ${step < 0 ? "first" : "last"} already`);
    return;
  }
  if (step < 0) list.insertBefore(moved, list.children[at]);
  else list.insertBefore(list.children[at], moved);
  store(moved);
}

// begin follows the pointer, mouse or finger, until it lets go. It listens on the whole
// page: an item that is moved in the list loses what it had captured.
function begin(event, moved) {
  if (event.button !== 0) return;
  event.preventDefault();
  const before = names();
  const over = new AbortController();
  const end = (ended) => {
    over.abort();
    moved.classList.remove("dragged");
    busy = false;
    if (ended.type !== "pointerup") list.append(...before.map(item)); // given up
    else if (names().join() !== before.join()) store(moved);
    moved.querySelector(".handle").focus();
  };
  const follow = (pointer) => {
    if (pointer.pointerId !== event.pointerId) return;
    for (const other of list.children) {
      const box = other.getBoundingClientRect();
      if (other === moved || pointer.clientY < box.top || pointer.clientY > box.bottom) continue;
      const place = pointer.clientY > box.top + box.height / 2 ? other.nextSibling : other;
      if (place !== moved && place !== moved.nextSibling) list.insertBefore(moved, place);
      return;
    }
  };
  busy = true;
  moved.classList.add("dragged");
  document.addEventListener("pointermove", follow, { signal: over.signal });
  for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, end, { signal: over.signal });
  document.addEventListener("keydown", (key) => { if (key.key === "Escape") end(key); }, { signal: over.signal });
}

for (const handle of list?.querySelectorAll(".handle") ?? []) {
  const own = handle.closest("li");
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(own, step);
    handle.focus();
  });
  handle.addEventListener("pointerdown", (event) => begin(event, own));
}
