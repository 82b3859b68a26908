// People sign in by an OpenID provider that others have made.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { provide } from "./provider.mjs";
import { browse, look, start } from "./server.mjs";

const PASSWORD = "lantern harbour tulip nine";

let server, browser, provider;

before(async () => {
  server = await start(async (origin) => {
    provider = await provide(origin);
    return provider.settings;
  });
  browser = await browse(provider.issuer);
});

after(async () => {
  server?.stop();
  provider?.stop();
  await browser?.close();
});

const title = (page) => page.locator("h1").innerText();

/** Signs in on the provider's own pages, agrees there if it asks, and waits to be back. */
async function signInThere(page, name) {
  await page.waitForURL((url) => url.origin === provider.issuer);
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("anything");
  await page.locator("button[type=submit]").click();
  const back = (url) => url.origin === server.origin;
  const asked = page.getByRole("button", { name: "Continue" }).waitFor();
  // Who is not asked does not wait for it.
  asked.catch(() => {});
  await Promise.race([asked, page.waitForURL(back)]);
  if (new URL(page.url()).origin === provider.issuer) {
    await page.getByRole("button", { name: "Continue" }).click();
    await page.waitForURL(back);
  }
}

test("somebody without a password signs in by it, and confirms by it what cannot be undone", async () => {
  server.command("user", "create", "--email", "ada@example.com", "--name", "Ada");
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.open({ javaScriptEnabled });
    page.setDefaultTimeout(10_000);
    await page.goto(`${server.origin}/account`);
    if (javaScriptEnabled) await look(page, "sign-in-provider");
    await page.getByRole("link", { name: "Sign in with Example ID" }).click();
    await signInThere(page, "ada");
    assert.equal(await title(page), "Account");
    assert.match(await page.locator("main").innerText(), /You sign in as ada@example.com/);
    if (javaScriptEnabled) await look(page, "account-provider");
    await page.getByRole("button", { name: "Unlink ada@example.com" }).click();
    assert.match(await page.locator(".complaint").innerText(), /last way to sign in/);

    await page.goto(`${server.origin}/account`);
    await page.getByRole("link", { name: "Link your Example ID account" }).click();
    // It knows already who this is.
    await page.waitForURL(`${server.origin}/account?done=linked`);
  }
});

test("a password and an identity are one account, and a proof by either counts", async () => {
  const { url } = server.command("user", "reset-link", "ada@example.com", "--origin", server.origin);
  const page = await browser.open();
  page.setDefaultTimeout(10_000);
  await page.goto(url);
  await page.getByLabel("A new password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set it and sign in" }).click();
  assert.match(await page.locator(".made").innerText(), /What else lets somebody in/);
  server.ageSignIns();
  await page.getByRole("button", { name: "Unlink ada@example.com" }).click();
  assert.equal(await title(page), "Confirm that it is you");
  await look(page, "confirm-provider");
  await page.getByRole("link", { name: "Confirm with Example ID" }).click();
  await signInThere(page, "ada");
  assert.equal(await title(page), "Account");
  // In this browser it knows who it is; to confirm, it asks all the same.
  server.ageSignIns();
  await page.getByRole("button", { name: "Unlink ada@example.com" }).click();
  await page.getByRole("link", { name: "Confirm with Example ID" }).click();
  await signInThere(page, "ada");
  await page.getByRole("button", { name: "Unlink ada@example.com" }).click();
  assert.match(await page.locator(".made").innerText(), /Nobody signs in to your account by it any more/);
});

test("who is not known there is told what to do, and who goes back too", async () => {
  const page = await browser.open();
  page.setDefaultTimeout(10_000);
  await page.goto(`${server.origin}/sign-in`);
  await page.getByRole("link", { name: "Sign in with Example ID" }).click();
  await signInThere(page, "nobody");
  assert.equal(await title(page), "This account is not linked to anybody here");
  await look(page, "provider-unknown");
  await page.getByRole("link", { name: "Go on" }).click();
  assert.equal(await title(page), "Sign in");

  const other = await browser.open();
  other.setDefaultTimeout(10_000);
  await other.goto(`${server.origin}/sign-in/provider`);
  await other.getByRole("link", { name: /Cancel/ }).click();
  await other.waitForURL((url) => url.origin === server.origin);
  assert.equal(await title(other), "You did not sign in there");
});

test("somebody who is invited joins by it", async () => {
  const team = server.command("team", "create", "--name", "Acme");
  const invite = ["--team", team.id, "--email", "bo@example.com", "--role", "member", "--origin", server.origin];
  const { url } = server.command("user", "invite", ...invite);
  const page = await browser.open();
  page.setDefaultTimeout(10_000);
  await page.goto(url);
  await look(page, "invitation-provider");
  await page.getByRole("link", { name: "Join with Example ID" }).click();
  await signInThere(page, "bo");
  await page.goto(`${server.origin}/account`);
  assert.match(await page.locator("main").innerText(), /Acme/);
});
