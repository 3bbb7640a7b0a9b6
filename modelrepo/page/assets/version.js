// Uploads files in pieces by the protocol tus 1.0.0, with progress. An upload whose connection
// breaks goes on where it was. One that was left, because the page was closed, is found again
// by the place, name, size and time of the file.

import { report, request } from "./shell.js";

const piece = 8 << 20; // bytes of a request
const pauses = [500, 1000, 2000, 4000, 8000, 15000]; // milliseconds before the next try
const tus = { "Tus-Resumable": "1.0.0" };

const form = document.getElementById("upload");
const content = form && new URL(form.dataset.content, location.href);

const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

// isPassing reports whether a request may succeed later. A full storage or quota does not pass.
// Status 409 passes when a piece was sent twice.
const isPassing = ({ status }) => status === 0 || status === 409 || status === 423 || status === 429 || (status >= 500 && status !== 507);

function sizeText(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 999.5 && unit < units.length - 1; unit += 1) bytes /= 1000;
  return unit === 0 ? `${bytes} B` : `${Number(bytes.toPrecision(3))} ${units[unit]}`;
}

// pause waits, less long if the browser finds the network again.
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    window.addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}

// formatOf returns the format for a file: what was typed, or what its name or its type says.
function formatOf(file, typed) {
  const name = file.name.toLowerCase();
  const known = [...document.querySelectorAll("#known-formats option")].find((option) => name.endsWith(option.dataset.extension));
  return typed || known?.value || file.type || "application/octet-stream";
}

// Item shows one upload.
class Item {
  constructor(title) {
    const make = (tag, fields) => Object.assign(document.createElement(tag), fields);
    this.place = make("li", { className: "card" });
    this.bar = make("progress", { max: 1, value: 0, ariaLabel: title });
    this.percent = make("p", { className: "note" });
    this.said = make("p", { role: "status" });
    this.buttons = make("p", { className: "buttons" });
    this.place.append(make("p", { textContent: title }), this.bar, this.percent, this.said, this.buttons);
    document.getElementById("uploads").append(this.place);
  }

  progress(offset, size) {
    this.bar.value = size > 0 ? offset / size : 1;
    this.percent.textContent = `${sizeText(offset)} of ${sizeText(size)}, ${Math.floor(100 * this.bar.value)} %`;
  }

  say(text) {
    this.said.textContent = text;
  }

  // offer shows buttons with what they do, in place of those before.
  offer(actions) {
    this.buttons.replaceChildren(...Object.entries(actions).map(([text, act]) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: text });
      button.addEventListener("click", act);
      return button;
    }));
  }
}

// Kept is what the browser remembers of an upload that has begun.
const Kept = {
  prefix: content && `upload ${content.pathname}?`,
  key: (file, format) => `${Kept.prefix}${format} ${file.name} ${file.size} ${file.lastModified}`,
  read: (key) => JSON.parse(localStorage.getItem(key)),
  write: (key, value) => localStorage.setItem(key, JSON.stringify(value)),
  drop: (key) => localStorage.removeItem(key),
  keys: () => Object.keys(localStorage).filter((key) => key.startsWith(Kept.prefix)),
};

const left = new Map(); // the items of uploads that wait for their file, by key

// begin creates an upload and returns its address.
async function begin(file, format, overwrite, signal) {
  const at = new URL(content);
  at.searchParams.set("format", format);
  if (overwrite) at.searchParams.set("overwrite", "1");
  const metadata = `filename ${base64(file.name)},contentType ${base64(file.type || "application/octet-stream")}`;
  const headers = { ...tus, "Upload-Length": String(file.size), "Upload-Metadata": metadata };
  const answer = await request(at, { method: "POST", headers, signal });
  return new URL(answer.headers.get("Location"), at).href;
}

// stateOf returns how far an upload is, and the checksum of one that is stored.
const stateOf = (answer) => ({
  offset: Number(answer.headers.get("Upload-Offset")),
  sum: answer.headers.get("ETag")?.replaceAll('"', ""),
});

// find returns the state of an upload, null if the server does not have it.
async function find(address, signal) {
  try {
    return stateOf(await request(address, { method: "HEAD", headers: tus, signal }));
  } catch (error) {
    if (error.status === 404 || error.status === 410) return null;
    throw error;
  }
}

// add sends the next piece of a file.
async function add(file, address, offset, signal) {
  return stateOf(await request(address, {
    method: "PATCH",
    headers: { ...tus, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" },
    body: file.slice(offset, offset + piece),
    signal,
  }));
}

// send sends what the server does not have of a file, and returns the checksum. After a failure
// that passes it asks the server how much has arrived.
async function send(file, format, overwrite, item, signal) {
  const key = Kept.key(file, format);
  let address = Kept.read(key)?.address;
  let isOld = Boolean(address); // the server may have removed it
  let state = null; // unknown
  let refusal; // of the last piece; the server removes an upload that it refuses for good
  for (let failures = 0; state === null || state.offset < file.size;) {
    try {
      if (!address) {
        address = await begin(file, format, overwrite, signal);
        Kept.write(key, { address, name: file.name, size: file.size, format });
      }
      state ??= await find(address, signal);
      if (state === null) {
        if (!isOld) throw refusal ?? new Error("The server does not have the upload any more. Please begin it anew.");
        address = null;
      } else if (state.offset < file.size) {
        item.progress(state.offset, file.size);
        if (state.offset + piece >= file.size) item.say("The last bytes are sent. The server then checks and stores the file.");
        state = await add(file, address, state.offset, signal);
        if (failures > 0) item.say("");
        failures = 0;
        refusal = undefined;
      }
      isOld = false;
    } catch (error) {
      if (!isPassing(error) || (error.status === 409 && !address)) throw error;
      if (error.status === 409) refusal = error;
      const wait = pauses[Math.min(failures, pauses.length - 1)];
      failures += 1;
      item.say(`The connection is broken: try ${failures} in ${wait / 1000} s. What has arrived is kept.`);
      await pause(wait, signal);
      state = null;
    }
  }
  Kept.drop(key);
  return state.sum;
}

// showContents shows the contents as they are now, and whether the version can be deleted.
async function showContents() {
  const answer = await request(location.href, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["formats", "removal"]) document.getElementById(id).replaceWith(page.getElementById(id));
}

// upload uploads a file when its turn has come.
async function upload(file, format, overwrite, turn = Promise.resolve()) {
  const key = Kept.key(file, format);
  left.get(key)?.place.remove();
  left.delete(key);
  const item = new Item(`${file.name} as ${format}`);
  const stop = new AbortController();
  item.offer({ Stop: () => stop.abort() });
  item.say("It waits for the files before it.");
  const stopped = new Promise((resolve, reject) => stop.signal.addEventListener("abort", () => reject(stop.signal.reason)));
  stopped.catch(() => {}); // where the turn had come before
  try {
    await Promise.race([turn, stopped]);
    item.say("");
    const sum = await send(file, format, overwrite, item, stop.signal);
    item.progress(file.size, file.size);
    item.say(`Stored. SHA-256: ${sum}`);
    item.place.dataset.state = "stored";
    item.offer({ Close: () => item.place.remove() });
    await showContents();
  } catch (error) {
    const isStopped = error.name === "AbortError";
    item.say(isStopped ? "Stopped. What has arrived is kept." : error.message);
    const again = () => {
      item.place.remove();
      upload(file, format, overwrite);
    };
    item.offer({ [isStopped ? "Go on" : "Try again"]: again, Discard: () => discard(key, item) });
    if (error.status === 401 || error.status === 403) report(error); // with a link to sign in
  }
}

// discard removes an upload, here and from the server.
async function discard(key, item) {
  try {
    const kept = Kept.read(key);
    if (kept) await request(kept.address, { method: "DELETE", headers: tus });
  } catch (error) {
    if (error.status !== 404 && error.status !== 410) {
      report(error);
      return;
    }
  }
  Kept.drop(key);
  left.delete(key);
  item.place.remove();
}

// showLeft shows an upload that was left, unless it is gone or stored.
async function showLeft(key) {
  const { address, name, size, format } = Kept.read(key);
  const state = await find(address);
  if (state === null || state.offset === size) {
    Kept.drop(key);
    return;
  }
  const item = new Item(`${name} as ${format}`);
  item.progress(state.offset, size);
  item.say("This upload was left. Choose the same file again, and it goes on.");
  item.offer({ Discard: () => discard(key, item) });
  left.set(key, item);
}

let all = Promise.resolve(); // settles after the files that were chosen so far

// uploadAll uploads files one after the other: the first one that is stored in a version without
// a default format sets it, and that must not be the one that happens to be the fastest.
function uploadAll(files) {
  const data = new FormData(form);
  for (const file of files) {
    all = Promise.allSettled([all, upload(file, formatOf(file, data.get("format").trim()), data.has("overwrite"), all)]);
  }
}

if (form) {
  form.querySelector(".can-drop").hidden = false;
  const field = document.getElementById("content");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    uploadAll(field.files);
  });
  for (const name of ["dragenter", "dragover"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) form.addEventListener(name, () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    uploadAll(event.dataTransfer.files);
  });
  for (const key of Kept.keys()) showLeft(key).catch(report);
}
