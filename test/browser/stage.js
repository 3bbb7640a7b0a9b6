// What the trials of pages share: one of our commands, which runs, and a browser.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export const desktop = { viewport: { width: 1280, height: 900 } };
export const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

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
    await new Promise((finished, failed) => {
      const lines = createInterface({ input: this.server.stdout });
      lines.on("line", (line) => {
        this.address ??= /^listening on (http:\S+)/.exec(line)?.[1];
        if (ready(line)) finished();
      });
      lines.on("close", () => failed(new Error("the server ended")));
    });
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
    this.server?.kill("SIGINT");
    if (this.server && this.server.exitCode === null) await new Promise((ended) => this.server.once("exit", ended));
    if (this.#scratch) rmSync(this.#scratch, { recursive: true, force: true });
  }

  // open opens a page that must not complain, and must send requests to no host but the server
  // and what may be asked besides.
  async open(t, path, options, ...besides) {
    const context = await this.browser.newContext(options);
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (![this.address, ...besides].some((start) => request.url().startsWith(start))) complaints.push(`asked ${request.url()}`);
    });
    t.after(() => context.close());
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
  for (let presses = 0; presses < 150; presses++) {
    const key = await locator.evaluate((element) => {
      const focused = element.getRootNode().activeElement;
      if (focused === element) return "";
      return document.activeElement.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING ? "Shift+Tab" : "Tab";
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
