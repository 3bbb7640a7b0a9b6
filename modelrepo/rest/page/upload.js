// Uploads files in pieces by the protocol tus 1.0.0, with progress. An upload that breaks off
// goes on where it was; one that was left is found again by the name, size and time of the file.

import { report, request, timeText, toast } from "./shell.js";

const piece = 8 << 20; // bytes of a request
const pauses = [500, 1000, 2000, 4000, 8000, 15000]; // milliseconds before the next try
const form = document.getElementById("upload");
const root = document.getElementById("main").dataset.root;

const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const keyOf = (file, at) => `upload ${at} ${file.name} ${file.size} ${file.lastModified}`;

// item shows one upload.
class Item {
  constructor(name) {
    this.place = document.createElement("li");
    this.place.className = "card";
    const title = document.createElement("p");
    title.textContent = name;
    this.bar = document.createElement("progress");
    this.bar.max = 1;
    this.bar.setAttribute("aria-label", name);
    this.said = document.createElement("p");
    this.said.className = "note";
    this.said.setAttribute("role", "status");
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.className = "quiet";
    this.button.textContent = "Stop";
    this.place.append(title, this.bar, this.said, this.button);
    document.getElementById("uploads").append(this.place);
  }

  show(offset, size, text) {
    this.bar.value = size > 0 ? offset / size : 1;
    this.said.textContent = text ?? `${Math.floor(100 * this.bar.value)} % of ${sizeText(size)}`;
  }
}

function sizeText(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit += 1) bytes /= 1000;
  return unit === 0 ? `${bytes} B` : `${bytes.toPrecision(3)} ${units[unit]}`;
}

const tus = { "Tus-Resumable": "1.0.0" };

// begin creates an upload and returns its address.
async function begin(file, at, overwrite) {
  const answer = await request(`${at}${overwrite ? "&overwrite=1" : ""}`, {
    method: "POST",
    headers: { ...tus, "Upload-Length": String(file.size), "Upload-Metadata": `filename ${base64(file.name)},contentType ${base64(file.type || "application/octet-stream")}` },
  });
  const id = answer.headers.get("Location").split("/").at(-1);
  return new URL(`${root}api/u/${id}`, location.href).href; // wherever the interface is mounted
}

// offsetOf returns how much of an upload has arrived, null if there is no such upload.
async function offsetOf(address, signal) {
  try {
    const answer = await request(address, { method: "HEAD", headers: tus, signal });
    return Number(answer.headers.get("Upload-Offset"));
  } catch (error) {
    if (error.status === 404 || error.status === 410) return null;
    throw error;
  }
}

const isPassing = (error) => error.status === 0 || error.status === 409 || error.status === 423 || error.status === 429 || error.status >= 500;

async function send(file, format, overwrite, item, signal) {
  const at = `${form.dataset.content}?format=${encodeURIComponent(format)}`;
  const key = keyOf(file, at);
  let address = localStorage.getItem(key);
  let offset = address ? await offsetOf(address, signal) : null;
  if (offset === null) {
    address = await begin(file, at, overwrite);
    localStorage.setItem(key, address);
    offset = 0;
  }
  let failures = 0;
  while (offset < file.size) {
    item.show(offset, file.size);
    try {
      const answer = await request(address, {
        method: "PATCH",
        headers: { ...tus, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" },
        body: file.slice(offset, offset + piece),
        signal,
      });
      offset = Number(answer.headers.get("Upload-Offset"));
      failures = 0;
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (!isPassing(error)) {
        localStorage.removeItem(key);
        throw error;
      }
      const pause = pauses[Math.min(failures, pauses.length - 1)];
      failures += 1;
      item.show(offset, file.size, `The connection broke off. It goes on at ${timeText(new Date(Date.now() + pause))}.`);
      await new Promise((resolve) => { setTimeout(resolve, pause); });
      signal.throwIfAborted();
      try {
        const arrived = await offsetOf(address, signal);
        if (arrived === null) throw new Error("The server has removed the upload. Please begin it anew.");
        offset = arrived;
      } catch (again) {
        if (again.name === "AbortError" || !(again.status === 0 || again.status >= 500)) throw again;
      }
    }
  }
  localStorage.removeItem(key);
}

async function upload(file) {
  const data = new FormData(form);
  const format = data.get("format").trim() || file.type || "application/octet-stream";
  const item = new Item(file.name);
  const stop = new AbortController();
  item.button.addEventListener("click", () => stop.abort());
  try {
    await send(file, format, data.has("overwrite"), item, stop.signal);
    item.show(1, 1, `Stored as ${format}.`);
    item.button.remove();
    toast(`${file.name} is stored as ${format}.`);
    location.reload();
  } catch (error) {
    if (error.name === "AbortError") {
      item.show(0, file.size, "Stopped. Choose the same file again to go on.");
      item.button.remove();
      return;
    }
    item.show(0, file.size, error.message);
    item.button.remove();
    report(error);
  }
}

if (form) {
  form.querySelector(".can-drop").hidden = false;
  const file = document.getElementById("content");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (file.files.length === 1) upload(file.files[0]);
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
    for (const one of event.dataTransfer.files) upload(one);
  });
}
