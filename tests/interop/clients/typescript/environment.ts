// What the scenarios know of the service; `../../service.py` says it by the environment.

import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";

export function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this by tests/interop/run clients`);
  return value;
}

/** A code, as the sign-in page gives it to the app, and the verifier that belongs to it. */
export function signIn(): { code: string; verifier: string } {
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const client = ["--client", variable("CLIENT_ID"), "--redirect-uri", variable("REDIRECT_URI")];
  const options = ["--json", "--user", variable("USER_ID"), ...client, `--code-challenge=${challenge}`];
  const printed = execFileSync(variable("INVOICING"), ["auth-code", "issue", ...options], { encoding: "utf8" });
  return { code: JSON.parse(printed).code, verifier };
}
