// Stands before two Prisms for each document, and tells what they say:
// `gate.mjs PORT_FILE STRICT_CATALOG STRICT_MOBILE REPORTING_CATALOG REPORTING_MOBILE`.
//
// 1. Each request goes to the strict Prism of its document (`proxy --errors`). What that takes for valid it forwards to the
//    server, and what the server answers comes back only if it is valid, too: that the request was accepted by both, and
//    the answer too, is what most tests are about. An answer that it puts an error in place of is a finding.
// 2. A request that it takes for invalid it answers by itself, and the server has not seen it. The tests send such requests
//    on purpose. So it goes again, to the reporting Prism, which forwards it whatever it thinks, and says what that is in
//    the header `sl-violations` of the answer. A violation of the answer is a finding, and so is a request that the server
//    accepted anyway.
// 3. A keyword of a schema that the server says is violated when Prism, which read the same document, saw nothing, is a
//    finding as well. But for two things that Prism takes: a parameter without a value, which it does not check at all, and
//    `urn:uuid:` before a UUID.
// 4. SIGTERM ends the gate. Its last line counts exchanges and findings; findings are the exit code.

import { writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { buffer } from "node:stream/consumers";

const [portFile, ...prisms] = process.argv.slice(2);
const [strict, reporting] = [prisms.slice(0, 2), prisms.slice(2)];
// The rest is of the server alone: `cursor`, `unknown`, `precision`, `json` and so on.
const keywords = new Set([
  ...["required", "type", "minLength", "maxLength", "minimum", "maximum", "enum", "pattern", "format"],
  "additionalProperties",
]);
const counts = { valid: 0, refusedByBoth: 0, findings: 0 };

/** Sends a request through the Prism of its document. */
const send = ([catalog, mobile], { method, url, headers, body }) =>
  new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url.startsWith("/api/v1/") ? catalog : mobile);
    const sent = request({ host, port, method, path: url, headers }, async (answer) => {
      const { statusCode: status, rawHeaders } = answer;
      resolve({ status, rawHeaders, headers: answer.headers, body: await buffer(answer).catch(reject) });
    });
    sent.on("error", reject).end(body);
  });

/** The last part of the name of the error that Prism answers in place of the server, if it does. */
const ownError = ({ headers, body }) =>
  headers["content-type"] === "application/problem+json" ? JSON.parse(body).type.split("#").pop() : undefined;

function report({ method, url }, { status }, finding) {
  counts.findings += 1;
  console.log(`finding: ${method} ${url} -> ${status}: ${finding}`);
}

/** Step 1; undefined when the request is invalid. */
async function strictly(exchange) {
  const answer = await send(strict, exchange);
  const error = ownError(answer);
  if (error === "UNPROCESSABLE_ENTITY" || error === "UNAUTHORIZED") return undefined;
  if (error) report(exchange, answer, answer.body);
  counts.valid += 1;
  const named = details(answer).filter((it) => keywords.has(it.constraint));
  if (named.length > 0 && !isTakenByPrism(exchange)) report(exchange, answer, `refused, for ${JSON.stringify(named)}, which Prism does not see`);
  return answer;
}

/** Step 2. */
async function reportingly(exchange) {
  const answer = await send(reporting, exchange);
  const violations = JSON.parse(answer.headers["sl-violations"] ?? "[]");
  for (const violation of violations) {
    if (violation.location[0] === "response") report(exchange, answer, JSON.stringify(violation));
  }
  if (answer.status < 300) report(exchange, answer, `accepted, against ${JSON.stringify(violations)}`);
  else counts.refusedByBoth += 1;
  return answer;
}

function isTakenByPrism({ url, headers }) {
  const sent = [...url.slice(1).split(/[/?&=]/).map(decodeURIComponent), ...Object.values(headers)];
  return sent.some((value) => value === "" || value.startsWith("urn:uuid:"));
}

/** Step 3: what the server says is wrong with the request. */
function details({ status, body }) {
  try {
    return (status === 400 && JSON.parse(body).error.details) || [];
  } catch {
    return [];
  }
}

const gate = createServer(async (incoming, outgoing) => {
  const { method, url, headers } = incoming;
  try {
    const exchange = { method, url, headers, body: await buffer(incoming) };
    const answer = (await strictly(exchange)) ?? (await reportingly(exchange));
    outgoing.writeHead(answer.status, answer.rawHeaders).end(answer.body);
  } catch (error) {
    console.log(`no answer of Prism to ${method} ${url}: ${error.message}`);
    outgoing.destroy();
  }
});
gate.listen(0, "127.0.0.1", () => writeFileSync(portFile, `${gate.address().port}`));
process.on("SIGTERM", () => {
  const { valid, refusedByBoth, findings } = counts;
  console.log(`prism: ${valid} valid exchanges, ${refusedByBoth} requests refused by both, ${findings} findings`);
  process.exit(findings === 0 ? 0 : 1);
});
