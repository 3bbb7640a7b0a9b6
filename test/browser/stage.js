// What the trials of pages share: one of our commands, which runs, and a browser.
//
// A trial waits for the states of a page, and reads nothing once that may still change: locators
// wait by themselves, eventually repeats any other check.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export const desktop = { viewport: { width: 1280, height: 900 } };
export const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

// patience is how many milliseconds a state may take on a machine that is busy with other work.
export const patience = 60_000;

// enablersFlags has cmd/enablers listen on free ports.
export const enablersFlags = ["listen", "mqtt", "modelrepo", "flcollector", "flcollector-grpc", "flcollector-fleet", "apimanager", "gateway", "gateway-admin",
  "multilink", "multilink-client"].flatMap((name) => [`-${name}`, "127.0.0.1:0"]);

// Stage is a command and a browser. Close ends both, however far start came.
export class Stage {
  server; // the process
  #scratch;
  address; // of the pages
  browser;
  #flags;

  // Flags are given to the browser besides those that it always has.
  constructor(...flags) {
    this.#flags = flags;
  }

  // start builds and runs a command of ours, or another program of the project whose
  // folder begins with "./", until it prints a line that ready
  // accepts, and starts the browser.
  async start(command, args, ready) {
    this.#scratch = mkdtempSync(join(tmpdir(), `${basename(command)}-`));
    const program = build(command, this.#scratch);
    this.server = spawn(program, [...args, "-data", join(this.#scratch, "data")], { stdio: ["ignore", "pipe", "inherit"] });
    const late = setTimeout(() => this.server.kill("SIGKILL"), patience);
    await new Promise((finished, failed) => {
      const lines = createInterface({ input: this.server.stdout });
      lines.on("line", (line) => {
        this.address ??= /^listening on (http:\S+)/.exec(line)?.[1];
        if (ready(line)) finished();
      });
      lines.on("close", () => failed(new Error("the server ended before it was ready")));
    }).finally(() => clearTimeout(late));
    await this.#launch();
  }

  // join starts the browser alone, for a server that its caller starts and ends.
  async join(address) {
    this.address = address;
    await this.#launch();
  }

  async #launch() {
    this.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync),
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", ...this.#flags],
    });
  }

  async close() {
    await this.browser?.close();
    await this.end("SIGINT");
    if (this.#scratch) rmSync(this.#scratch, { recursive: true, force: true });
  }

  // end sends a signal to the server, and returns its exit status when it has ended.
  async end(signal) {
    if (this.server && this.server.exitCode === null && this.server.signalCode === null) {
      const ended = new Promise((exited) => this.server.once("exit", exited));
      this.server.kill(signal);
      await ended;
    }
    return this.server?.exitCode;
  }

  // person opens an empty page for a test, in a context with storage and cookies of its own.
  async person(t, options) {
    const context = await this.browser.newContext(options);
    t.after(() => context.close());
    context.setDefaultTimeout(patience);
    const page = await context.newPage();
    // With a listener from the beginning the browser passes every file chooser on. One that is
    // added later may come too late for the chooser that it waits for.
    page.on("filechooser", () => {});
    return { context, page };
  }

  // open opens a page that must not complain, and must send requests to no host but the server
  // and what may be asked besides.
  async open(t, path, options, ...besides) {
    const { page } = await this.person(t, options);
    const complaints = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (![this.address, ...besides].some((start) => request.url().startsWith(start))) complaints.push(`asked ${request.url()}`);
    });
    const answer = await page.goto(this.address + path);
    assert.equal(answer.status(), 200);
    return { page, complaints };
  }
}

// build builds a command of ours, or another program of the project whose folder begins with
// "./", into a folder, unless ENABLERS_PROGRAMS has it, and returns its path.
export function build(command, folder) {
  const name = basename(command);
  const made = process.env.ENABLERS_PROGRAMS && join(process.env.ENABLERS_PROGRAMS, name);
  if (made && existsSync(made)) return made;
  const program = join(folder, name);
  execFileSync("go", ["build", "-buildvcs=false", "-o", program, command.startsWith("./") ? command : `./cmd/${command}`], { cwd: root, stdio: "inherit" });
  return program;
}

// eventually repeats a check until it holds, and returns its result. It fails as the check failed
// at last.
export async function eventually(check) {
  const end = performance.now() + patience;
  for (;;) {
    try {
      return await check();
    } catch (failure) {
      if (performance.now() > end) throw failure;
    }
    await pause(50);
  }
}

// picture leaves a picture of a page in the folder SCREENSHOTS, if that is set.
export async function picture(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

// overflows reports whether a page is wider than its window, once it has its style.
export async function overflows(page) {
  await page.waitForLoadState();
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}

// reach presses Tab until an element has the focus, backwards for what stands before.
export async function reach(page, locator) {
  await locator.waitFor();
  await eventually(async () => assert.ok(await locator.isEnabled(), `${locator} is disabled`)); // the Tab key skips what is
  for (let presses = 0; presses < 150; presses++) {
    const key = await locator.evaluate((element) => {
      const focused = element.getRootNode().activeElement;
      if (focused === element) return "";
      let outside = element; // an editor is in a shadow tree
      while (outside.getRootNode().host) outside = outside.getRootNode().host;
      return document.activeElement.compareDocumentPosition(outside) & Node.DOCUMENT_POSITION_PRECEDING ? "Shift+Tab" : "Tab";
    });
    if (key === "") return;
    await page.keyboard.press(key);
  }
  assert.fail(`the Tab key does not reach ${locator}`);
}

// submit has the page send a form and returns the answer.
export async function submit(page, action, enctype, fields) {
  const answer = page.waitForResponse((response) => response.url() === action);
  await page.evaluate(({ action, enctype, fields }) => {
    const form = document.createElement("form");
    Object.assign(form, { method: "POST", action, enctype });
    for (const [name, value] of Object.entries(fields)) {
      const field = document.createElement("textarea");
      Object.assign(field, { name, value });
      form.append(field);
    }
    document.body.append(form);
    form.submit();
  }, { action, enctype, fields });
  return answer;
}
