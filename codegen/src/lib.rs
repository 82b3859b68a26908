//! Generates Rust from an OpenAPI document. For the server: wire types, a trait with one method per operation, request
//! checking, and registration with dropshot. For the client: progenitor's output with its defects patched.
//!
//! ```text
//! openapi/catalog.yaml --parse--> Document --emit--> OUT_DIR/catalog.rs          (server)
//!                            |               `-----> generated/src/openapi/*.rs  (client)
//!                            `--> problems: file, JSON Pointer, cause, remedy
//! ```
//!
//! A build script calls [`generate`], or uses a [`Generator`] for more. Behind them, [`Document::read`] reads and checks
//! a document, and [`server`] and [`client`] write the modules. The types of both come from typify through progenitor's
//! generator, prepared and patched by the same code, so they agree by construction.
//!
//! # The subset
//!
//! OpenAPI 3.0.x, and the part of 3.1.x that means the same in both (no `nullable`, no `exclusiveMinimum`, no lists of
//! types, `const`, `prefixItems`, webhooks, ...), in YAML or JSON, in one file. Anything not listed here is refused, with
//! its place and what to write instead: a keyword that a generator skips is a promise that nothing keeps.
//!
//! - **The document**: `openapi`, `jsonSchemaDialect` (the one of OpenAPI 3.1), `info`, `servers`, `tags`,
//!   `externalDocs`, `paths`, `components`, `security`. Servers are documentation; paths are used as written.
//! - **Extensions** (`x-...`) count as documentation, and are therefore accepted only in places that document: the
//!   document itself, `info`, `contact`, `license`, servers and tags. A few that are known not to affect what is sent are
//!   accepted anywhere: those of dropshot and typify that repeat what the schema or the parameters beside them say
//!   (`x-rust-type`, `x-dropshot-pagination`), and those that arrange pages about the document (`x-displayName`,
//!   `x-codeSamples`, ...). Any other is refused, since what it promises is unknown.
//! - **Paths**: `/`, or literal segments of ``A-Z a-z 0-9 . _ ~ - : @ ! & ' , ; =``, and whole segments that are a
//!   `{variable}`. After the same prefix, paths have either a variable, always of the same name, or literals.
//! - **Operations**: GET, PUT, POST, PATCH, DELETE and HEAD (whose responses have no body: `content` describes what GET
//!   would return, and no other response to HEAD has any), each with an `operationId` (words with anything between them:
//!   `find pet by id` is `find_pet_by_id`), tags (declared ones, if the document declares any), one success by number
//!   (2xx, 3xx or 101), or several of 2xx with the same headers, and either the same body (`status_202()` turns the first
//!   into the second) or bodies in JSON (`status_201(thing)` makes the second; the client reads an enumeration,
//!   `ThingOrNothing`), and errors by number (4xx and 5xx), by `4XX` and `5XX`, and by `default`. The response with the
//!   narrowest matching status applies. If errors have several schemas, or only some have one, their type is an
//!   enumeration (`FailureOrNothing`). If no errors are listed, errors have no body. A `default` of bytes that is the
//!   only response is whatever the handler makes of it.
//! - **Security**: `http` of any scheme, `apiKey` in header, query or cookie, `oauth2` and `openIdConnect` (as bearer
//!   tokens), as alternatives, together, and `{}` for anonymous access. The trait has a hook for each such requirement,
//!   named after its schemes (`key_or_token`, `key_and_secret`, `public_or_key`); it is passed the operation with its
//!   scopes, and can get the credential from the runtime. Scopes must be among those of a flow.
//! - **Redirects**: a 3xx is the success of an operation that has no other. The client follows it, and returns the result
//!   as bytes.
//! - **Websockets**: 101 is the success of a GET without a body, with or without `x-dropshot-websocket`. The handler gets
//!   the connection once the request has been checked. `content` of a 101 has no effect; beside `x-dropshot-websocket`, a
//!   `default` of bytes as the only response is a 101, as earlier versions of dropshot wrote it.
//! - **Parameters**: in path, query and header, with a scalar `schema` or alternatives that are all texts, in the default
//!   style of their location; in a query also with a list of scalars, which repeats the name for each item; no `content`.
//!   Cookies are not supported, since dropshot publishes none. A list without items is left out of the query, so a
//!   required list that is missing is empty: `minItems` decides. For the texts that no path can carry (the empty one, `.`
//!   and `..`), the client returns an error instead of sending them. Numbers with a fraction are not accepted in a query.
//!   No text is null, so `nullable` has no effect. A header `Authorization` is accepted if there are no security schemes.
//! - **Bodies** have one media type, in requests of any method (HTTP gives no meaning to the body of a GET or DELETE: a
//!   proxy may drop it).
//!   - `application/json`; nullable through an `allOf` of one reference, as dropshot writes it, or if its component is,
//!     in requests that require a body and in the one body of successes. The same goes for anything that ends in `+json`
//!     (`application/problem+json`): requests and responses carry that name, and the client asks for it. dropshot calls
//!     it `application/json`.
//!   - `application/x-www-form-urlencoded` in requests: an object with properties. Single values are written as in a
//!     query, a list of them with the name repeated for each, and everything else as JSON (OpenAPI 3.0.3, Encoding
//!     Object); `encoding` may not say otherwise. A required list that is missing is empty.
//!   - These two are optional in a request (`required` defaults to false): then the handler gets an `Option`. A body of
//!     no bytes counts as missing, and so does a form without any members.
//!   - `text/plain`: a string.
//!   - `multipart/form-data` in requests: `type: string` with `format: binary`, as dropshot writes it. The
//!     handler reads the parts.
//!   - any other, and `*/*`: bytes, with such a schema, with `{}` or without one. A handler reads a request's bytes,
//!     whole or as they arrive, within its limits, once the rest has been checked; it responds with bytes that it has, or
//!     with a stream. For `*/*`, it sets the media type of the response.
//!
//!   Errors are JSON.
//! - **Schemas**: `type` one of `boolean`, `integer`, `number`, `string`, `array`, `object`; or a `oneOf` or `anyOf`; or
//!   `allOf`; or a `$ref`; or none of these, and no limits: any value. `not: {}` is no value at all. No other `not`, and
//!   no `xml`. A limit that applies to one type needs that type beside it. A `readOnly` property must not be part of any
//!   request, nor a `writeOnly` one of any response, so neither has further effect. A component that is a reference means
//!   what its target means.
//! - **Extensions in schemas** (`x-...`) are accepted, since the standard's own keywords alone decide which values a
//!   schema admits.
//! - **`oneOf` and `anyOf`** are told apart by the first of these that works for all alternatives: a `discriminator`, by
//!   its `mapping`, the values that the variants list, or their names (it is required even if a variant does not require
//!   it); all being enumerations of strings, which become one; a tag, a property that each requires as an enumeration of
//!   strings that no other has; for each, a type that it alone has, the texts that it lists, or a required member that
//!   only it may have (`additionalProperties: false` in the others); and last, for those that share a type, by trial: of
//!   a `oneOf`, a value passes exactly one (a value that passes two is refused on arrival); of an `anyOf`, the first that
//!   it passes, in the document's order, is meant. Trial is refused if types keep less than schemas (lists with limits),
//!   if an alternative contains the list again, if a value would be checked against more than 64 schemas, and if a
//!   `oneOf` could never mean one of its alternatives. An alternative that admits null makes the whole nullable; of a
//!   `oneOf`, only one may. Properties beside the list belong to each alternative. The type is an `enum` with a variant
//!   for each.
//! - **`allOf`** of one item means what that item means, with `description`, `default` or `nullable` beside it. Of
//!   several, it is an object with the members of all: a member that several parts have must be alike in all of them (or
//!   be any value, or any text, in all but one), and none may be missing from a part with `additionalProperties: false`.
//! - **Objects** have `properties`, or `additionalProperties` with a schema, or neither: then they have any members. With
//!   both, the members that are not properties are in a map, the field `extra`; a property of that name is `extra_2`. In
//!   an `allOf`, no part's schema for other members may cover members that other parts describe.
//! - **Any value** is an `Any`, which keeps the text; null is one of its values, and an optional member is an `Option` of
//!   it.
//! - **Null alone** is a string whose `enum` is `[null]`, as schemars writes it.
//! - **Names of properties and values** that are not valid in Rust: characters other than A-Z, a-z and digits separate
//!   words, a leading `+` or `-` becomes `plus` or `minus`, a name that does not start with a letter gets an `x` in
//!   front, and of two names that become the same, the later gets a number: `@type` is `type_`, `_links` `links`, `3d`
//!   `x3d`, and `user_id` after `userId` `user_id_2`; as values, `+1` is `Plus1`. On the wire they are as written
//!   ([`names::fields`], [`names::variants`]).
//! - **Names**: objects, `oneOf`s and every scalar with a limit, a format, an enumeration or a default become types.
//!   Inline ones are named by their place: the component (or the operationId), and the path from there: property names,
//!   `Item` for the items of a list, `Value` for the members of a map, the tag, the member, the title or the type of an
//!   alternative, the names of parameters and headers, `Body`, `Response`, `Error`. So `owner: { type: object, ... }` in
//!   `Crate` is `CrateOwner`, and the body of `addCrate` is `AddCrateBody`. Inside components that operations share, the
//!   names start with the component's name and `Parameter`, `Header`, `Response` or `Body`. If a name is taken, a number
//!   is appended.
//! - **Integers** have the type that their format names: `int8` to `int64`, `uint8` to `uint64` (which `uint` also
//!   means), and `int64` without one. **Numbers** are exact decimals, whatever their `format`.
//! - **Formats of strings**: `uuid`, `date-time` (of a year from 0 to 9999 in UTC), `date`, `ip`, `ipv4`, `ipv6`,
//!   `password` (a secret, which `Debug` does not show), and `byte` (base64, checked as a pattern). `uri`,
//!   `uri-reference` and every other are only documentation, as is an unknown format of a number or of alternatives: the
//!   standard leaves formats open.
//! - **Lists**: the server checks `minItems`, `maxItems` and `uniqueItems`. No type enforces them; the client's
//!   documentation states them. The same goes for `multipleOf`, for an `enum` of numbers or booleans, and for
//!   `minProperties` and `maxProperties`.
//! - **Null**: `nullable: true` beside a `type` or an `allOf`, in properties, items and maps. An optional property that
//!   may be null becomes a `Field`, which distinguishes absent, null and a value; a required one becomes an `Option`. The
//!   type of a nullable component never holds null itself.
//! - **Defaults** must match their own schemas. A missing parameter has its default; the default of a property is only
//!   documentation, and a scalar's type has it as `Default`.
//! - **Descriptive keywords** are accepted everywhere they belong and change nothing: `summary`,
//!   `description`, `title`, `example`, `examples`, `externalDocs`, `termsOfService`, and `deprecated` of
//!   parameters, headers and schemas.
//! - **`$ref`** within the document, to parameters, headers, responses, request bodies, examples and schemas, with no
//!   siblings but descriptive ones, which change nothing. Schemas may refer to each other in cycles only through lists,
//!   maps and alternatives: elsewhere, a type would contain itself.
//!
//! # Lenient reading
//!
//! Reading is strict: everything in an accepted document is kept. [`Document::read_leniently`] ([`Generator::lenient`],
//! `openapi-dropshot check --lenient`) is for other people's documents, and reports, item by item, what is not kept:
//! `x-...`, keywords that only limit or describe (`not`, `contentEncoding`, `callbacks`), limits beside a `$ref` or of
//! another type, patterns that no matcher accepts, and a format beside an enumeration or a pattern. It drops only what
//! can go without changing what is sent, where, or in which type; everything else stays refused. So do the items above if
//! alternatives are told apart by trial, since there a limit decides which is meant. dropshot does not publish what is
//! not kept.

pub mod model;
pub mod names;

mod emit;
mod generator;
mod parse;
mod pointer;
mod problem;

use std::collections::BTreeMap;
use std::path::Path;

pub use generator::{Generator, generate};
pub use model::Document;
pub use problem::{Problem, Problems};

/// Returns a document as one value, read as strictly as [`Document::read`] reads it, but not checked against the subset.
///
/// # Errors
/// If the file cannot be read, or is not one value of YAML or JSON.
pub fn source(path: impl AsRef<Path>) -> Result<serde_json::Value, Problem> {
    parse::source(path.as_ref())
}

/// Returns the server's module: types, schemas, the API trait and its registration.
///
/// The module depends on `openapi-dropshot-runtime`, `dropshot`, `schemars` (0.8), `serde`, `serde_json`, `chrono` and
/// `uuid`. Include it from a build script's `OUT_DIR`.
///
/// # Errors
/// If progenitor refuses what this crate accepted, which is a bug in this crate.
pub fn server(document: &Document) -> Result<String, Problems> {
    emit::server_module(document)
}

/// Returns the client's modules, by file name: `mod.rs`, one file per document, and what they share.
///
/// The modules depend on `progenitor-client`, `reqwest` (with `multipart` if a body is multipart), `serde`, `serde_json`
/// (with `raw_value`), `chrono`, `uuid`, `regress`, `bytes` and `futures`; with websockets, also on `base64` and `rand`.
/// Their folder can be a module of any crate.
///
/// `inner` names a type of that crate which every client carries; the crate then implements
/// `progenitor_client::ClientHooks` for each, to authenticate, retry and log in one place.
///
/// `mock` names a feature of that crate that adds a mock of each document for tests, built on `httpmock` and `regex`.
///
/// # Errors
/// If progenitor refuses what this crate accepted, which is a bug in this crate.
pub fn client(
    documents: &[Document],
    inner: Option<&str>,
    mock: Option<&str>,
) -> Result<BTreeMap<String, String>, Problems> {
    emit::client_modules(documents, inner, mock)
}
