// Lighthouse, on a phone and a slow line as it simulates them: each score is 95 or more (docs/decisions.md, W30).

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import lighthouse from "lighthouse";
import { chromium } from "playwright-core";
import { ARGUMENTS, CHROMIUM, freePort, setUp, start } from "./server.mjs";

const LEAST = 0.95;

let server, context, folder, port;

before(async () => {
  server = await start();
  folder = mkdtempSync(join(tmpdir(), "invoicing-lighthouse-"));
  port = await freePort();
  const args = [...ARGUMENTS, `--remote-debugging-port=${port}`];
  context = await chromium.launchPersistentContext(folder, { executablePath: CHROMIUM, args });
});

after(async () => {
  await context.close();
  server.stop();
  rmSync(folder, { recursive: true });
});

/** The scores of a page, as whoever is signed in in the browser sees it, and what is wrong with it. */
async function scores(path) {
  const options = {
    port,
    logLevel: "error",
    onlyCategories: ["performance", "accessibility", "best-practices"],
    // What the other tests have signed in stays so.
    disableStorageReset: true,
  };
  const { lhr } = await lighthouse(`${server.origin}${path}`, options);
  assert.equal(new URL(lhr.finalDisplayedUrl).pathname, path, "it was not led elsewhere");
  const failed = Object.values(lhr.audits).filter((it) => it.score !== null && it.score < 0.9);
  return { categories: lhr.categories, failed: failed.map((it) => `${it.id}: ${it.title}`) };
}

async function good(path) {
  const { categories, failed } = await scores(path);
  for (const { id, score } of Object.values(categories)) {
    assert.ok(score >= LEAST, `${path}: ${id} is ${score}\n${failed.join("\n")}`);
  }
}

test("the pages are quick, accessible and well made", async () => {
  await good("/sign-in");
  const page = await context.newPage();
  await setUp(server, page);
  const products = new URL(page.url()).pathname;
  const team = products.replace("/products", "");
  await page.close();
  const settings = [`${team}/settings/integrations/api-keys`, `${team}/settings/members`];
  for (const path of [products, `${products}/new`, ...settings, "/account", "/account/devices"]) {
    await good(path);
  }
});
