// Requests to the instance, and what is said to people about them.

// ask sends a request and returns what was answered; an error has the server's words.
export async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 401) {
    location.assign("/.enablers/sign-in?to=" + encodeURIComponent(location.pathname));
    return new Promise(() => {});
  }
  const text = await answer.text();
  let document;
  try {
    document = text === "" ? undefined : JSON.parse(text);
  } catch {
    throw new Error(`the server answered with status ${answer.status}`);
  }
  if (!answer.ok) throw new Error(document?.detail ?? `the server answered with status ${answer.status}`);
  return document;
}

// tell says something to those who cannot see the page.
export function tell(text) {
  document.getElementById("told").textContent = text;
}

// submitted calls what when the form is sent, and shows in the form what goes wrong.
export function submitted(form, what) {
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fault = form.querySelector(".fault");
    const buttons = form.querySelectorAll("button");
    fault.textContent = "";
    buttons.forEach((button) => button.setAttribute("aria-disabled", "true"));
    try {
      await what(new FormData(form), event.submitter);
    } catch (error) {
      fault.textContent = error.message;
    } finally {
      buttons.forEach((button) => button.removeAttribute("aria-disabled"));
    }
  });
}

// confirmed asks people whether they mean it.
export function confirmed(title, text) {
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-title").textContent = title;
  document.getElementById("confirm-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((answered) => dialog.addEventListener("close", () => answered(dialog.returnValue === "yes"), { once: true }));
}

// element makes an element with text and attributes.
export function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// badge shows a state in words and a colour.
export function badge(state, words = state) {
  const made = element("span", undefined, { class: "badge", "data-state": state });
  made.append(element("span", undefined, { class: "dot", "aria-hidden": "true" }), words);
  return made;
}

// copying has the buttons with data-copy copy the text of what they name.
export function copying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const from = document.getElementById(button.dataset.copy);
      const text = from.value ?? from.textContent;
      try {
        await navigator.clipboard.writeText(text);
      } catch { // a page without TLS has no clipboard; this is the way of before
        if (from.select) from.select();
        else getSelection().selectAllChildren(from);
        document.execCommand("copy");
      }
      tell("Copied");
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
}
