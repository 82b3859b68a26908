// A server with an empty database of its own, and a browser that complains of whatever it does not like.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
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

export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/**
 * A server on an empty database, with what `more` says of its origin as settings; `command` runs a command there and gives its
 * JSON, and `ageSignIns` has everybody have signed in an hour ago.
 */
export async function start(more = () => []) {
  const folder = mkdtempSync(join(tmpdir(), "invoicing-pages-"));
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const environment = { PATH: process.env.PATH, HOME: folder };
  const database = `sqlite:${join(folder, "invoicing.db")}`;
  const binary = process.env.INVOICING;
  const settings = ["--database", database, "--listen", `127.0.0.1:${port}`, "--origin", origin];
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
    const output = execFileSync(binary, [...words, "--json", "--database", database], { env: environment });
    return JSON.parse(output.toString());
  };
  const stop = () => {
    server.kill("SIGTERM");
    rmSync(folder, { recursive: true });
  };
  const ageSignIns = () => {
    const file = new DatabaseSync(join(folder, "invoicing.db"));
    file.exec("UPDATE browser_session SET signed_in_at = signed_in_at - 3600000");
    file.close();
  };
  return { origin, command, ageSignIns, stop };
}

/** A browser; each of its pages is closed with what it complained of, but not of the pages of `others`. */
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
}

/** What axe finds on a page, which is to be nothing; and how it looks, at two widths, in light and in dark. */
export async function look(page, name) {
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
