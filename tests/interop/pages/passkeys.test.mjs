// A passkey from the page that asks for it to the page that forgets it, by an authenticator that Chromium plays.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browse, look, PASSWORD, setUp, start } from "./server.mjs";

let server, browser;

before(async () => {
  server = await start();
  browser = await browse();
});

after(async () => {
  server?.stop();
  await browser?.close();
});

const title = (page) => page.locator("h1").innerText();

/** A phone that is held by its owner; `presses` says whether its owner says yes. */
async function phone(page) {
  const debug = await page.context().newCDPSession(page);
  await debug.send("WebAuthn.enable");
  const options = {
    protocol: "ctap2",
    transport: "internal",
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  };
  const { authenticatorId } = await debug.send("WebAuthn.addVirtualAuthenticator", { options });
  return {
    presses: (isUserVerified) => debug.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    forget: () => debug.send("WebAuthn.clearCredentials", { authenticatorId }),
    has: async () => (await debug.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
  };
}

test("somebody adds a passkey, signs in and confirms by it, and removes it", async () => {
  const page = await browser.open();
  const device = await phone(page);
  await setUp(server, page);
  await page.getByRole("link", { name: "Account" }).click();
  await look(page, "account");
  await page.getByRole("link", { name: "Add a passkey" }).click();
  await look(page, "passkey-add");
  const make = page.getByRole("button", { name: "Make the passkey" });
  await make.click();
  assert.equal((await device.has()).length, 0, "it wants a name first");
  await page.getByLabel("A name for it").fill("My phone");
  await make.click();
  await page.getByText("You can sign in by the new passkey").waitFor();
  await look(page, "passkey-added");
  const [made] = await device.has();
  assert.equal(made.isResidentCredential, true);
  assert.equal(made.rpId, "localhost");

  // The same device has one already, and says so.
  await page.getByRole("link", { name: "Add a passkey" }).click();
  await page.getByLabel("A name for it").fill("Again");
  await make.click();
  await page.getByText("This device has a passkey for your account already").waitFor();

  await page.getByRole("button", { name: "Sign out Ada Lovelace" }).click();
  assert.equal(await title(page), "Sign in");
  await look(page, "sign-in-passkey");
  const enter = page.getByRole("button", { name: "Sign in with a passkey" });
  await device.presses(false);
  await enter.click();
  await page.getByText("No passkey was used").waitFor();
  await device.presses(true);
  await enter.click();
  await page.waitForURL(/\/products$/);

  server.ageSignIns();
  await page.goto(`${server.origin}/account`);
  await page.getByRole("button", { name: "Remove My phone" }).click();
  assert.equal(await title(page), "Confirm that it is you");
  await look(page, "confirm-passkey");
  await page.getByRole("button", { name: "Confirm with a passkey" }).click();
  await page.getByText("The passkey is removed").waitFor();

  // The device still has it, but it opens nothing.
  await page.getByRole("button", { name: "Sign out Ada Lovelace" }).click();
  await enter.click();
  await page.getByText("This passkey is not accepted here").waitFor();
  assert.equal(await title(page), "Sign in");
});

test("somebody whose sign-in is old confirms by a passkey to add another one", async () => {
  const page = await browser.open();
  const device = await phone(page);
  await page.goto(`${server.origin}/sign-in`);
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  const make = page.getByRole("button", { name: "Make the passkey" });
  await page.goto(`${server.origin}/account/passkeys`);
  await page.getByLabel("A name for it").fill("One");
  // The key does what the button does.
  await page.getByLabel("A name for it").press("Enter");
  await page.getByText("You can sign in by the new passkey").waitFor();
  assert.equal((await device.has()).length, 1);
  await page.getByRole("link", { name: "Add a passkey" }).click();
  await page.getByLabel("A name for it").fill("Two");
  // Another device, which knows of none.
  await device.forget();
  server.ageSignIns();
  await make.click();
  await page.getByRole("heading", { name: "Confirm that it is you" }).waitFor();
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Confirm", exact: true }).click();
  await page.getByText("You can sign in by the new passkey").waitFor();
  server.ageSignIns();
  await page.getByRole("link", { name: "Add a passkey" }).click();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByRole("button", { name: "Confirm with a passkey" }).click();
  await page.getByLabel("A name for it").waitFor();
});

test("a page that was open for long asks for another challenge", async () => {
  const page = await browser.open();
  await phone(page);
  // The clock of the page is five minutes ahead.
  await page.addInitScript(() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() + 5 * 60 * 1000;
  });
  await page.goto(`${server.origin}/sign-in?next=/account/devices`);
  const challenge = () => page.locator("input[name=challenge]").inputValue();
  const old = await challenge();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.waitForURL(/anew=1/);
  assert.notEqual(await challenge(), old);
  assert.equal(await page.locator("input[name=next]").first().inputValue(), "/account/devices");
});

test("whoever has no scripts is offered no passkey", async () => {
  const page = await browser.open({ javaScriptEnabled: false });
  await page.goto(`${server.origin}/sign-in`);
  assert.equal(await page.getByRole("button", { name: "passkey" }).count(), 0);
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.goto(`${server.origin}/account/passkeys`);
  assert.ok(await page.getByText("Passkeys need scripts").isVisible());
});
