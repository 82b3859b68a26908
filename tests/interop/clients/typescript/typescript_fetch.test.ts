// The scenario, by the client that openapi-generator makes for TypeScript (typescript-fetch).

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import * as catalog from "./typescript-fetch/catalog/index.js";
import * as mobile from "./typescript-fetch/mobile/index.js";
import { signIn, variable } from "./environment.js";

const basePath = variable("BASE_URL");
const products = (accessToken: string) => new catalog.ProductsApi(new catalog.Configuration({ basePath, accessToken }));
const api = products(variable("API_KEY"));
const links = (accessToken: string) => new mobile.LinksApi(new mobile.Configuration({ basePath, accessToken }));
const sessions = new mobile.SessionsApi(new mobile.Configuration({ basePath }));
const [clientId, redirectUri] = [variable("CLIENT_ID"), variable("REDIRECT_URI")];

const newProduct = (more: Partial<catalog.CreateProduct> = {}): catalog.CreateProduct => ({
  name: "Stamp",
  unitPrice: 0.1,
  currency: catalog.CurrencyCode.Eur,
  ...more,
});

async function refused(code: string, call: Promise<unknown>): Promise<void> {
  const error = await call.then(
    () => assert.fail(`${code} was expected`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof catalog.ResponseError || error instanceof mobile.ResponseError)) throw error;
  const body = await error.response.json();
  assert.equal(typeof body.error === "string" ? body.error : body.error.code, code);
}

test("create with a price of 0.1 and an idempotency key, replay, clear with null", async () => {
  const request = {
    idempotencyKey: randomUUID(),
    createProduct: newProduct({ description: "Self-adhesive", sku: randomUUID() }),
  };
  const first = (await api.createProduct(request)).data;
  assert.equal(first.unitPrice, 0.1);
  const again = await api.createProductRaw(request);
  assert.equal(again.raw.headers.get("Idempotency-Replayed"), "true");
  assert.deepEqual((await again.value()).data, first);
  const cleared = (await api.updateProduct({ id: first.id, updateProduct: { description: null } })).data;
  assert.equal(cleared.description, null);
  assert.equal(cleared.sku, first.sku);
});

test("walk all pages", async () => {
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    made.unshift((await api.createProduct({ createProduct: newProduct() })).data.id);
  }
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = (await api.listProducts({ limit: 2, after })).data;
    seen.push(...page.data.map((product) => product.id));
    after = page.nextCursor ?? undefined;
    assert.equal(page.hasMore, after !== undefined);
  } while (after !== undefined);
  assert.deepEqual(seen.slice(0, 5), made);
  assert.equal(new Set(seen).size, seen.length);
});

test("each error of the catalog has its code", async () => {
  const reader = products(variable("READ_ONLY_API_KEY"));
  const { id, sku } = (await api.createProduct({ createProduct: newProduct({ sku: randomUUID() }) })).data;
  await refused("invalid_body", api.createProduct({ createProduct: newProduct({ name: "", unitPrice: -1 }) }));
  await refused("invalid_query", api.listProducts({ limit: 101 }));
  await refused("invalid_path", api.getProduct({ id: "nonsense" }));
  const idempotencyKey = "with a space";
  await refused("invalid_header", api.createProduct({ idempotencyKey, createProduct: newProduct() }));
  await refused("invalid_token", products("nobody").listProducts());
  await refused("scope_insufficient", reader.createProduct({ createProduct: newProduct() }));
  await refused("product_not_found", api.getProduct({ id: randomUUID() }));
  await refused("duplicate_sku", api.createProduct({ createProduct: newProduct({ sku }) }));
  await refused("body_too_large", api.createProduct({ createProduct: newProduct({ name: "x".repeat(70_000) }) }));
  const asText: catalog.InitOverrideFunction = async ({ init }) => ({
    headers: { ...init.headers, "Content-Type": "text/plain" },
  });
  await refused("unsupported_media_type", api.createProduct({ createProduct: newProduct() }, asText));
  const again = { idempotencyKey: randomUUID(), createProduct: newProduct() };
  await api.createProduct(again);
  await refused("idempotency_key_reused", api.createProduct({ ...again, createProduct: newProduct({ taxRate: 7 }) }));
  await api.archiveProduct({ id });
  await refused("already_archived", api.archiveProduct({ id }));
});

function begin(changed: Partial<mobile.AuthorizationCodeGrant> = {}) {
  const { code, verifier } = signIn();
  const grant = { grantType: "authorization_code", code, codeVerifier: verifier, redirectUri, clientId, ...changed };
  return sessions.exchangeToken({ tokenRequest: { ...grant, grantType: "authorization_code" } });
}

function refresh(refreshToken: string) {
  return sessions.exchangeToken({ tokenRequest: { grantType: "refresh_token", refreshToken, clientId } });
}

test("sign in, refresh, and list the links", async () => {
  const { refreshToken } = await begin();
  const { accessToken } = await refresh(refreshToken);
  const item = { targetType: mobile.TargetType.File, id: variable("FILE_ID"), xTeamId: variable("TEAM_ID") };
  assert.equal((await links(accessToken).listLinks(item)).data.data.length, 2);
});

test("each error of devices has its code", async () => {
  await refused("invalid_grant", begin({ codeVerifier: "x".repeat(43) }));
  await refused("invalid_client", begin({ clientId: "nobody" }));
  await refused("invalid_request", begin({ codeVerifier: "short" }));
  await refused("invalid_grant", refresh("nonsense"));
  const item = { targetType: mobile.TargetType.File, id: randomUUID(), xTeamId: variable("TEAM_ID") };
  const mine = links((await begin()).accessToken);
  await refused("invalid_token", links("nonsense").listLinks(item));
  await refused("invalid_header", mine.listLinks({ ...item, xTeamId: "nonsense" }));
  await refused("not_a_member", mine.listLinks({ ...item, xTeamId: variable("OTHER_TEAM_ID") }));
  await refused("item_not_found", mine.listLinks(item));
});
