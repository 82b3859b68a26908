//! The runtime of generated server modules.
//!
//! The generator (`openapi-dropshot`) writes static data and a little glue for each document; everything that is
//! the same for all documents is here, once:
//!
//! - exact numbers, three-valued members, values of any kind: [`Decimal`], [`Field`], [`Any`]; times as text:
//!   [`rfc3339`], [`parse_rfc3339`]; the message for a text that is none of the allowed ones: [`none_of`];
//! - the document's content, as data: [`Operation`], [`schema::Schema`];
//! - newtypes: [`impl_conversions`], [`impl_number`], [`impl_text`], [`impl_checked_text`];
//! - reading: [`Object`], [`Members`];
//! - checking: [`json`] parses strictly, [`schema`] checks and reports every [`Violation`];
//! - serving: [`Captured`], [`Unchecked`], [`serve`], [`endpoint`], [`register_absent_methods`];
//! - paths and methods accepted only as they are written, and a limit on headers: [`Methods`], [`check_path`],
//!   [`MAX_HEADERS`];
//! - bodies of each media type: [`FromBody`], [`RequestBody`], [`Multipart`]; [`Websocket`]s; what is left of a body:
//!   [`Remainder`];
//! - credentials: [`Scheme`];
//! - responses: [`Success`], [`RawBody`], [`Reply`], and for errors [`RequestError`], [`ErrorAnswer`],
//!   [`Rejection`].

pub mod json;
pub mod schema;

/// For generated code.
#[doc(hidden)]
pub use {bytes::Bytes, http};

mod any;
mod body;
mod choice;
mod content;
mod decimal;
mod field;
mod head;
mod hint;
mod metadata;
mod newtype;
mod object;
mod operation;
mod parameters;
mod rejection;
mod remainder;
mod reply;
mod request;
mod routes;
mod security;
mod serve;
mod text;
mod time;
mod violation;
mod websocket;

pub use any::{Any, present};
pub use body::{DEADLINE, MAX_BYTES, RequestBody};
pub use choice::none_of;
pub use content::{FromBody, Multipart, Optional, Unread};
pub use decimal::{Decimal, DecimalError};
pub use field::Field;
pub use head::MAX_HEADERS;
pub use metadata::{Described, Description, any_of, document_schema};
pub use object::{Members, Object, object};
pub use operation::{AnswerHeader, Body, Listed, Location, Operation, Parameter, Status};
pub use parameters::Parameters;
pub use rejection::{Cause, ErrorAnswer, Rejection, RequestError, header_of, header_value};
pub use remainder::{DRAIN_BYTES, DRAIN_TIME, Remainder};
pub use reply::{Answer, RawBody, Reply, Success, json_body, without_body};
pub use request::{Arrived, Captured, Request, Unchecked};
pub use routes::{METHODS, Methods, check_path, forwarded};
pub use security::{Credential, Required, Scheme};
pub use serve::{
    Admitted, ErrorBody, Handler, Handling, Served, endpoint, listed_body, register_absent_methods,
    serve, settled,
};
pub use text::{tag, text};
pub use time::{is_writable, parse_rfc3339, rfc3339};
pub use violation::{MAX_PATH, MAX_VIOLATIONS, Violation, Violations, constraint};
pub use websocket::{Switching, Websocket};
