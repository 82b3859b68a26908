// From an empty database to a key that works, as people do it who have never seen a shell.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { PASSWORD, browse, look, start } from "./server.mjs";

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

test("somebody sets the service up, makes a key that works, and signs out", async () => {
  const { url } = server.command("setup-link", "--origin", server.origin);
  const page = await browser.open();
  await page.goto(url);
  await look(page, "setup");
  await page.getByLabel("Your team").fill("Acme");
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.getByLabel("Your email").fill("ada@example.com");
  await page.getByLabel("A password").fill("passwordpassword");
  await page.getByRole("button", { name: "Set up and sign in" }).click();
  assert.match(await page.locator(".complaint").innerText(), /easy to guess/);
  assert.equal(await page.getByLabel("Your name").inputValue(), "Ada Lovelace");
  await look(page, "setup-refused");
  await page.getByLabel("A password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set up and sign in" }).click();
  assert.equal(await title(page), "Products");
  assert.equal(server.signIns(), 1, "it is in this database");
  await look(page, "products-empty");

  await page.getByRole("link", { name: "API keys" }).click();
  assert.equal(await title(page), "API keys");
  await look(page, "api-keys-empty");
  await page.getByLabel("What is it for?").fill("Web shop");
  await page.getByLabel("Catalog").selectOption("live");
  await page.getByLabel("It may").selectOption("read-write");
  // Many who use a computer press everything twice.
  await page.getByRole("button", { name: "Make the key" }).dblclick();
  const key = await page.locator("#made").innerText();
  await look(page, "api-keys-made");
  assert.equal(await page.getByRole("button", { name: "Revoke Web shop" }).count(), 1, "one key was made");
  const list = async () =>
    (await fetch(`${server.origin}/api/v1/products`, { headers: { Authorization: `Bearer ${key}` } })).status;
  assert.equal(await list(), 200);

  // The page as it is shown again has the key no more.
  await page.reload();
  assert.equal(await page.locator("#made").count(), 0);
  await page.getByRole("button", { name: "Revoke Web shop" }).click();
  await page.getByRole("cell", { name: "Revoked" }).waitFor();
  assert.equal(await list(), 401);

  await page.getByRole("link", { name: "Devices" }).click();
  await look(page, "devices");
  await page.getByRole("button", { name: "Sign out Ada Lovelace" }).click();
  assert.equal(await title(page), "Sign in");
  await look(page, "sign-in");
  await page.goBack();
  await page.reload();
  assert.equal(await title(page), "Sign in");
});

test("whoever has no scripts does the same", async () => {
  const page = await browser.open({ javaScriptEnabled: false });
  await page.goto(`${server.origin}/account/devices`);
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill("wrong wrong wrong wrong");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  assert.match(await page.locator(".complaint").innerText(), /is wrong/);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  assert.equal(await title(page), "Devices");
  await page.goto(server.origin);
  await page.getByRole("link", { name: "API keys" }).click();
  await page.getByLabel("What is it for?").fill("Trial");
  await page.getByRole("button", { name: "Make the key" }).click();
  assert.match(await page.locator("#made").innerText(), /^inv_test_/);
  assert.equal(await page.getByRole("button", { name: "Copy" }).isVisible(), false);
});

test("products are added, changed, imported and exported, with scripts and without", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.open({ javaScriptEnabled });
    await page.goto(server.origin);
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    const [name, sku] = [`Lamp ${javaScriptEnabled}`, `L-${javaScriptEnabled}`];

    await page.getByRole("link", { name: "Add a product" }).click();
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Price of one unit").fill("cheap");
    await page.getByLabel("Currency").fill("EUR");
    await page.getByRole("button", { name: "Add the product" }).click();
    assert.match(await page.locator(".complaint").innerText(), /must be a number/);
    if (javaScriptEnabled) await look(page, "product-refused");
    await page.getByLabel("Price of one unit").fill("39.90");
    await page.getByRole("button", { name: "Add the product" }).click();
    await page.getByRole("link", { name }).click();
    await page.getByLabel("SKU").fill(sku);
    await page.getByLabel("Description").fill("Two\nlines");
    if (javaScriptEnabled) await look(page, "product");
    await page.getByRole("button", { name: "Save" }).click();

    await page.getByRole("link", { name: "Import" }).click();
    if (javaScriptEnabled) await look(page, "import");
    const csv = `sku,name,unitPrice,currency\n${sku},${name},45,EUR\nN-${sku},Chair,1,EUR\nX-${sku},Desk,x,EUR\n`;
    const file = { name: "products.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
    await page.getByLabel("A CSV file").setInputFiles(file);
    await page.getByRole("button", { name: "Show what it would do" }).click();
    if (javaScriptEnabled) await look(page, "import-plan");
    await page.getByRole("button", { name: "Import 2 products" }).click();
    await page.getByRole("row", { name: /45 EUR/ }).first().waitFor();
    if (javaScriptEnabled) await look(page, "products");

    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export as CSV" }).click();
    const exported = await readFile(await (await download).path(), "utf8");
    assert.ok(exported.includes(`,${name},45,EUR,"Two\nlines",${sku},`), exported);

    await page.getByRole("link", { name }).click();
    await page.getByRole("button", { name: "Archive" }).click();
    assert.match(await page.getByRole("status").innerText(), /archived/);
    await page.close();
  }
});

test("whoever has no mouse signs in", async () => {
  const page = await browser.open();
  await page.goto(`${server.origin}/sign-in`);
  // The first field has the focus.
  await page.locator("#email:focus").waitFor();
  await page.keyboard.type("ada@example.com");
  await page.keyboard.press("Tab");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${server.origin}/teams/*/products`);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Skip to the content");
});

test("no page of another site sends a form here or holds one of these in a frame", async () => {
  const page = await browser.open();
  await page.goto(`${server.origin}/sign-in`);
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  // Another origin of the same site, to which the browser sends the cookie.
  const form = `<form method="post" action="${server.origin}/sign-out"><button>Win</button></form>`;
  const frame = `<iframe src="${server.origin}/account/devices"></iframe>`;
  const elsewhere = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(`<title>Elsewhere</title>${form}${frame}`);
  });
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  await page.goto(`http://localhost:${elsewhere.address().port}/`);
  assert.ok(!(await page.frames()[1].content()).includes("Devices"));
  const answer = page.waitForResponse(`${server.origin}/sign-out`);
  await page.getByRole("button").click();
  assert.equal((await answer).status(), 403);
  elsewhere.close();
  await page.goto(`${server.origin}/account/devices`);
  assert.equal(await title(page), "Devices");
});
