// The documentation pages in Chromium: they show both documents, their operations can be tried, and they neither load nor
// send anything from or to elsewhere, nor break their own content security policy.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";

const { BASE_URL, TEST_API_KEY, ACCESS_TOKEN, TEAM_ID, FILE_ID } = process.env;

// It runs as root in CI, and calls nobody by itself.
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let browser, page, elsewhere, complaints;

before(async () => {
  // Playwright gives it an empty profile.
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGUMENTS });
});

after(() => browser.close());

beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  elsewhere = [];
  complaints = [];
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== BASE_URL && protocol !== "data:") elsewhere.push(request.url());
  });
  // The browser complains here of what its policy forbids, too.
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
});

afterEach(async () => {
  await page.close();
  assert.deepEqual(elsewhere, [], "nothing is loaded from elsewhere, or sent there");
  assert.deepEqual(complaints, [], "nobody complains");
});

const operation = (id) => page.locator(`.opblock[id$="-${id}"]`);

/** Opens an operation, which makes it ready to be tried. */
async function open(id) {
  await operation(id).locator(".opblock-summary").click();
  await operation(id).getByRole("button", { name: "Execute" }).waitFor();
}

/** Gives the page this credential. */
async function authorize(credential) {
  await page.getByRole("button", { name: "Authorize", exact: true }).click();
  const dialog = page.locator(".modal-ux");
  await dialog.locator("input").fill(credential);
  await dialog.getByRole("button", { name: "Apply credentials" }).click();
  await dialog.getByRole("button", { name: "Close", exact: true }).click();
}

const parameter = (id, name) => operation(id).locator(`tr[data-param-name="${name}"]`);

/** Executes an operation that is open, and reads the answer off the page; `text` is its body as it is shown. */
async function execute(id) {
  await operation(id).getByRole("button", { name: "Execute" }).click();
  const answer = operation(id).locator(".live-responses-table .response");
  const status = await answer.locator(".response-col_status").innerText();
  const text = await answer.locator(".response-col_description .microlight").first().textContent();
  return { status: parseInt(status), body: JSON.parse(text), text };
}

/** What is in sight; with an operation, its answer. */
async function screenshot(name, id) {
  if (id) await operation(id).getByRole("button", { name: "Execute" }).evaluate((button) => button.scrollIntoView());
  await page.screenshot({ path: `${name}.png` });
}

/** The operations of a document, and those that the page shows. */
async function operations(path) {
  const document = await (await fetch(`${BASE_URL}${path}/openapi.json`)).json();
  const published = Object.values(document.paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
  await operation(published[0]).waitFor();
  const shown = await page.locator(".opblock").evaluateAll((blocks) => blocks.map(({ id }) => id.replace(/^operations-\w+-/, "")));
  return { published, shown };
}

test("the start of the documentation shows the catalog, and a link leads to the mobile API", async () => {
  await page.goto(`${BASE_URL}/docs`);
  const catalog = await operations("/api/v1");
  assert.deepEqual(catalog.shown, catalog.published);
  assert.equal(await page.title(), "Product catalog API");
  await screenshot("catalog");

  await page.getByRole("link", { name: "Mobile device-session API" }).click();
  await page.waitForURL("**/docs/mobile");
  const mobile = await operations("/api/mobile");
  assert.deepEqual(mobile.shown, mobile.published);
  await screenshot("mobile");
});

test("a product is created with a test key, and listed", async () => {
  await page.goto(`${BASE_URL}/docs/catalog`);
  await authorize(TEST_API_KEY);
  await open("create_product");
  const example = JSON.parse(await operation("create_product").locator("textarea").inputValue());
  await operation("create_product").locator("textarea").fill(JSON.stringify({ ...example, name: "Tried in a browser" }));
  const created = await execute("create_product");
  assert.equal(created.status, 201);
  assert.equal(created.body.data.name, "Tried in a browser");
  await screenshot("create", "create_product");

  await open("list_products");
  const listed = await execute("list_products");
  assert.equal(listed.status, 200);
  assert.deepEqual(listed.body.data.data[0], created.body.data);
  await screenshot("list", "list_products");
});

test("a price is sent as it was typed, and shown as it came", async () => {
  await page.goto(`${BASE_URL}/docs/catalog`);
  await authorize(TEST_API_KEY);
  await open("create_product");
  const price = "123456789.012345678901234567890";
  const body = `{ "name": "Exact", "unitPrice": ${price}, "currency": "EUR" }`;
  await operation("create_product").locator("textarea").fill(body);
  const { status, text } = await execute("create_product");
  assert.equal(status, 201);
  assert.ok(text.includes(`\n    "unitPrice": ${price},\n`), text);
});

test("on a telephone, a link leads to the operations, and nothing moves the page sideways", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${BASE_URL}/docs/catalog`);
  await operation("list_products").waitFor();
  await screenshot("telephone");
  await page.getByRole("link", { name: "Operations" }).click();
  // Swagger UI scrolls there by and by.
  await page.waitForFunction((top) => document.querySelector(top).getBoundingClientRect().top < 100, "#operations");
  await authorize(TEST_API_KEY);
  await open("list_products");
  assert.equal((await execute("list_products")).status, 200);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await screenshot("telephone-list", "list_products");
});

test("a mistake shows the answer of the server", async () => {
  await page.goto(`${BASE_URL}/docs/catalog`);
  await open("list_products");
  const { status, body } = await execute("list_products");
  assert.equal(status, 401);
  assert.equal(body.error.code, "invalid_token");
  assert.match(complaints.shift(), /status of 401/);
});

test("share links are listed with an access token", async () => {
  await page.goto(`${BASE_URL}/docs/mobile`);
  await authorize(ACCESS_TOKEN);
  await open("list_links");
  await parameter("list_links", "targetType").locator("select").selectOption("file");
  await parameter("list_links", "id").locator("input").fill(FILE_ID);
  await parameter("list_links", "X-Team-Id").locator("input").fill(TEAM_ID);
  const { status, body } = await execute("list_links");
  assert.equal(status, 200);
  assert.equal(body.data.data.length, 2);
  await screenshot("links", "list_links");
});

test("an address cannot make the page show, or call, something else", async () => {
  const other = encodeURIComponent("https://elsewhere.example/openapi.json");
  await page.goto(`${BASE_URL}/docs/catalog?url=${other}&configUrl=${other}&urls.primaryName=other`);
  const { published, shown } = await operations("/api/v1");
  assert.deepEqual(shown, published);
});

test("the policy forbids other scripts, evaluation and other servers", async () => {
  await page.goto(`${BASE_URL}/docs/catalog`);
  const forbidden = await page.evaluate(async () => {
    const directives = [];
    const all = new Promise((done) => {
      addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
        if (directives.push(effectiveDirective) === 3) done();
      });
    });
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.head.append(script);
    setTimeout("window.ran = true");
    fetch("https://elsewhere.example/").catch(() => {});
    await all;
    return { directives: directives.sort(), ran: "ran" in window };
  });
  assert.deepEqual(forbidden, { directives: ["connect-src", "script-src", "script-src-elem"], ran: false });
  complaints = elsewhere = [];
});

test("a key is kept for its tab and its document, until it is logged out", async () => {
  await page.goto(`${BASE_URL}/docs/catalog`);
  await authorize(TEST_API_KEY);
  await page.reload();
  await open("list_products");
  assert.equal((await execute("list_products")).status, 200);
  assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]), ["", 0, 1]);

  const other = await browser.newPage();
  await other.goto(`${BASE_URL}/docs/catalog`);
  assert.equal(await other.evaluate(() => sessionStorage.length), 0);
  await other.close();

  await page.goto(`${BASE_URL}/docs/mobile`);
  await open("list_links");
  await page.getByRole("button", { name: "Authorize", exact: true }).click();
  assert.equal(await page.locator(".modal-ux input").inputValue(), "");

  await page.goto(`${BASE_URL}/docs/catalog`);
  await page.getByRole("button", { name: "Authorize", exact: true }).click();
  await page.locator(".modal-ux").getByRole("button", { name: "Remove authorization" }).click();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test("the list beside the document leads to each operation and each part", async () => {
  await page.goto(`${BASE_URL}/docs/catalog`);
  const { published } = await operations("/api/v1");
  const list = page.getByRole("navigation", { name: "On this page" });
  const links = await list.getByRole("link").allInnerTexts();
  assert.equal(links.filter((link) => /^(GET|POST|PATCH|DELETE)/.test(link)).length, published.length);

  await list.getByRole("link", { name: "Archive a product" }).click();
  await operation("archive_product").getByRole("button", { name: "Execute" }).waitFor();
  const top = (locator) => locator.evaluate((element) => element.getBoundingClientRect().top);
  assert.ok((await top(operation("archive_product"))) < 900);
  await list.getByRole("link", { name: "Rate limits" }).click();
  assert.ok(Math.abs(await top(page.getByRole("heading", { name: "Rate limits" }))) < 100);
  assert.ok((await top(list)) >= 0, "the list stays in sight");
});

test("texts are as wide as they read well, in light and in dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${BASE_URL}/docs/catalog`);
    const text = page.locator(".info .renderedMarkdown p").first();
    await text.waitFor();
    assert.ok((await text.evaluate((element) => element.clientWidth)) <= 46 * 16);
    const [ink, paper] = await page.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.body);
      return [color, backgroundColor].map((it) => it.match(/\d+/g).reduce((sum, part) => sum + Number(part), 0));
    });
    assert.equal(ink > paper, colorScheme === "dark");
    await screenshot(`catalog-${colorScheme}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await screenshot(`telephone-${colorScheme}`);
    await page.setViewportSize({ width: 1280, height: 1000 });
    await open("create_product");
    for (const part of [".headers .header-col", ".examples-select__section-label"]) {
      const text = operation("create_product").locator(part).first();
      const colours = await text.evaluate((element) => [element, document.body].map((it) => getComputedStyle(it).color));
      assert.equal(colours[0], colours[1], `${part} in ${colorScheme}`);
    }
  }
});
