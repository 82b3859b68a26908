// Stands before one Prism for each document: `gate.mjs PORT_FILE CATALOG_PRISM MOBILE_PRISM`.
//
// 1. Each request goes to the Prism of its document, which judges it, forwards it to the server, and judges the answer.
// 2. Prism's verdict comes in the header `sl-violations` of the answer.
// 3. A violation of an answer is a finding. So is a violation of a request that the server accepted all the same, and a
//    keyword of a schema that the server says is violated when Prism, which read the same document, saw nothing.
//    But for two things that Prism takes: a parameter without a value, which it does not check at all, and `urn:uuid:`
//    before a UUID.
// 4. SIGTERM ends the gate. Its last line counts exchanges and findings; findings are the exit code.

import { writeFileSync } from "node:fs";
import { createServer, request } from "node:http";

const [portFile, catalog, mobile] = process.argv.slice(2);
// The rest is of the server alone: `cursor`, `unknown`, `precision`, `json` and so on.
const keywords = new Set([
  ...["required", "type", "minLength", "maxLength", "minimum", "maximum", "enum", "pattern", "format"],
  "additionalProperties",
]);
const counts = { exchanges: 0, refusedByBoth: 0, findings: 0 };

function report(exchange, finding) {
  counts.findings += 1;
  console.log(`finding: ${exchange.method} ${exchange.url} -> ${exchange.status}: ${finding}`);
}

function judge(exchange, violations, answer) {
  counts.exchanges += 1;
  const of = (side) => violations.filter((it) => it.location[0] === side && it.severity === "Error");
  for (const violation of of("response")) report(exchange, JSON.stringify(violation));
  const [first] = of("request");
  if (exchange.status < 300 && first) report(exchange, `accepted, against ${JSON.stringify(first)}`);
  if (exchange.status !== 400) return;
  const named = details(answer).filter((it) => keywords.has(it.constraint));
  if (first) counts.refusedByBoth += 1;
  else if (named.length > 0 && !isTakenByPrism(exchange)) report(exchange, `refused, for ${JSON.stringify(named)}, which Prism does not see`);
}

function isTakenByPrism({ url, headers }) {
  const sent = [...url.slice(1).split(/[/?&=]/).map(decodeURIComponent), ...Object.values(headers)];
  return sent.some((value) => value === "" || value.startsWith("urn:uuid:"));
}

function details(answer) {
  try {
    return JSON.parse(answer).error.details ?? [];
  } catch {
    return [];
  }
}

const gate = createServer((incoming, outgoing) => {
  const target = new URL(incoming.url.startsWith("/api/v1/") ? catalog : mobile);
  const { method, url, headers } = incoming;
  const options = { host: target.hostname, port: target.port, method, path: url, headers };
  const forwarded = request(options, (answer) => {
    const chunks = [];
    answer.on("data", (chunk) => chunks.push(chunk));
    answer.on("end", () => {
      const body = Buffer.concat(chunks);
      const violations = JSON.parse(answer.headers["sl-violations"] ?? "[]");
      judge({ method, url, headers, status: answer.statusCode }, violations, body.toString());
      outgoing.writeHead(answer.statusCode, answer.rawHeaders).end(body);
    });
  });
  forwarded.on("error", (error) => {
    console.log(`no answer of Prism to ${method} ${url}: ${error.message}`);
    outgoing.destroy();
  });
  incoming.pipe(forwarded);
});
gate.listen(0, "127.0.0.1", () => writeFileSync(portFile, `${gate.address().port}`));
process.on("SIGTERM", () => {
  const { exchanges, refusedByBoth, findings } = counts;
  console.log(`prism: ${exchanges} exchanges, ${refusedByBoth} refused by both, ${findings} findings`);
  process.exit(findings === 0 ? 0 : 1);
});
