//! Services generated from documents of other projects and of all kinds: compiled, implemented and
//! served, for tests.
//!
//! Each document of `codegen/tests/documents` has a module here: the generated code, and the smallest
//! service that tells something about it. The tests of this crate compare what dropshot emits for them
//! with the documents, and test over real connections what the runtime promises.

pub mod bodies;
pub mod library;
pub mod parcels;
pub mod petstore;
pub mod security;
pub mod shapes;

use std::sync::{Mutex, PoisonError};

use openapi_dropshot_runtime::{Cause, Rejection, Violation};

/// What goes wrong in these services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The caller has no valid credential.
    Stranger,
    /// There is no such thing.
    Missing,
    /// Another caller was faster.
    Changed,
}

impl From<Refused> for Rejection<Refused> {
    fn from(refused: Refused) -> Rejection<Refused> {
        Rejection::Error(refused)
    }
}

/// How these services report a rejection: the status, and everything that is wrong.
fn told(
    rejection: Rejection<Refused>,
) -> (openapi_dropshot_runtime::http::StatusCode, Vec<Violation>) {
    use openapi_dropshot_runtime::http::StatusCode;
    match rejection {
        Rejection::Request(error) => {
            let cause = match error.cause {
                Cause::Internal => vec![Violation::new("", "internal", "a mistake of ours")],
                _ => error.violations.to_vec(),
            };
            (error.cause.status(), cause)
        }
        Rejection::Error(error) => {
            let status = match error {
                Refused::Stranger => StatusCode::UNAUTHORIZED,
                Refused::Missing => StatusCode::NOT_FOUND,
                Refused::Changed => StatusCode::PRECONDITION_FAILED,
            };
            (
                status,
                vec![Violation::new("", "refused", format!("{error:?}"))],
            )
        }
    }
}

/// What the hook received of every response, for services that record it.
#[derive(Debug, Default)]
pub struct Answered(Mutex<Vec<String>>);

impl Answered {
    /// Returns everything so far: operation, status and note of the admission.
    pub fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn add(&self, line: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }
}

/// Whether the request has this header with this value.
fn has_header(request: &dropshot::RequestInfo, name: &str, value: &str) -> bool {
    request
        .headers()
        .get(name)
        .is_some_and(|it| it.as_bytes() == value.as_bytes())
}

macro_rules! generated {
    ($file:literal) => {
        #[allow(
            missing_docs,
            unused_imports,
            clippy::all,
            rustdoc::bare_urls,
            rustdoc::broken_intra_doc_links,
            rustdoc::invalid_html_tags
        )]
        mod generated {
            include!(concat!(env!("OUT_DIR"), "/", $file));
        }
        pub use generated::*;
    };
}
use generated;
