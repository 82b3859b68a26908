// Pages of other origins in Chromium: one that `cors_origins` lists calls the operations with `fetch`, and one that it does
// not list is kept from all of it by the browser. The server is a demo of its own, since its settings name the page's port.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

// As src/cli/demo/testing.md gives them.
const KEY = "inv_live_DemoReadWrite00000000000000000000000000000041Ct8q";
const TOKEN = "demo-access-token-0000000000000000000000000";
const TEAM = "01900000-0000-7000-8000-000000000001";
const FILE = "01900000-0000-7000-8000-000000000003";

let browser, server, url;
const sites = [];

/** A site with an empty page, on a port of its own; its origin. */
async function site() {
  const site = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!DOCTYPE html>"));
  sites.push(site.listen(0, "127.0.0.1"));
  await once(site, "listening");
  return `http://127.0.0.1:${site.address().port}`;
}

let listed, other;

before(async () => {
  [listed, other] = [await site(), await site()];
  const { INVOICING_DATABASE, ...env } = process.env;
  const settings = ["--listen", "127.0.0.1:0", "--cors-origins", listed, "--log-format", "json"];
  server = spawn(process.env.INVOICING, ["demo", "--fixed", ...settings], { env, stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: server.stderr })) {
    ({ url } = JSON.parse(line));
    if (url) break;
  }
  server.stderr.resume();
  const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
});

after(async () => {
  await browser?.close();
  server?.kill();
  sites.forEach((site) => site.close());
});

/** What `fetch` of a page of `origin` gets of the server. */
async function fetched(origin, path, options = {}) {
  const page = await browser.newPage();
  await page.goto(origin);
  const result = await page.evaluate(
    async ([url, options]) => {
      try {
        const answer = await fetch(url, options);
        const { status, headers } = answer;
        return { status, headers: Object.fromEntries(headers), text: await answer.text() };
      } catch (error) {
        return { refused: error.name };
      }
    },
    [`${url}${path}`, options],
  );
  await page.close();
  return result;
}

const authorization = `Bearer ${KEY}`;

test("a listed page creates a product, and reads the headers of the answer", async () => {
  const created = await fetched(listed, "/api/v1/products", {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "idempotency-key": "from-a-page" },
    body: JSON.stringify({ name: "From a page", unitPrice: 1, currency: "EUR" }),
  });
  assert.equal(created.status, 201);
  const { id } = JSON.parse(created.text).data;
  assert.match(created.headers.location, new RegExp(id));
  assert.ok(created.headers.ratelimit && created.headers["x-request-id"], JSON.stringify(created.headers));

  const path = `/api/v1/products/${id}`;
  const change = { method: "PATCH", headers: { authorization, "content-type": "application/json" }, body: '{"name":"New"}' };
  assert.equal((await fetched(listed, path, change)).status, 200);
  assert.equal((await fetched(listed, path, { method: "DELETE", headers: { authorization } })).status, 204);
});

test("a listed page reads errors, links and the documents", async () => {
  assert.equal((await fetched(listed, "/api/v1/products")).status, 401);
  const headers = { authorization: `Bearer ${TOKEN}`, "x-team-id": TEAM };
  const links = await fetched(listed, `/api/mobile/items/file/${FILE}/links`, { headers });
  assert.equal(links.status, 200);
  for (const path of ["/api/v1", "/api/mobile"]) {
    const document = await fetched(listed, `${path}/openapi.json`);
    assert.equal(JSON.parse(document.text).openapi, "3.0.3");
  }
});

test("a page that is not listed gets nothing, and no page sends cookies", async () => {
  const headers = { authorization };
  for (const path of ["/api/v1/products", "/api/v1/openapi.json"]) {
    assert.deepEqual(await fetched(other, path, { headers }), { refused: "TypeError" }, path);
    assert.deepEqual(await fetched(other, path), { refused: "TypeError" }, path);
  }
  const cookies = { credentials: "include", headers };
  assert.deepEqual(await fetched(listed, "/api/v1/products", cookies), { refused: "TypeError" });
});

test("a listed page does not read the documentation pages", async () => {
  assert.deepEqual(await fetched(listed, "/docs/catalog"), { refused: "TypeError" });
});
