// oauth4webapi, which checks every answer strictly: PKCE, both grants, every error of the token endpoint, and the
// challenge of a refused access token.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as oauth from "oauth4webapi";
import { jsonFetch } from "./bridge.mjs";
import * as service from "./service.mjs";

const server = { issuer: "https://invoicing.example", token_endpoint: service.tokenEndpoint };
const client = { client_id: service.clientId };
const bridge = { [oauth.customFetch]: jsonFetch, [oauth.allowInsecureRequests]: true };
const direct = { [oauth.allowInsecureRequests]: true };

/** The answer to a code, which a sign-in just brought; `changed` is what the app gets wrong. */
async function exchange(changed = {}, options = bridge) {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const back = service.signedIn(await oauth.calculatePKCECodeChallenge(verifier), state);
  return oauth.authorizationCodeGrantRequest(
    server,
    changed.client ?? client,
    oauth.None(),
    oauth.validateAuthResponse(server, client, back, state),
    changed.redirectUri ?? service.redirectUri,
    changed.verifier ?? verifier,
    { ...options, additionalParameters: changed.additionalParameters },
  );
}

async function signIn(additionalParameters) {
  return oauth.processAuthorizationCodeResponse(server, client, await exchange({ additionalParameters }));
}

async function refresh(token, additionalParameters, as = client) {
  const options = { ...bridge, additionalParameters };
  const answer = await oauth.refreshTokenGrantRequest(server, as, oauth.None(), token, options);
  return oauth.processRefreshTokenResponse(server, client, answer);
}

function refusal(error, status = 400) {
  return (thrown) => {
    assert(thrown instanceof oauth.ResponseBodyError, thrown);
    assert.equal(thrown.status, status);
    assert.equal(thrown.error, error);
    assert(thrown.error_description.length > 0);
    assert.equal(thrown.cause.request_id, thrown.response.headers.get("x-request-id"));
    assert.equal(thrown.response.headers.get("cache-control"), "no-store");
    return true;
  };
}

test("a code becomes tokens that the library finds valid", async () => {
  const tokens = await signIn();
  assert.equal(tokens.token_type, "bearer");
  assert.equal(tokens.expires_in, 3600);
  assert.equal(tokens.user_id, process.env.USER_ID);
});

test("the access token opens the links", async () => {
  const { access_token } = await signIn();
  const answer = await oauth.protectedResourceRequest(access_token, "GET", service.links, service.team, null, direct);
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).data.data.length, 2);
});

test("a refresh token becomes the next pair, and a lost answer the same again", async () => {
  const first = await signIn({ install_id: "phone" });
  const second = await refresh(first.refresh_token, { install_id: "phone" });
  assert.notEqual(second.refresh_token, first.refresh_token);
  const again = await refresh(first.refresh_token, { install_id: "phone" });
  assert.equal(again.refresh_token, second.refresh_token);
  assert.equal(again.access_token, second.access_token);
  await refresh(second.refresh_token, { install_id: "phone" });
});

test("a spent refresh token ends its session", async () => {
  const first = await signIn();
  const second = await refresh(first.refresh_token);
  const third = await refresh(second.refresh_token);
  await assert.rejects(refresh(first.refresh_token), refusal("invalid_grant"));
  await assert.rejects(refresh(third.refresh_token), refusal("invalid_grant"));
});

test("another verifier is invalid_grant", async () => {
  const answer = await exchange({ verifier: oauth.generateRandomCodeVerifier() });
  await assert.rejects(oauth.processAuthorizationCodeResponse(server, client, answer), refusal("invalid_grant"));
});

test("another redirect URI is invalid_grant", async () => {
  const answer = await exchange({ redirectUri: "com.example.other:/signed-in" });
  await assert.rejects(oauth.processAuthorizationCodeResponse(server, client, answer), refusal("invalid_grant"));
});

test("an unknown client is invalid_client", async () => {
  const answer = await exchange({ client: { client_id: "nobody" } });
  await assert.rejects(oauth.processAuthorizationCodeResponse(server, client, answer), refusal("invalid_client"));
});

test("a verifier that RFC 7636 does not allow is invalid_request", async () => {
  const answer = await exchange({ verifier: "short" });
  await assert.rejects(oauth.processAuthorizationCodeResponse(server, client, answer), refusal("invalid_request"));
});

test("another grant is unsupported_grant_type", async () => {
  const answer = await oauth.clientCredentialsGrantRequest(server, client, oauth.None(), {}, bridge);
  await assert.rejects(
    oauth.processClientCredentialsResponse(server, client, answer),
    refusal("unsupported_grant_type"),
  );
});

test("a form, without the bridge, is 415 and still an OAuth error", async () => {
  const answer = await exchange({}, direct);
  await assert.rejects(oauth.processAuthorizationCodeResponse(server, client, answer), refusal("invalid_request", 415));
});

test("a wrong access token is a challenge that the library reads", async () => {
  await assert.rejects(
    oauth.protectedResourceRequest("wrong", "GET", service.links, service.team, null, direct),
    (thrown) => {
      assert(thrown instanceof oauth.WWWAuthenticateChallengeError, thrown);
      assert.equal(thrown.status, 401);
      assert.deepEqual(thrown.cause, [{ scheme: "bearer", parameters: { error: "invalid_token" } }]);
      return true;
    },
  );
});
