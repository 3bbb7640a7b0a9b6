// What all pages share: times of the person's own zone, messages, requests, and the line
// that says whether the page is up to date.

const form = new Intl.DateTimeFormat("sv-SE", {
  year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

// timeText writes a time as all pages do: 2026-11-23 08:15:03 CET.
export function timeText(date) {
  const part = Object.fromEntries(form.formatToParts(date).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`;
}

// showTimes writes the times below an element that have not been written yet.
export function showTimes(within = document) {
  for (const element of within.querySelectorAll("time[datetime]:not([data-shown])")) {
    const date = new Date(element.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    element.dataset.shown = element.dateTime;
    element.textContent = timeText(date);
  }
}

// setTime has a time element show another time; null empties it.
export function setTime(element, date) {
  if (!date) {
    element.textContent = "–";
    return;
  }
  element.dateTime = date.toISOString();
  element.textContent = timeText(date);
}

const sentences = { 401: "You are not signed in.", 403: "Your role does not allow this." };

function signIn(status) {
  const link = document.createElement("a");
  link.href = `/.enablers/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`;
  link.textContent = status === 401 ? "Sign in" : "Sign in as another person";
  return link;
}

// toast shows a message at the edge of the page. One about an error stays until it is
// closed; others go after a while.
export function toast(text, { error = false, link } = {}) {
  const place = document.getElementById("toasts");
  const item = document.createElement("div");
  item.className = error ? "toast fault" : "toast";
  item.setAttribute("role", error ? "alert" : "status");
  const words = document.createElement("p");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet";
  close.textContent = "Close";
  close.addEventListener("click", () => item.remove());
  item.append(words, ...(link ? [link] : []), close);
  place.append(item);
  while (place.children.length > 4) place.firstElementChild.remove();
  if (!error) setTimeout(() => item.remove(), 6000);
  return item;
}

// Refused is an answer that is no success. Its message is a sentence of the server.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// textOf reads the sentence out of an answer: problem details, a member that servers here
// use, or plain text.
async function textOf(answer) {
  const text = (await answer.text()).trim();
  try {
    const body = JSON.parse(text);
    for (const name of ["detail", "message", "error", "title"]) {
      if (typeof body[name] === "string" && body[name]) return body[name];
    }
  } catch {
    // it is no JSON
  }
  return text.slice(0, 1000) || `The server answered with status ${answer.status}.`;
}

const silence = 10_000; // milliseconds until an answer to a question begins
const slowest = 60_000; // milliseconds that an answer may take from then on
const silentStream = 45_000; // milliseconds without a byte of a stream of events; servers send a comment every 15 seconds

const unanswered = () => new Refused(0, "The server does not answer.");

// request sends a request and returns the answer, or throws a Refused. The answer to a question, which is
// a GET without a signal of its own, has to begin in ten seconds and to end in a minute: a
// connection of which a network or a stopped server swallows everything never fails by itself.
export async function request(url, options = {}) {
  let answer;
  const control = new AbortController();
  const within = (milliseconds) => setTimeout(() => control.abort(unanswered()), milliseconds);
  const bounded = !options.method && !options.signal;
  const timer = bounded ? within(silence) : undefined;
  try {
    answer = await fetch(url, { cache: "no-store", signal: control.signal, ...options });
  } catch (error) {
    if (error.name === "AbortError" || error instanceof Refused) throw error;
    throw new Refused(0, "The server cannot be reached.");
  } finally {
    clearTimeout(timer);
  }
  if (bounded) within(slowest);
  if (!answer.ok) throw new Refused(answer.status, sentences[answer.status] ?? (await textOf(answer)));
  return answer;
}

// report shows an error of request as a message.
export function report(error) {
  if (error.name === "AbortError") return;
  const link = error.status in sentences ? signIn(error.status) : undefined;
  toast(error.message, { error: true, link });
}

// setLive has the line #live say whether the page is up to date: "live" and "failed" are the
// states.
export function setLive(state, text, status) {
  const live = document.getElementById("live");
  if (!live) return;
  if (live.dataset.state === state && live.dataset.text === text) return; // a link in it keeps the focus
  live.dataset.state = state;
  live.dataset.text = text;
  live.replaceChildren(text);
  if (status in sentences) live.append(" ", signIn(status));
}

// events returns the events of a stream of a server of ours (HTML standard, section 9.2) as they
// come, each with its event, id and data, after the one whose id is last. It ends with the stream,
// and throws a Refused, also when the stream has been silent for too long. An EventSource would
// not show the comments by which a silent stream is told from one that has died.
export async function* events(url, last) {
  const control = new AbortController();
  let timer;
  const expect = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(() => control.abort(unanswered()), milliseconds);
  };
  try {
    expect(silence);
    const answer = await request(url, { signal: control.signal, headers: last ? { "Last-Event-ID": last } : {} });
    if (!answer.body) return; // 204: there are no more
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      expect(silentStream);
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (text + value).split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const event = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/, 2)));
        if (event.data) yield event;
      }
    }
  } catch (error) {
    throw control.signal.aborted ? control.signal.reason : error;
  } finally {
    clearTimeout(timer);
    control.abort(); // of a stream that its reader has left
  }
}

// poll calls f now and then again after each period, while the page is visible. The line #live
// shows what f throws, and that the page is up to date when f has returned: each call asks the
// server.
export function poll(period, f) {
  let timer;
  async function turn() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        await f();
        setLive("running", "live");
      } catch (error) {
        setLive("failed", error.message, error.status);
      }
    }
    timer = setTimeout(turn, period);
  }
  document.addEventListener("visibilitychange", () => document.hidden || turn());
  turn();
}

// confirmForms asks before a form with the attribute data-confirm is sent.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

showTimes();
