// openid-client, as an app would use it: one configuration, one call a grant.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as openid from "openid-client";
import { jsonFetch } from "./bridge.mjs";
import * as service from "./service.mjs";

const server = { issuer: "https://invoicing.example", token_endpoint: service.tokenEndpoint };
const configuration = new openid.Configuration(server, service.clientId, undefined, openid.None());
openid.allowInsecureRequests(configuration);
configuration[openid.customFetch] = jsonFetch;

async function signIn(more = {}) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const back = service.signedIn(await openid.calculatePKCECodeChallenge(pkceCodeVerifier), expectedState);
  return openid.authorizationCodeGrant(configuration, back, { pkceCodeVerifier, expectedState, ...more.checks }, more.sent);
}

test("sign in, refresh, and list the links", async () => {
  const tokens = await signIn({ sent: { install_id: "phone", user_agent: "interop/1" } });
  assert.equal(tokens.expires_in, 3600);
  // What is left by now, which may be a second less already.
  assert(tokens.expiresIn() > 3500);
  const fresh = await openid.refreshTokenGrant(configuration, tokens.refresh_token, { install_id: "phone" });
  const answer = await openid.fetchProtectedResource(
    configuration,
    fresh.access_token,
    service.links,
    "GET",
    null,
    service.team,
  );
  assert.equal((await answer.json()).data.data.length, 2);
});

test("errors come as the library's own", async () => {
  await assert.rejects(
    signIn({ checks: { pkceCodeVerifier: openid.randomPKCECodeVerifier() } }),
    (thrown) => thrown instanceof openid.ResponseBodyError && thrown.error === "invalid_grant",
  );
});
