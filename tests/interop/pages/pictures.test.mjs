// The pictures of README.md are what the pages show: beside each is a file with its text, which the page must still have.
// Pixels are not compared, which another version of Chromium draws otherwise.

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { browse, setUp, start } from "./server.mjs";

// Seen from target/interop/pages/, where this runs.
const ROOT = new URL("../../../", import.meta.url);
const LARGEST = 60 * 1024;

let server, browser, page;

before(async () => {
  server = await start();
  browser = await browse();
  page = await browser.open({ viewport: { width: 1280, height: 800 } });
  await setUp(server, page);
});

after(async () => {
  server?.stop();
  await browser?.close();
});

/** Compares the text of the page with that of its picture, or takes both anew; the picture has what matters of the page. */
async function picture(name, clip) {
  const [png, txt] = ["png", "txt"].map((end) => new URL(`docs/pictures/${name}.${end}`, ROOT));
  const text = `${(await page.locator("body").innerText()).trim()}\n`;
  if (process.env.UPDATE_PICTURES === "1") {
    writeFileSync(png, await page.screenshot({ clip }));
    writeFileSync(txt, text);
  }
  const how = `docs/pictures/${name}.png is not what the page shows; UPDATE_PICTURES=1 tests/interop/run pages takes it anew`;
  assert.equal(text, readFileSync(txt, "utf8"), how);
  assert.ok(statSync(png).size < LARGEST, `${name}.png is too large for a page that many read`);
  assert.ok(readFileSync(new URL("README.md", ROOT), "utf8").includes(`docs/pictures/${name}.png`), "README.md shows it");
}

test("the picture of the keys is what their page shows", async () => {
  await page.getByRole("link", { name: "API keys" }).click();
  for (const [name, mode] of [["Web shop", "live"], ["Trial", "test"]]) {
    await page.getByLabel("What is it for?").fill(name);
    await page.getByLabel("Catalog").selectOption(mode);
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.locator("#made").waitFor();
    // Without the key itself, which is another one each time.
    await page.reload();
  }
  // The times, too; and they are short, so that a picture has all of the table.
  await page.locator("time").evaluateAll((times) => times.forEach((it) => (it.textContent = "3 Nov 2026")));
  await picture("api-keys", { x: 0, y: 0, width: 1280, height: 545 });
});

test("the picture of the consent is what its page shows", async () => {
  const redirectUri = "com.example.app:/signed-in";
  server.command("oauth-client", "create", "--id", "example-app", "--name", "Example app", "--redirect-uri", redirectUri);
  const request = new URLSearchParams({
    response_type: "code",
    client_id: "example-app",
    redirect_uri: redirectUri,
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
  });
  await page.goto(`${server.origin}/api/auth/mobile/authorize?${request}`);
  await page.getByRole("heading", { name: "Sign in to Example app?" }).waitFor();
  await picture("consent", { x: 320, y: 100, width: 640, height: 700 });
});
