// A server with an empty database of its own, and a browser that complains of whatever it does not like.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core");

// It runs as root in CI, and calls nobody by itself.
export const CHROMIUM = "/usr/bin/chromium";
export const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// `sqlite` or `postgres`, as for the tests in Rust; `run` gives the address of the cluster.
const ENGINE = process.env.INVOICING_TEST_DATABASE ?? "sqlite";
const CLUSTER = process.env.INVOICING_TEST_CLUSTER;

export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** An empty database: its address, and how many rows a statement gives there, whatever the server says. */
function database(folder) {
  if (ENGINE === "postgres") {
    const psql = (url, statement) =>
      execFileSync("psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", statement], { encoding: "utf8" });
    const name = `pages_${randomUUID().replaceAll("-", "")}`;
    psql(`${CLUSTER}/postgres`, `CREATE DATABASE ${name}`);
    const url = `${CLUSTER}/${name}`;
    return { url, rows: (statement) => psql(url, statement).split("\n").length - 1 };
  }
  const path = join(folder, "invoicing.db");
  const rows = (statement) => {
    const file = new DatabaseSync(path);
    // The server may be writing.
    file.exec("PRAGMA busy_timeout = 10000");
    const { length } = file.prepare(statement).all();
    file.close();
    return length;
  };
  return { url: `sqlite:${path}`, rows };
}

/**
 * A server on an empty database, with what `more` says of its origin as settings; `command` runs a command there and gives its
 * JSON, `signIns` counts the browsers that are signed in, and `ageSignIns` has everybody have signed in an hour ago.
 */
export async function start(more = () => []) {
  const folder = mkdtempSync(join(tmpdir(), "invoicing-pages-"));
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const environment = { PATH: process.env.PATH, HOME: folder };
  const { url, rows } = database(folder);
  const binary = process.env.INVOICING;
  const settings = ["--database", url, "--listen", `127.0.0.1:${port}`, "--origin", origin];
  settings.push(...(await more(origin)));
  const server = spawn(binary, ["serve", ...settings], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  await new Promise((resolve, reject) => {
    let log = "";
    server.stderr.on("data", (text) => {
      log += text;
      if (log.includes('"listening"')) resolve();
    });
    server.on("exit", () => reject(new Error(log)));
  });
  const command = (...words) => {
    const output = execFileSync(binary, [...words, "--json", "--database", url], { env: environment });
    return JSON.parse(output.toString());
  };
  const stop = () => {
    server.kill("SIGTERM");
    rmSync(folder, { recursive: true });
  };
  const signIns = () => rows("SELECT 1 FROM browser_session");
  const ageSignIns = () => {
    const aged = rows("UPDATE browser_session SET signed_in_at = signed_in_at - 3600000 RETURNING 1");
    assert.ok(aged > 0, "somebody is signed in");
  };
  return { origin, command, signIns, ageSignIns, stop };
}

/**
 * A browser; it is closed with what its pages complained of, but not those of `others`. Stop the servers first: a complaint
 * is an error, and nothing ends while they run.
 */
export async function browse(others = "none") {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
  const complaints = [];
  const open = async (options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    // The browser complains here of what the policy forbids, too. An answer of 4xx is no mistake of a page, nor what
    // others cannot do with one.
    page.on("console", (message) => {
      const expected = /^(Failed to load resource|Framing '[^']*' violates)/;
      const ours = !message.location().url.startsWith(others);
      if (ours && !expected.test(message.text())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    return page;
  };
  const close = async () => {
    await browser.close();
    assert.deepEqual(complaints, [], "nobody complains");
  };
  return { open, close };
}

export const EMAIL = "ada@example.com";
export const PASSWORD = "lantern harbour tulip nine";

/** Has Ada set the service up, who is signed in then. */
export async function setUp(server, page) {
  const { url } = server.command("setup-link", "--origin", server.origin);
  await page.goto(url);
  await page.getByLabel("Your team").fill("Acme");
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.getByLabel("Your email").fill(EMAIL);
  await page.getByLabel("A password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set up and sign in" }).click();
  await page.getByRole("heading", { name: "Products" }).waitFor();
  assert.equal(server.signIns(), 1, "it is in this database");
}

/**
 * What axe finds on a page, which is to be nothing; and how it looks, at two widths, in light and in dark. Once is enough: a
 * page does not look otherwise on PostgreSQL.
 */
export async function look(page, name) {
  if (ENGINE === "postgres") return;
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: `${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
    await page.setViewportSize({ width: 320, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 320, `${name} is ${wide} pixels wide at 320`);
    // By the protocol of the debugger, which no policy of a page forbids.
    const session = await page.context().newCDPSession(page);
    const { readFileSync } = await import("node:fs");
    await session.send("Runtime.evaluate", { expression: readFileSync(AXE, "utf8") });
    const { result } = await session.send("Runtime.evaluate", {
      expression: "axe.run().then((found) => JSON.stringify(found.violations.map((it) => [it.id, it.nodes.map((node) => node.html)])))",
      awaitPromise: true,
    });
    assert.equal(result.value, "[]", `${name} in ${colorScheme}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}
