// The scenario, by openapi-fetch over the types that openapi-typescript makes.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import createClient from "openapi-fetch";
import type * as catalog from "./openapi-typescript/catalog.js";
import type * as mobile from "./openapi-typescript/mobile.js";
import { signIn, variable } from "./environment.js";

const baseUrl = variable("BASE_URL");
const authorized = (token: string) => ({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const products = (key: string) => createClient<catalog.paths>(authorized(key));
const devices = (token: string) => createClient<mobile.paths>(authorized(token));
const api = products(variable("API_KEY"));
const sessions = createClient<mobile.paths>({ baseUrl });
const [client_id, redirect_uri] = [variable("CLIENT_ID"), variable("REDIRECT_URI")];

type NewProduct = catalog.components["schemas"]["CreateProduct"];
type CodeGrant = mobile.components["schemas"]["AuthorizationCodeGrant"];

const newProduct = (more: Partial<NewProduct> = {}): NewProduct => ({
  name: "Stamp",
  unitPrice: 0.1,
  currency: "EUR",
  ...more,
});
const create = (body: NewProduct, key?: string) =>
  api.POST("/api/v1/products", { body, params: { header: { "Idempotency-Key": key } } });
const at = (id: string) => ({ params: { path: { id } } });

function data<T>(answer: { data?: T; error?: unknown }): T {
  assert(answer.data !== undefined, JSON.stringify(answer.error));
  return answer.data;
}

async function refused(code: string, call: Promise<{ error?: { error: string | { code: string } } }>): Promise<void> {
  const error = (await call).error?.error;
  assert.equal(typeof error === "object" ? error.code : error, code);
}

test("create with a price of 0.1 and an idempotency key, replay, clear with null", async () => {
  const [body, key] = [newProduct({ description: "Self-adhesive", sku: randomUUID() }), randomUUID()];
  const first = data(await create(body, key)).data;
  assert.equal(first.unitPrice, 0.1);
  const again = await create(body, key);
  assert.equal(again.response.headers.get("Idempotency-Replayed"), "true");
  assert.deepEqual(data(again).data, first);
  const answer = await api.PATCH("/api/v1/products/{id}", { ...at(first.id), body: { description: null } });
  assert.equal(data(answer).data.description, null);
  assert.equal(data(answer).data.sku, body.sku);
});

test("walk all pages", async () => {
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) made.unshift(data(await create(newProduct())).data.id);
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = data(await api.GET("/api/v1/products", { params: { query: { limit: 2, after } } })).data;
    seen.push(...page.data.map((product) => product.id));
    after = page.nextCursor ?? undefined;
    assert.equal(page.hasMore, after !== undefined);
  } while (after !== undefined);
  assert.deepEqual(seen.slice(0, 5), made);
  assert.equal(new Set(seen).size, seen.length);
});

test("each error of the catalog has its code", async () => {
  const reader = products(variable("READ_ONLY_API_KEY"));
  const { id, sku } = data(await create(newProduct({ sku: randomUUID() }))).data;
  await refused("invalid_body", create(newProduct({ name: "", unitPrice: -1 })));
  await refused("invalid_query", api.GET("/api/v1/products", { params: { query: { limit: 101 } } }));
  await refused("invalid_path", api.GET("/api/v1/products/{id}", at("nonsense")));
  await refused("invalid_header", create(newProduct(), "with a space"));
  await refused("invalid_token", products("nobody").GET("/api/v1/products"));
  await refused("scope_insufficient", reader.POST("/api/v1/products", { body: newProduct() }));
  await refused("product_not_found", api.GET("/api/v1/products/{id}", at(randomUUID())));
  await refused("duplicate_sku", create(newProduct({ sku })));
  await refused("body_too_large", create(newProduct({ name: "x".repeat(70_000) })));
  const headers = { "Content-Type": "text/plain" };
  const bodySerializer = JSON.stringify;
  await refused(
    "unsupported_media_type",
    api.POST("/api/v1/products", { body: newProduct(), headers, bodySerializer }),
  );
  const key = randomUUID();
  await create(newProduct(), key);
  await refused("idempotency_key_reused", create(newProduct({ taxRate: 7 }), key));
  assert.equal((await api.DELETE("/api/v1/products/{id}", at(id))).response.status, 204);
  await refused("already_archived", api.DELETE("/api/v1/products/{id}", at(id)));
});

function begin(changed: Partial<CodeGrant> = {}) {
  const { code, verifier: code_verifier } = signIn();
  const body: CodeGrant = { grant_type: "authorization_code", code, code_verifier, redirect_uri, client_id, ...changed };
  return sessions.POST("/api/auth/mobile/token", { body });
}

function refresh(refresh_token: string) {
  return sessions.POST("/api/auth/mobile/token", { body: { grant_type: "refresh_token", refresh_token, client_id } });
}

function links(token: string, team: string, id: string) {
  const params = { path: { targetType: "file" as const, id }, header: { "X-Team-Id": team } };
  return devices(token).GET("/api/mobile/items/{targetType}/{id}/links", { params });
}

test("sign in, refresh, and list the links", async () => {
  const tokens = data(await refresh(data(await begin()).refresh_token));
  const page = data(await links(tokens.access_token, variable("TEAM_ID"), variable("FILE_ID"))).data;
  assert.equal(page.data.length, 2);
});

test("each error of devices has its code", async () => {
  await refused("invalid_grant", begin({ code_verifier: "x".repeat(43) }));
  await refused("invalid_client", begin({ client_id: "nobody" }));
  await refused("invalid_request", begin({ code_verifier: "short" }));
  await refused("invalid_grant", refresh("nonsense"));
  const [token, team] = [data(await begin()).access_token, variable("TEAM_ID")];
  await refused("invalid_token", links("nonsense", team, randomUUID()));
  await refused("invalid_header", links(token, "nonsense", randomUUID()));
  await refused("not_a_member", links(token, variable("OTHER_TEAM_ID"), randomUUID()));
  await refused("item_not_found", links(token, team, randomUUID()));
});
