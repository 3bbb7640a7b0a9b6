// The library and the form for definitions, without loading the page anew.

const { root } = document.getElementById("main").dataset;
const search = document.querySelector("#search");
const library = document.querySelector("#library");
const upload = document.querySelector("#upload");

// part asks for a part of a page, and returns it with the status.
async function part(address, options = {}) {
  const answer = await fetch(address, { ...options, headers: { "X-Part": "1" } });
  const text = await answer.text();
  return { status: answer.status, content: new DOMParser().parseFromString(text, "text/html").body };
}

let asked = 0;

async function list() {
  const mine = ++asked;
  const query = new URLSearchParams([...new FormData(search)].filter(([, value]) => value !== ""));
  const address = query.size > 0 ? `${root}?${query}` : root;
  try {
    const { status, content } = await part(address);
    if (mine !== asked) return; // the user has typed on
    if (status === 401) location.reload();
    if (status !== 200) return;
    library.replaceChildren(...content.childNodes);
    history.replaceState(null, "", address);
  } catch {
    if (mine === asked) library.querySelector("#count").textContent = "The portal cannot be reached.";
  }
}

if (search) {
  let pause;
  search.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(list, 200);
  });
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    list();
  });
}

// mark tells at each field what is wrong with it.
function mark(content) {
  let first;
  for (const place of document.querySelectorAll("[data-part]")) {
    const said = content.querySelector(`[data-part="${place.dataset.part}"]`);
    place.replaceChildren(...(said?.childNodes ?? []));
    if (said?.dataset.suggested) document.getElementById(place.dataset.field).value = said.dataset.suggested;
    const field = place.dataset.field && document.getElementById(place.dataset.field);
    if (!field) continue;
    const wrong = place.textContent.trim() !== "";
    field.setAttribute("aria-invalid", String(wrong));
    if (wrong) first ??= field;
  }
  first?.focus();
}

async function send(event) {
  event.preventDefault();
  const form = new FormData(upload, event.submitter);
  const buttons = upload.querySelectorAll("button");
  const result = document.querySelector('[data-part="result"]');
  for (const button of buttons) button.setAttribute("aria-disabled", "true");
  result.textContent = "Checking …";
  try {
    const { content } = await part(upload.getAttribute("action"), { method: "POST", body: form });
    mark(content);
    if (content.querySelector("[data-published]")) {
      upload.reset();
      await list();
    }
  } catch {
    result.textContent = "The portal cannot be reached, or the file has changed since it was chosen.";
  }
  for (const button of buttons) button.removeAttribute("aria-disabled");
}

if (upload) {
  let busy = false;
  upload.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    await send(event);
    busy = false;
  });
  const drop = document.querySelector("#drop");
  const file = document.querySelector("#upload_file");
  drop.classList.add("ready");
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length !== 1) return;
    file.files = event.dataTransfer.files;
    file.focus();
  });
}
