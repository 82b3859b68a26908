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
//! [`Document::read`] reads and judges, [`server`] and [`client`] write. The types of both come
//! from typify through progenitor's generator, prepared and patched by the same code, so that they
//! agree by construction.
//!
//! # The subset
//!
//! OpenAPI 3.0.x, in YAML or JSON, in one file. What is not listed here is refused, with the place
//! and what to write instead: a keyword that a generator skips is a promise that nobody keeps.
//!
//! - **The document**: `openapi`, `info`, `servers`, `tags`, `externalDocs`, `paths`, `components`,
//!   `security`. Extensions (`x-...`) are taken as documentation, and therefore only in the places
//!   that document: the document itself, `info`, `contact`, `license`, servers and tags. Servers
//!   are told to readers; paths are taken as they are written.
//! - **Paths**: literal segments of `A-Z a-z 0-9 . _ ~ -`, and whole segments that are a
//!   `{variable}`. At one place stands either a variable, of one name, or a literal.
//! - **Operations**: GET, PUT, POST, PATCH and DELETE, each with an `operationId`, declared tags,
//!   at most one security requirement of one scheme, one 2xx answer and one or more 4xx and 5xx
//!   answers by number, all of these with one schema.
//! - **Parameters**: in path, query and header, with a scalar `schema`; no `style`, no `content`.
//!   Numbers with a fraction are not taken in a query.
//! - **Bodies**: `application/json`, a reference to a component; a request body is `required`. 204
//!   has none, every other answer has one.
//! - **Schemas**: `type` one of `boolean`, `integer`, `number`, `string`, `array`, `object`; or a
//!   `oneOf` of components with a `discriminator` and its `mapping`; or a `$ref`. No `allOf`,
//!   `anyOf`, `not`, `multipleOf`, `minProperties`, `maxProperties`, typed `additionalProperties`,
//!   `readOnly`, `writeOnly`, `xml`.
//! - **Named**: objects, `oneOf`s and every scalar with a limit, a format, an enumeration or a
//!   default are components, so that the types made of them have names. `int32`, `int64`, `float`
//!   and `double` may stand anywhere.
//! - **Integers** are held in 64 bits, or in 32 with `format: int32`. **Numbers** are exact
//!   decimals, whatever their `format` says.
//! - **Formats of strings**: `uuid`, `date-time`, `password` (a secret, which `Debug` does not
//!   show) and `uri` (told to readers).
//! - **Lists**: `minItems`, `maxItems` and `uniqueItems` are checked by the server. No type keeps
//!   them; the client's documentation tells them.
//! - **Null**: `nullable: true` beside a `type`, in properties and items only. An optional property
//!   that may be null becomes a `Field`, which tells absent, null and value apart; a required one
//!   becomes an `Option`. The type of a nullable component never holds null itself.
//! - **Descriptive keywords** are accepted everywhere they belong and change nothing: `summary`,
//!   `description`, `title`, `example`, `examples`, `externalDocs`, `termsOfService`.
//! - **`$ref`** within the document, to parameters, headers, responses, request bodies, examples
//!   and schemas, with no siblings and not in circles.

pub mod model;
pub mod names;

mod emit;
mod parse;
mod pointer;
mod problem;

use std::collections::BTreeMap;
use std::path::Path;

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
/// The text stands on `codegen-runtime`, `dropshot`, `schemars` (0.8), `serde`, `serde_json`,
/// `chrono` and `uuid`. Include it from a build script's `OUT_DIR`.
///
/// # Errors
/// When progenitor refuses what this crate accepted, which is a mistake of this crate.
pub fn server(document: &Document) -> Result<String, Problems> {
    emit::server_module(document)
}

/// The client's modules, by file name: `mod.rs`, one file a document, and what they share.
///
/// The text stands on `progenitor-client`, `reqwest`, `serde`, `serde_json` (with `raw_value`),
/// `chrono`, `uuid`, `regress`, `bytes` and `futures`. Its folder is a module of any crate.
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
