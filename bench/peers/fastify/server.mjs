// The catalog by fastify-openapi-glue and better-sqlite3: routes, checks of requests and serialization of answers are
// fastify's own, from the document. `node server.mjs DOCUMENT PORT DATABASE`
//
// better-sqlite3 waits in place, on the one thread that there is. Its documentation recommends just that.
import fastify from "fastify";
import openapiGlue, { SecurityError } from "fastify-openapi-glue";
import { Catalog } from "./catalog.mjs";

const [document, port, database] = process.argv.slice(2);
const catalog = new Catalog(database);

const securityHandlers = {
    api_key(request) {
        const [scheme, key] = (request.headers.authorization ?? "").split(" ");
        request.caller = scheme === "Bearer" ? catalog.findApiKey(key) : undefined;
        if (!request.caller) throw new SecurityError("invalid_token", 401);
        if (request.method !== "GET" && request.caller.scope !== "read-write") {
            throw new SecurityError("scope_insufficient", 403);
        }
    },
};

const serviceHandlers = {
    async get_product(request) {
        const product = catalog.getProduct(request.caller, request.params.id);
        if (!product) throw new ApiError(404, "product_not_found");
        return { data: product };
    },

    async list_products(request) {
        return { data: catalog.listProducts(request.caller, request.query) };
    },

    async create_product(request, reply) {
        const { caller, body, headers } = request;
        const answer = catalog.createProduct(caller, body, headers["idempotency-key"]);
        if (answer.refusal) throw new ApiError(409, answer.refusal);
        if (answer.isReplayed) reply.header("Idempotency-Replayed", "true");
        reply.code(201).header("Location", `/api/v1/products/${answer.id}`).type("application/json; charset=utf-8");
        return answer.body;
    },
};

class ApiError extends Error {
    constructor(statusCode, code) {
        super(code);
        this.statusCode = statusCode;
    }
}

const server = fastify({
    // What OpenAPI adds to JSON Schema is no mistake, and a member that is not in the document is one.
    ajv: { customOptions: { strict: false, removeAdditional: false, coerceTypes: true } },
    bodyLimit: 64 * 1024,
});
server.decorateRequest("caller", null);
server.setErrorHandler((error, request, reply) => {
    const { statusCode = 500, message } = error;
    const known = { 400: "invalid_request", 401: "invalid_token", 403: "scope_insufficient" };
    const code = known[statusCode] ?? message;
    reply.code(statusCode).send({ error: { type: "validation_error", code, message, request_id: request.id } });
});
await server.register(openapiGlue, { specification: document, serviceHandlers, securityHandlers });
await server.listen({ host: "127.0.0.1", port: Number(port) });
