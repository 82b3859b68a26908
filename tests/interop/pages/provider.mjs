// An OpenID provider of others (oidc-provider, certified by the OpenID Foundation) on this machine. Its own pages for trials
// let everybody sign in under any name, which is the subject; the name is in the email, too, which it says is proven.

import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const CLIENT = "invoicing";
const SECRET = "a secret that nobody needs to keep";

/** Starts one for the server of this origin; `settings` are what that server needs, and `issuer` is what the browser shows. */
export async function provide(origin) {
  const http = createServer();
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  // Another site than the server's: cookies that are `SameSite` are seen to come back.
  const issuer = `http://127.0.0.1:${http.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT, client_secret: SECRET, redirect_uris: [`${origin}/sign-in/callback`] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    // Only what an ID token says is read.
    conformIdTokenClaims: false,
    cookies: { keys: ["x"] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: id, email: `${id}@example.com`, email_verified: true }),
    }),
    pkce: { required: () => true },
  });
  http.on("request", provider.callback());
  return {
    issuer,
    settings: ["--oidc-issuer", issuer, "--oidc-client-id", CLIENT, "--oidc-client-secret", SECRET, "--oidc-name", "Example ID"],
    stop: () => http.close(),
  };
}
