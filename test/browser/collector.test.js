// Tries the pages of cmd/flcollector in Chromium: the list of jobs and the live
// page of one, on a desktop and on a phone, with and without JavaScript, by
// keyboard.
//
//   npm ci && node --test collector.test.js
//
// It wants Go and Chromium; CHROMIUM says where the latter is, by default at
// /usr/bin/chromium-headless-shell or /usr/bin/chromium. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { Stage, desktop, eventually, overflows, phone, picture } from "./stage.js";

const demo = "/live/demo-1";
const stage = new Stage();

before(() => stage.start("flcollector", ["-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0", "-demo", "-demo-pause", "0s"],
  (line) => line.startsWith("training finished")));

after(() => stage.close());

const open = (t, path, options) => stage.open(t, path, options);

// shows waits until an element has a text.
const shows = (locator, text) => eventually(async () => assert.equal(await locator.textContent(), text));

// drawn waits until the charts show the last round of the demonstration.
async function drawn(page) {
  await page.locator("#live", { hasText: "ended" }).waitFor();
  await page.waitForFunction(() => {
    const rounds = [...document.querySelectorAll("#charts .u-legend .u-series:first-child .u-value")];
    return rounds.length === 4 && document.querySelector('[data-metric="accuracy"]') && rounds.every((round) => round.textContent === "20");
  });
}

// configure starts a job for which there are no clients.
async function configure(id) {
  const answer = await fetch(`${stage.address}/job/config/${encodeURIComponent(id)}`, {
    method: "POST",
    body: JSON.stringify({
      strategy: "FedMedian", model_name: "<b>model</b>", model_version: "1", server_conf: { num_rounds: 5 },
      strategy_conf: {}, client_conf: [{ epochs: 1 }], "privacy-mechanisms": {}, configuration_id: 10,
    }),
  });
  assert.equal(await answer.text(), "200");
}

async function stop() {
  assert.equal(await (await fetch(`${stage.address}/job/stop`, { method: "POST" })).text(), "200");
}

test("a job is found in the list and shown with its charts", async (t) => {
  const { page, complaints } = await open(t, "/", desktop);
  await page.locator("#live", { hasText: "live" }).waitFor();
  const row = page.locator('#jobs [data-id="demo-1"]');
  assert.equal(await row.getAttribute("data-state"), "FINISHED");
  await shows(row.locator('[data-field="rounds"]'), "20 of 20");
  await picture(page, "collector-jobs-desktop");
  await row.locator("a").click();
  await page.waitForURL(`**${demo}`);
  await drawn(page);
  await eventually(async () => assert.equal(await page.locator("#rounds tbody tr").count(), 10));
  await eventually(async () => assert.equal(await page.locator("#rounds tbody tr").first().getAttribute("data-round"), "20"));
  const { rounds } = await (await fetch(`${stage.address}/job/rounds/demo-1?after=19`)).json();
  await eventually(async () => {
    const loss = await page.locator('[data-chart="loss"] .u-value').nth(1).textContent();
    assert.ok(Math.abs(Number(loss) - rounds[0].loss) < 1e-4, loss);
  });
  assert.equal(await page.locator("#quarantine").isVisible(), false);
  assert.equal(await overflows(page), false);
  await picture(page, "collector-job-desktop");
  assert.deepEqual(complaints, []);
});

test("the report of the last round is a table for every reader", async (t) => {
  const { page, complaints } = await open(t, demo, desktop);
  const table = page.locator("#report table");
  await page.locator("#report h2", { hasText: "Updates of round 20: 3 kept, 0 clipped, 0 refused, 0 failed" }).waitFor();
  const clients = table.locator("tbody tr");
  await eventually(async () => assert.equal(await clients.count(), 3));
  const report = await (await fetch(`${stage.address}/job/rounds/demo-1/20/report`)).json();
  assert.equal(await clients.first().locator('[data-label="Client"] .small').textContent(), report.clients[0].client);
  assert.deepEqual((await clients.locator("strong").allTextContents()).sort(), ["clinic", "oncology", "screening"]);
  assert.equal(Number(await clients.first().locator('[data-label="Weight"]').textContent()), report.clients[0].num_examples);
  assert.equal(await page.locator("#report-rest").isVisible(), false);
  await page.locator("#report .scroll").focus(); // as the Tab key does, so that the arrow keys scroll it
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-labelledby")), "report-title"));
  const small = await open(t, demo, phone);
  await small.page.locator("#report tbody tr").first().waitFor();
  assert.equal(await overflows(small.page), false);
  await small.page.locator("#report").scrollIntoViewIfNeeded();
  await picture(small.page, "collector-report-phone");
  const plain = await open(t, demo, { ...desktop, javaScriptEnabled: false });
  assert.equal(await plain.page.locator("#report tbody tr").count(), 3);
  assert.deepEqual([...complaints, ...small.complaints, ...plain.complaints], []);
});

test("the charts have curves", async (t) => {
  const { page } = await open(t, demo, desktop);
  await drawn(page);
  // How many pixels of each have the colour of a curve; axes are grey.
  const ink = () => page.locator("#charts canvas").evaluateAll((canvases) => canvases.map((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let pixels = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && Math.abs(data[i] - data[i + 1]) > 60) pixels++;
    return pixels;
  }));
  await eventually(async () => {
    const found = await ink();
    assert.equal(found.length, 4);
    for (const pixels of found) assert.ok(pixels > 200, String(found));
  });
});

test("the pages fit a phone", async (t) => {
  const list = await open(t, "/", phone);
  await list.page.locator("#live", { hasText: "live" }).waitFor();
  assert.equal(await overflows(list.page), false);
  await picture(list.page, "collector-jobs-phone");
  const { page, complaints } = await open(t, demo, phone);
  await drawn(page);
  assert.equal(await overflows(page), false);
  await eventually(async () => {
    const widths = await page.locator("#charts figure:not([hidden])").evaluateAll((figures) => figures.map((figure) => figure.clientWidth));
    assert.ok(widths.every((width) => width > 300), String(widths));
  });
  await picture(page, "collector-job-phone");
  assert.deepEqual([...list.complaints, ...complaints], []);
});

test("the pages are dark for those who want it dark", async (t) => {
  const { page } = await open(t, demo, { ...desktop, colorScheme: "light" });
  await drawn(page);
  const look = () => page.evaluate(() => {
    const canvas = document.querySelector("#charts canvas");
    return [getComputedStyle(document.body).backgroundColor, canvas.toDataURL()];
  });
  const bright = await look();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction((before) => document.querySelector("#charts canvas")?.toDataURL() !== before, bright[1]);
  await drawn(page);
  await eventually(async () => assert.notEqual((await look())[0], bright[0]));
  await picture(page, "collector-job-dark");
});

test("the pages are whole without JavaScript", async (t) => {
  const { page, complaints } = await open(t, "/", { ...desktop, javaScriptEnabled: false });
  await page.locator('#jobs [data-id="demo-1"] a').click();
  await page.waitForURL(`**${demo}`);
  assert.equal(await page.locator('[data-field="progress"]').textContent(), "Round 20 of 20");
  assert.equal(await page.locator("#rounds tbody tr").count(), 10);
  assert.equal(await page.locator("#charts").isVisible(), false);
  assert.equal(await page.locator('noscript meta[http-equiv="refresh"]').count(), 1);
  await picture(page, "collector-job-without-javascript");
  assert.deepEqual(complaints, []);
});

test("the charts can be used with a keyboard", async (t) => {
  const { page, complaints } = await open(t, demo, desktop);
  await drawn(page);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "To the content");
  await page.locator('[data-metric="accuracy"] .plot').focus();
  for (const key of ["Home", "ArrowRight"]) await page.keyboard.press(key);
  await eventually(async () => assert.match(await page.locator("#said").textContent(), /^Round 2: accuracy 0\.\d+/));
  await shows(page.locator('[data-chart="loss"] .u-series:first-child .u-value'), "2"); // all charts are at the round
  const curve = page.locator('[data-chart="loss"] .u-legend th[role="button"]').first();
  await curve.focus();
  await page.keyboard.press("Enter");
  await eventually(async () => assert.equal(await curve.getAttribute("aria-pressed"), "false"));
  await page.keyboard.press(" ");
  await eventually(async () => assert.equal(await curve.getAttribute("aria-pressed"), "true"));
  assert.deepEqual(complaints, []);
});

test("a job comes, is stopped and trained anew before the eyes of the reader", async (t) => {
  const name = "<img src=x onerror=alert(1)>/ü";
  const list = await open(t, "/", desktop);
  await list.page.locator("#live", { hasText: "live" }).waitFor();
  await configure(name);
  const row = list.page.locator("#jobs tbody tr", { hasText: name });
  await row.waitFor();
  assert.equal(await row.getAttribute("data-state"), "WAITING");
  await row.locator("a").click();
  await list.page.waitForURL((url) => url.pathname.startsWith("/live/"));
  const { page } = list;
  const status = page.locator('h1 [data-field="status"]');
  await page.locator("#live", { hasText: "live" }).waitFor();
  await shows(status, "WAITING");
  await shows(page.locator('[data-field="model"]'), "<b>model</b> 1");
  await stop();
  await page.locator("#live", { hasText: "ended" }).waitFor();
  await shows(status, "INTERRUPTED");
  await picture(page, "collector-job-interrupted");
  await configure(name);
  await page.locator("#live", { hasText: "live" }).waitFor();
  await shows(status, "WAITING"); // the stream is open before it says so
  await stop();
  await page.locator("#live", { hasText: "ended" }).waitFor();
  assert.deepEqual(list.complaints, []);
});

test("the interface can be tried at /docs/", async (t) => {
  const { page, complaints } = await open(t, "/docs/", desktop);
  const operation = page.locator(".opblock", { has: page.locator('[data-path="/job/status/{id}"]') });
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByPlaceholder("id").fill("absent");
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .highlight-code", { hasText: '"INACTIVE"' }).first().waitFor();
  assert.deepEqual(complaints, []);
});

// refused waits until a page says that the server refuses what its script asks for.
async function refused(page, status, back) {
  const link = page.locator("#live a");
  await page.locator('#live[data-state="failed"]', { hasText: status === 401 ? "You are not signed in." : "Your role does not allow this." }).waitFor();
  await eventually(async () => assert.equal(await link.getAttribute("href"), `/.enablers/sign-in?to=${encodeURIComponent(back)}`));
}

test("pages that are refused say so and lead to the sign-in page", async (t) => {
  await configure("refused");
  for (const [status, paths] of [[401, ["/?after=a", "/live/refused"]], [403, ["/"]]]) {
    for (const path of paths) {
      const { page } = await open(t, path, desktop);
      await page.locator("#live", { hasText: "live" }).waitFor();
      await page.route(/\/jobs?[/?]/, (route) => route.fulfill({ status, body: "{}" }));
      if (path.startsWith("/live/")) await stop(); // which ends the stream of events, and the page asks anew
      await refused(page, status, path);
      await page.locator("#live a").focus();
      await page.waitForResponse((answer) => answer.status() === status);
      assert.equal(await page.evaluate(() => document.activeElement.textContent), await page.locator("#live a").textContent());
      await picture(page, `collector-refused-${status}`);
      await page.unroute(/\/jobs?[/?]/);
      await page.locator("#live", { hasText: path.startsWith("/live/") ? "ended" : "live" }).waitFor();
      if (path.startsWith("/live/")) await configure("refused");
    }
  }
  await stop();
});

test("a job whose stream of events is refused says so", async (t) => {
  await configure("refused");
  const { page } = await stage.open(t, "/", desktop);
  await page.route(/\/job\/(events|status)\//, (route) => route.fulfill({ status: 403, body: "{}" }));
  await page.goto(`${stage.address}/live/refused`);
  await refused(page, 403, "/live/refused");
  await stop();
});

test("the pages say when a server answers nothing over open connections, and go on when it does again", async (t) => {
  await configure("stopped");
  const job = (await stage.person(t, desktop)).page;
  await job.clock.install();
  await job.goto(`${stage.address}/live/stopped`);
  const list = (await open(t, "/", desktop)).page;
  for (const page of [job, list]) await page.locator("#live", { hasText: "live" }).waitFor();
  t.after(() => stage.server.kill("SIGCONT"));
  stage.server.kill("SIGSTOP");
  await list.locator('#live[data-state="failed"]', { hasText: "The server does not answer." }).waitFor();
  assert.equal(await job.locator("#live").textContent(), "live", "comments are seldom");
  await job.clock.fastForward(45_000);
  await job.locator('#live[data-state="failed"]', { hasText: "no answer, trying again" }).waitFor();
  stage.server.kill("SIGCONT");
  for (const page of [job, list]) await page.locator("#live", { hasText: "live" }).waitFor();

  // A job that ends while the page has no connection is shown as it ended.
  stage.server.kill("SIGSTOP");
  let ended;
  const end = new Promise((done) => { ended = done; });
  await job.route("**/job/status/**", async (route) => {
    await end;
    await route.continue();
  });
  await job.clock.fastForward(45_000);
  await job.locator('#live[data-state="failed"]', { hasText: "no answer, trying again" }).waitFor();
  stage.server.kill("SIGCONT");
  await stop();
  ended();
  await job.locator("#live", { hasText: "ended" }).waitFor();
  await shows(job.locator('h1 [data-field="status"]'), "INTERRUPTED");
});

test("the pages say when the server does not answer any more", async (t) => {
  await configure("last");
  const { page } = await open(t, "/live/last", desktop);
  await page.locator("#live", { hasText: "live" }).waitFor();
  await shows(page.locator('h1 [data-field="status"]'), "WAITING");
  const begin = Date.now();
  assert.equal(await stage.end("SIGINT"), 0);
  assert.ok(Date.now() - begin < 30_000, "an open page does not keep the server from ending");
  await page.locator("#live", { hasText: "no answer, trying again" }).waitFor();
  await shows(page.locator('h1 [data-field="status"]'), "WAITING"); // what is known stays
});
