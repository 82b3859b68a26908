// Apps sign people in by openid-client, in a real browser: a desktop app that listens on loopback, and a phone's app with a
// scheme of its own. It discovers everything by the metadata (RFC 8414).

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import * as openid from "openid-client";
import { jsonFetch } from "./bridge.mjs";
import { browse, look, setUp, start } from "./server.mjs";

const CLIENT = "example-app";
const SCHEME = "com.example.app:/signed-in";

let server, browser, user;

before(async () => {
  server = await start();
  browser = await browse();
  server.command("oauth-client", "create", "--id", CLIENT, "--name", "Example app",
    "--redirect-uri", SCHEME, "--redirect-uri", "http://127.0.0.1/signed-in");
  user = await browser.open();
  await setUp(server, user);
});

after(async () => {
  server?.stop();
  await browser?.close();
});

/** The app's own view of the service, and an authorization request of its own. */
async function begin(redirectUri) {
  const options = { algorithm: "oauth2", execute: [openid.allowInsecureRequests] };
  const app = await openid.discovery(new URL(server.origin), CLIENT, undefined, openid.None(), options);
  const [verifier, state] = [openid.randomPKCECodeVerifier(), openid.randomState()];
  const url = openid.buildAuthorizationUrl(app, {
    redirect_uri: redirectUri,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
  });
  // The token endpoint alone takes JSON; revocation is a form.
  const tokenEndpoint = app.serverMetadata().token_endpoint;
  app[openid.customFetch] = (at, options) => (at === tokenEndpoint ? jsonFetch : fetch)(at, options);
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const exchange = (back) => openid.authorizationCodeGrant(app, back, checks);
  return { app, url, exchange };
}

/** Where an app on this machine is told what came of it. */
async function listener() {
  let heard;
  const told = new Promise((resolve) => (heard = resolve));
  const app = createServer((request, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end("<title>Done</title>You can close this page.");
    if (request.url.startsWith("/signed-in")) heard(request.url);
  });
  await new Promise((resolve) => app.listen(0, "127.0.0.1", resolve));
  const redirectUri = `http://127.0.0.1:${app.address().port}/signed-in`;
  const back = told.then((path) => new URL(path, redirectUri));
  return { redirectUri, back, close: () => app.close() };
}

const call = async (tokens) =>
  (await fetch(`${server.origin}/api/mobile/items/file/00000000-0000-0000-0000-000000000000/links`, {
    headers: { Authorization: `Bearer ${tokens.access_token}`, "X-Team-Id": "00000000-0000-0000-0000-000000000000" },
  })).status;

test("a desktop app signs in through a loopback redirect, until it is signed out on the page", async () => {
  const { redirectUri, back, close } = await listener();
  const { url, exchange } = await begin(redirectUri);
  const page = await user.context().newPage();
  await page.goto(url.href);
  await page.getByText("Example app").first().waitFor();
  await look(page, "consent");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  const tokens = await exchange(await back);
  close();
  // The token is good, and the team is none of hers.
  assert.equal(await call(tokens), 403);

  await page.goto(`${server.origin}/account/devices`);
  await look(page, "devices-app");
  await page.getByRole("list", { name: "Apps" }).getByRole("button").click();
  await page.getByText("No app is signed in").waitFor();
  assert.equal(await call(tokens), 401);
  await page.close();
});

test("a phone's app gets its code by its own scheme, and gives its tokens back", async () => {
  const { app, url, exchange } = await begin(SCHEME);
  const page = await user.context().newPage();
  await page.goto(url.href);
  const answered = page.waitForResponse((it) => it.request().method() === "POST");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  const answer = await answered;
  assert.equal(answer.status(), 303);
  const back = new URL(answer.headers().location);
  assert.equal(back.protocol, "com.example.app:");
  const tokens = await exchange(back);
  assert.equal(await call(tokens), 403);
  await openid.tokenRevocation(app, tokens.refresh_token);
  assert.equal(await call(tokens), 401);
  await page.close();
});

test("somebody who cancels, and another issuer's answer, give the app no tokens", async () => {
  const { redirectUri, back, close } = await listener();
  const { url, exchange } = await begin(redirectUri);
  const page = await user.context().newPage();
  await page.goto(url.href);
  await page.getByRole("button", { name: "Cancel" }).click();
  const refused = await back;
  close();
  await assert.rejects(exchange(refused), (error) => error.error === "access_denied");
  const mixedUp = new URL(refused);
  mixedUp.searchParams.delete("error");
  mixedUp.searchParams.set("code", "x");
  mixedUp.searchParams.set("iss", "https://other.example");
  await assert.rejects(exchange(mixedUp), (error) => /"iss"/.test(error.cause.message));
  await page.close();
});
