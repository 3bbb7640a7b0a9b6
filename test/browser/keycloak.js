// Tries the portal of an apimanager whose people are those of a real Keycloak, at
// Keycloak's own pages, in Chromium. The test in test/interop/keycloak starts both and
// runs this with where they are: PORTAL, GATEWAY, ISSUER (of the realm), PASSWORD (of
// its demo users) and GATEWAY_SECRET (of its client kong).
//
// CHROMIUM says where the browser is. With SCREENSHOTS=DIR it leaves pictures there.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Stage, desktop, phone, picture } from "./stage.js";

const { PORTAL: portal, GATEWAY: gateway, ISSUER: issuer, PASSWORD: password, GATEWAY_SECRET: secret } = process.env;
const stage = new Stage();
let service; // that the published API is of
let seen = []; // by it

before(async () => {
  service = createServer((request, response) => {
    seen.push(request.headers);
    response.setHeader("Content-Type", "application/json");
    response.end('{"sky": "blue"}');
  });
  await new Promise((listening) => service.listen(0, "127.0.0.1", listening));
  await stage.join(portal);
});

after(async () => {
  await stage.close();
  service?.closeAllConnections();
  service?.close();
});

// open opens the portal in a browser of its own, with cookies of its own. What
// Keycloak's pages load is theirs.
const open = (t, options) => stage.open(t, "/", options, gateway, new URL(issuer).origin, "data:", "blob:");

// entrance is the portal's link to Keycloak. The header has one, too.
const entrance = (page) => page.locator("main").getByRole("link", { name: "Sign in" });

// signIn follows the portal's link to Keycloak, and signs in there.
async function signIn(page, user, word = password) {
  if (!page.url().startsWith(issuer)) await entrance(page).click();
  await page.waitForURL(`${issuer}/**`);
  await page.getByLabel("Username").fill(user);
  await page.getByRole("textbox", { name: "Password" }).fill(word);
  await page.getByRole("button", { name: "Sign In" }).click();
}

const definition = {
  openapi: "3.0.3",
  info: { title: "Weather", version: "1.0", description: "What the *sky* does." },
  servers: [], // known when the service listens
  paths: {
    "/weather/warnings": {
      get: {
        tags: ["sky"], summary: "Warnings, for those who are signed in", responses: { 200: { description: "The warnings." } },
        "x-kong-plugin-oidc": {
          name: "oidc", enabled: true,
          config: {
            client_id: "kong", client_secret: secret, bearer_only: "yes", realm: "Portal",
            introspection_endpoint: `${issuer}/protocol/openid-connect/token/introspect`, discovery: `${issuer}/.well-known/openid-configuration`,
          },
        },
      },
    },
  },
};

test("a developer signs in at Keycloak, publishes, tries, and is signed out there too", async (t) => {
  const { page, complaints } = await open(t, desktop);
  await entrance(page).click();
  await page.waitForURL(`${issuer}/**`);
  await picture(page, "keycloak-sign-in-desktop");
  await signIn(page, "demodeveloper", "not the password");
  await page.getByText("Invalid username or password.").waitFor();
  await signIn(page, "demodeveloper");
  await page.locator(".person strong", { hasText: "demodeveloper" }).waitFor();
  assert.equal(new URL(page.url()).origin, portal);
  assert.equal(new URL(page.url()).search, "", "the code does not stay in the address");
  assert.equal(await page.locator(".person .role").textContent(), "Developer");

  definition.servers = [{ url: `http://127.0.0.1:${service.address().port}` }];
  await page.getByLabel("Enabler’s name").fill("weather");
  await page.getByLabel("Enabler’s description").fill("Warnings for the edge");
  await page.getByLabel("OpenAPI file").setInputFiles({ name: "weather.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(definition)) });
  await page.getByRole("button", { name: "Publish to the gateway" }).click();
  await page.locator('[data-enabler="weather"] a').click();

  const operation = page.locator(".opblock", { hasText: "/weather/warnings" });
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
  assert.equal(seen.length, 1);
  assert.match(seen[0].authorization, /^Bearer ey/);
  const claims = JSON.parse(Buffer.from(seen[0]["x-userinfo"], "base64"));
  assert.equal(claims.username, "demodeveloper");
  assert.equal(claims.iss, issuer);
  await page.locator("#send-token").uncheck();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .response-col_status", { hasText: "401" }).waitFor();
  assert.equal(seen.length, 1, "the service was not asked");
  await picture(page, "keycloak-tried-desktop");
  assert.equal((await page.content()).includes(secret), false);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${portal}/`);
  await entrance(page).click();
  await page.waitForURL(`${issuer}/**`);
  await page.getByRole("textbox", { name: "Password" }).waitFor();
  await page.getByLabel("Username").waitFor(); // Keycloak has ended the login session
  await page.goto(`${portal}/`);
  await entrance(page).waitFor();
  // The browser itself says so of the request without a token.
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 401")), []);
});

test("an open caller sees the library on a phone, and cannot publish", async (t) => {
  const { page, complaints } = await open(t, phone);
  await signIn(page, "demoopencaller");
  await page.locator(".person strong", { hasText: "demoopencaller" }).waitFor();
  assert.equal(await page.locator(".person .role").textContent(), "Open-Caller");
  await page.locator('[data-enabler="weather"]').waitFor();
  assert.equal(await page.locator("#upload").count(), 0);
  await picture(page, "keycloak-open-caller-phone");
  const status = await page.evaluate(async (file) => {
    const body = new FormData();
    body.set("action", "publish");
    body.set("enabler", "mine");
    body.set("upload_file", new Blob([file]), "api.json");
    return (await fetch("/apis", { method: "POST", body })).status;
  }, JSON.stringify(definition));
  assert.equal(status, 403);
  await page.getByRole("link", { name: "weather" }).click();
  await page.locator(".opblock").first().waitFor();
  assert.equal(await page.getByRole("heading", { name: "Manage version" }).count(), 0);
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 403")), []);
});

test("a user who is signed in at Keycloak types the password once", async (t) => {
  const { page } = await open(t, desktop);
  await signIn(page, "demouser");
  await page.locator(".person strong", { hasText: "demouser" }).waitFor();
  await page.context().clearCookies({ domain: "127.0.0.1", path: "/" });
  await page.goto(`${portal}/`);
  await entrance(page).click();
  await page.locator(".person strong", { hasText: "demouser" }).waitFor();
  assert.equal(new URL(page.url()).origin, portal);
});
