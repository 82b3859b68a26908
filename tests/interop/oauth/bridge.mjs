/**
 * A `fetch` for OAuth libraries: sends the form that they make as the JSON that the token endpoint reads. Everything
 * else, answers and errors included, is what RFC 6749 says.
 */
export function jsonFetch(url, options) {
  if (!(options.body instanceof URLSearchParams)) return fetch(url, options);
  const headers = new Headers(options.headers);
  headers.set("content-type", "application/json");
  return fetch(url, { ...options, headers, body: JSON.stringify(Object.fromEntries(options.body)) });
}
