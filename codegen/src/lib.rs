//! Makes Rust from an OpenAPI document: for the server, wire types, one trait with a method an
//! operation, request checking and registration with dropshot; for the client, progenitor's output
//! with its defects patched.
//!
//! ```text
//! openapi/catalog.yaml --parse--> Document --emit--> OUT_DIR/catalog.rs          (server)
//!                            |               `-----> generated/src/openapi/*.rs  (client)
//!                            `--> problems: file, JSON Pointer, cause, remedy
//! ```
//!
//! A build script calls [`generate`], or more of it by a [`Generator`]. Behind them, [`Document::read`] reads and
//! judges, [`server`] and [`client`] write. The types of both come
//! from typify through progenitor's generator, prepared and patched by the same code, so that they
//! agree by construction.
//!
//! # The subset
//!
//! OpenAPI 3.0.x, and of 3.1.x what says the same in both (no `nullable`, no `exclusiveMinimum`, no lists of
//! types, `const`, `prefixItems`, webhooks, ...), in YAML or JSON, in one file. What is not listed here is
//! refused, with the place and what to write instead: a keyword that a generator skips is a promise that
//! nobody keeps.
//!
//! - **The document**: `openapi`, `jsonSchemaDialect` (that of OpenAPI 3.1), `info`, `servers`, `tags`,
//!   `externalDocs`, `paths`, `components`, `security`. Servers are told to readers; paths are taken as they
//!   are written.
//! - **Extensions** (`x-...`) are taken as documentation, and therefore only in the places that document:
//!   the document itself, `info`, `contact`, `license`, servers and tags. A few that are known to say
//!   nothing about what is sent are taken anywhere: those of dropshot and typify that repeat what the
//!   schema or the parameters beside them say (`x-rust-type`, `x-dropshot-pagination`), and those that
//!   arrange pages about the document (`x-displayName`, `x-codeSamples`, ...). Any other is refused:
//!   nobody here knows what it promises.
//! - **Paths**: `/`, or literal segments of ``A-Z a-z 0-9 . _ ~ - : @ ! & ' , ; =``, and whole segments that are a
//!   `{variable}`. At one place stands either a variable, of one name, or a literal.
//! - **Operations**: GET, PUT, POST, PATCH, DELETE and HEAD (whose answers have no body: `content` says what GET
//!   would answer, and nothing else answers HEAD), each with an `operationId` (words, whatever stands
//!   between them: `find pet by id` is `find_pet_by_id`), tags (declared ones, where the document declares
//!   any), one success by number (2xx, 3xx or 101), or several of 2xx with the same headers, and the same body
//!   (`status_202()` makes the second of the first) or bodies in JSON (`status_201(thing)` makes the second; the client
//!   reads an enumeration, `ThingOrNothing`), and answers by number of 4xx and 5xx, by `4XX` and
//!   `5XX`, and by `default`. An answer of the narrower status counts. Where errors have several schemas, or
//!   none here and there, their type is an enumeration (`FailureOrNothing`). Where no errors are listed,
//!   errors have no body. A `default` of bytes that is the only answer is whatever the handler makes of it.
//! - **Security**: `http` of any scheme, `apiKey` in header, query or cookie, `oauth2` and `openIdConnect`
//!   (as bearer tokens), as alternatives, together, and `{}` for nobody's. The trait has a hook for each such
//!   requirement, named after its schemes (`key_or_token`, `key_and_secret`, `public_or_key`), which is given
//!   the operation with its scopes, and may have the credential from the runtime. Scopes are those of a flow.
//! - **Redirects**: a 3xx is the success of an operation that has no other. The client follows it, and hands
//!   over what it finds as bytes.
//! - **Websockets**: 101 is the success of a GET without a body, `x-dropshot-websocket` or not. The handler
//!   gets the connection once the request has been checked. `content` of a 101 says nothing; beside the mark,
//!   a `default` of bytes as the only answer is a 101, as earlier versions of dropshot wrote it.
//! - **Parameters**: in path, query and header, with a scalar `schema` or alternatives that are all texts, written
//!   the usual way of their place; in a query also with a list of scalars, whose name comes before each item; no
//!   `content`. None is in a cookie: dropshot publishes none such. A list without items is left out, so that a
//!   required one that is left out has none: `minItems` decides.
//!   Of the texts that no path can say, which are the empty one, `.` and `..`, the client says so instead of sending
//!   them. Numbers with a fraction are not taken in a query. No text is null, so that `nullable` says nothing. A
//!   header `Authorization` is taken where there are no security schemes.
//! - **Bodies** have one media type, in requests of any method (of the body of a GET or DELETE, HTTP says
//!   nothing: a proxy may drop it).
//!   - `application/json`; null beside an `allOf` of one reference, as dropshot writes it, or where its component
//!     admits it, in requests that have to have a body and in the one body of successes. So is whatever ends in
//!     `+json` (`application/problem+json`): it is taken and answered by that name, and asked for by the client. dropshot
//!     calls it `application/json`.
//!   - `application/x-www-form-urlencoded` in requests: an object with properties. Single values are written as
//!     in a query, a list of them as the name with each, and what else there is as JSON (OpenAPI 3.0.3, Encoding
//!     Object), whose `encoding` says nothing else. A required list that is left out has no items.
//!   - These two may be left out of a request (`required` is false unless it is said): then the handler has an
//!     `Option`. A body of no bytes is none, and so is a form of which every member is left out.
//!   - `text/plain`: a string.
//!   - `multipart/form-data` in requests: `type: string` with `format: binary`, as dropshot writes it. The
//!     handler reads the parts.
//!   - any other, and `*/*`: bytes, with such a schema, with `{}` or without one. A handler reads those of
//!     requests, whole or as they come, within its limits, once the rest has been checked; it answers those
//!     that it has, or a stream. For `*/*`, it says the media type of an answer.
//!
//!   Errors are JSON.
//! - **Schemas**: `type` one of `boolean`, `integer`, `number`, `string`, `array`, `object`; or a `oneOf`
//!   or `anyOf`; or `allOf`; or a `$ref`; or none of these, and no limits: any value. `not: {}` is no value at
//!   all. No other `not`, and no `xml`. A limit of
//!   one type wants that type beside it. What is `readOnly` is in nothing that requests have, and what is `writeOnly`
//!   in nothing that answers have, so that the two say nothing more. A component that is a reference says what its
//!   target says.
//! - **Extensions in schemas** (`x-...`) are taken, since the standard's own keywords alone say which values a
//!   schema admits.
//! - **`oneOf` and `anyOf`** are told apart by the first of these that works for all: a `discriminator`, by its
//!   `mapping`, the values that the variants list, or their names (it has to be there, also where a variant does not
//!   require it); that all are enumerations of strings, which become one; a tag, which is a property that each
//!   requires as an enumeration of strings that no other has; for each, the type that it alone has, the texts
//!   that it lists, or a required member that only it may have (`additionalProperties: false` in the others); and
//!   last, for those that have their type in common, by trial: of a `oneOf`, a value passes exactly one (one
//!   that could be two is refused when it comes), of an `anyOf` the first that it passes, in the document's order,
//!   is meant. Trial is refused where types keep less than schemas (lists with limits), where an alternative
//!   contains the list again, where a value would be held against more than 64 schemas, and where a `oneOf` could
//!   never mean an alternative. An alternative that admits null makes the whole nullable; of a `oneOf`,
//!   one may. Properties beside the list are those of each alternative. The type is an `enum` with a variant for each.
//! - **`allOf`** of one item says what that says, with `description`, `default` or `nullable` beside it. Of several,
//!   it is an object with the members of all: the same member alike in all parts (or any value, or any text, in all
//!   but one), and none that a part with `additionalProperties: false` does not have.
//! - **Objects** have `properties`, or `additionalProperties` with a schema, or neither: then they have
//!   any members. With both, the members that are no properties are in a map, the field `extra`; a property of that
//!   name is `extra_2`. No part of an `allOf` has a schema for members that other parts describe.
//! - **Any value** is an `Any`, which keeps the text; null is among its values, and a member that may be left out is an
//!   `Option` of it.
//! - **Null alone** is a string whose `enum` is `[null]`, as schemars writes it.
//! - **Names of properties and values** that are none of Rust: what is not a letter A-Z or a-z or a digit is between
//!   words, a `+` or a `-` at the beginning is `plus` or `minus`, an `x` begins what no letter begins, and where two
//!   become the same, a number follows the later: `@type` is `type_`, `_links` `links`, `3d` `x3d`, and `user_id`
//!   behind `userId` `user_id_2`; as values, `+1` is `Plus1`. On the wire they are as written ([`names::fields`],
//!   [`names::variants`]).
//! - **Names**: objects, `oneOf`s and every scalar with a limit, a format, an enumeration or a default become types.
//!   Those that stand inline are named by their place: the component (or the operationId), and what leads
//!   there from it: property names, `Item` for the items of a list, `Value` for the members of a map, the
//!   tag, the member, the title or the type of an alternative, the names of parameters and headers, `Body`,
//!   `Response`, `Error`. So `owner: { type: object, ... }` in
//!   `Crate` is `CrateOwner`, and what `addCrate` is sent is `AddCrateBody`. In what several operations
//!   refer to, the names begin with that, and `Parameter`, `Header`, `Response` or `Body`. Where a name is
//!   taken, a number follows.
//! - **Integers** are held in what their format says: `int8` to `int64`, `uint8` to `uint64` (`uint`
//!   is that, too), and `int64` without one. **Numbers** are exact decimals, whatever their `format` says.
//! - **Formats of strings**: `uuid`, `date-time` (of a year from 0 to 9999 in UTC), `date`, `ip`, `ipv4`, `ipv6`,
//!   `password` (a secret, which `Debug` does not show), and `byte` (base64, checked as a pattern). `uri`,
//!   `uri-reference` and every other are told to readers alone, and so is an unknown format of a number or of
//!   alternatives: the standard leaves formats open.
//! - **Lists**: `minItems`, `maxItems` and `uniqueItems` are checked by the server. No type keeps
//!   them; the client's documentation tells them. So it is with `multipleOf`, with an `enum` of numbers or booleans,
//!   and with `minProperties` and `maxProperties`.
//! - **Null**: `nullable: true` beside a `type` or an `allOf`, in properties, items and maps. An optional
//!   property that may be null becomes a `Field`, which tells absent, null and value apart; a required one
//!   becomes an `Option`. The type of a nullable component never holds null itself.
//! - **Defaults** pass their own schemas. A parameter that is left out has its default; of a property, the
//!   default is told to readers, and a scalar's type has it as `Default`.
//! - **Descriptive keywords** are accepted everywhere they belong and change nothing: `summary`,
//!   `description`, `title`, `example`, `examples`, `externalDocs`, `termsOfService`, and `deprecated` of
//!   parameters, headers and schemas.
//! - **`$ref`** within the document, to parameters, headers, responses, request bodies, examples
//!   and schemas, with no siblings but descriptive ones, which change nothing. Schemas refer to each other in circles
//!   through lists, maps and alternatives only: elsewhere, a type would contain itself.
//!
//! # Lenient reading
//!
//! Reading is strict: of a document that is accepted, everything is kept. [`Document::read_leniently`]
//! ([`Generator::lenient`], `openapi-dropshot check --lenient`) is for documents of others, and tells, item by item,
//! what is not kept: `x-...`, keywords that only limit or describe (`not`, `contentEncoding`, `callbacks`), limits
//! beside a `$ref` or of another type, patterns that no matcher takes, and a format beside an enumeration or a
//! pattern. It takes only what could go without changing what is sent, where, or in which type; everything else stays
//! refused. So do these where alternatives are told apart by trial, since there a limit says which is meant. What is
//! not kept is not published by dropshot, either.

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

/// A document as one value, read as strictly as [`Document::read`] reads it, but not judged.
///
/// # Errors
/// When the file cannot be read, or is not one value of YAML or JSON.
pub fn source(path: impl AsRef<Path>) -> Result<serde_json::Value, Problem> {
    parse::source(path.as_ref())
}

/// The server's module: types, schemas, the API trait and its registration.
///
/// The text stands on `openapi-dropshot-runtime`, `dropshot`, `schemars` (0.8), `serde`, `serde_json`,
/// `chrono` and `uuid`. Include it from a build script's `OUT_DIR`.
///
/// # Errors
/// When progenitor refuses what this crate accepted, which is a mistake of this crate.
pub fn server(document: &Document) -> Result<String, Problems> {
    emit::server_module(document)
}

/// The client's modules, by file name: `mod.rs`, one file a document, and what they share.
///
/// The text stands on `progenitor-client`, `reqwest` (with `multipart` where a body is that), `serde`,
/// `serde_json` (with `raw_value`), `chrono`, `uuid`, `regress`, `bytes` and `futures`; where there are
/// websockets, on `base64` and `rand`, too. Its folder is a module of any crate.
///
/// `inner` names a type of that crate which every client carries; the crate then implements
/// `progenitor_client::ClientHooks` for each, to authenticate, retry and log in one place.
///
/// `mock` names a feature of that crate under which each document has a mock for tests as well, made for
/// `httpmock` and standing on `regex`, too.
///
/// # Errors
/// When progenitor refuses what this crate accepted, which is a mistake of this crate.
pub fn client(
    documents: &[Document],
    inner: Option<&str>,
    mock: Option<&str>,
) -> Result<BTreeMap<String, String>, Problems> {
    emit::client_modules(documents, inner, mock)
}
