// What the tests know of the service; `../service.py` says it by the environment.

import { execFileSync } from "node:child_process";

const { BASE_URL, CLIENT_ID, REDIRECT_URI, INVOICING, USER_ID, FILE_ID, TEAM_ID } = process.env;

export const tokenEndpoint = `${BASE_URL}/api/auth/mobile/token`;
export const links = new URL(`${BASE_URL}/api/mobile/items/file/${FILE_ID}/links`);
export const team = new Headers({ "X-Team-Id": TEAM_ID });
export const clientId = CLIENT_ID;
export const redirectUri = REDIRECT_URI;

/** Where the sign-in page sends the person back to: the redirect URI, with a code. */
export function signedIn(challenge, state) {
  const options = ["--user", USER_ID, "--client", CLIENT_ID, "--redirect-uri", REDIRECT_URI, "--json"];
  const printed = execFileSync(INVOICING, ["auth-code", "issue", `--code-challenge=${challenge}`, ...options]);
  const back = new URL(REDIRECT_URI);
  back.searchParams.set("code", JSON.parse(printed).code);
  if (state !== undefined) back.searchParams.set("state", state);
  return back;
}
