//! Turns whatever went wrong into an error answer, in the words of a document. Nothing else in the service chooses a status
//! or a code.
//!
//! Which error to use in a handler:
//!
//! - what the rules refuse comes from `app` as a [`domain::Error`]; pass it on with `?`;
//! - what the document does not allow comes from the request as a [`RequestError`]; pass it on with `?`;
//! - an unknown caller, or one that calls too often, is [`Error::Unauthenticated`] or [`Error::RateLimited`], which only
//!   [`credential`](super::credential) makes;
//! - a value of the service that its own document does not allow is a bug: [`published`].
//!
//! The table of docs/decisions.md, "Errors", is [`of_domain`], [`of_request_error`] and [`of_http`] here. The errors of RFC
//! 6749, section 5.2, are made from the same [`Problem`]s, in a file of their own.

mod token;

use std::borrow::Cow;
use std::fmt::Display;

use http::header::{HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, StatusCode};
use openapi_dropshot_runtime::{
    Cause, ErrorAnswer, Rejection, RequestError, Violation, Violations, header_value,
};

use super::context::RequestContext;
use super::rate_limit::rate_limit_headers;
use super::rejection::{Credential, Error};
use crate::domain;
use crate::generated::{catalog, mobile};
use crate::limit::Verdict;
use crate::log::{Caller, ErrorCode};

/// Converts a value of the service to the type of the document.
///
/// # Errors
/// [`domain::Error::Internal`] when the document does not allow it: the service has stored, or made, a value that it may not
/// send. A document whose limits were tightened below what is stored does that.
pub(super) fn published<T, U>(value: T) -> Result<U, domain::Error>
where
    U: TryFrom<T, Error: Display>,
{
    U::try_from(value).map_err(|error| domain::Error::internal(error.to_string()))
}

/// An error answer, before it is put into the words of a document.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    kind: Kind,
    code: &'static str,
    message: &'static str,
    violations: Violations,
    headers: HeaderMap,
    /// The caller, if the answer does not have it otherwise.
    who: Option<Caller>,
    /// What is logged in place of the code.
    logged: Option<&'static str>,
}

/// `error.type`: the closed list of docs/interface.md, "Errors".
#[derive(Clone, Copy, Debug)]
enum Kind {
    Authentication,
    Permission,
    NotFound,
    Validation,
    Conflict,
    RateLimit,
    Server,
}

impl Problem {
    fn new(status: StatusCode, kind: Kind, code: &'static str, message: &'static str) -> Problem {
        Problem {
            status,
            kind,
            code,
            message,
            violations: Violations::default(),
            headers: HeaderMap::new(),
            who: None,
            logged: None,
        }
    }

    /// Returns the code that is logged.
    fn logged(&self) -> ErrorCode {
        ErrorCode(self.logged.unwrap_or(self.code))
    }

    /// Returns what a page answers with, a status, headers such as Retry-After, and a sentence; and the code that is logged.
    pub(crate) fn for_page(self) -> (StatusCode, HeaderMap, Cow<'static, str>, ErrorCode) {
        let (message, logged) = (self.message(), self.logged());
        (self.status, self.headers, message, logged)
    }

    fn header(mut self, name: HeaderName, value: impl Display) -> Problem {
        self.headers.insert(name, header_value(value));
        self
    }

    /// Addresses it to a known caller, which is therefore told where it stands (docs/decisions.md, R2).
    fn told(mut self, verdict: Option<Verdict>, who: Caller) -> Problem {
        let headers = verdict.iter().flat_map(rate_limit_headers);
        self.headers.extend(headers);
        self.who = Some(who);
        self
    }

    fn violations(mut self, violations: Violations) -> Problem {
        self.violations = violations;
        self
    }

    /// Returns the message, with the number of violations if not all of them are listed.
    fn message(&self) -> Cow<'static, str> {
        match (self.violations.total(), self.violations.len()) {
            (total, listed) if total > listed => {
                let message = self.message;
                format!("{message}; {total} violations, of which {listed} are listed").into()
            }
            _ => self.message.into(),
        }
    }
}

/// Returns what to answer. An error that only we can do something about is logged with its cause.
pub(crate) fn answer(context: &RequestContext, rejection: Rejection<Error>) -> Problem {
    match rejection {
        Rejection::Request(error) => of_request_error(error),
        Rejection::Error(Error::Domain(error)) => {
            let quotas = &context.context().replica.quotas;
            let is_bug = !matches!(error, domain::Error::Unavailable(_));
            if error.cause().is_some() && quotas.admit_failure(is_bug) {
                slog::error!(context.log, "{}", error; "error" => error.causes());
            }
            if let domain::Error::GrantReused(session_id) = &error
                && quotas.admit_stolen(*session_id)
            {
                // A token may have been stolen: a person should look at this.
                slog::warn!(context.log, "{}", error; "session_id" => %session_id);
            }
            of_domain(&error)
        }
        Rejection::Error(error) => {
            if let Some(shortage) = error.shortage() {
                context.context().replica.metrics.refused(shortage);
            }
            of_http(error)
        }
    }
}

fn of_domain(error: &domain::Error) -> Problem {
    use domain::Error;
    let denied =
        |code, message| Problem::new(StatusCode::FORBIDDEN, Kind::Permission, code, message);
    let missing =
        |code, message| Problem::new(StatusCode::NOT_FOUND, Kind::NotFound, code, message);
    let conflict =
        |code, message| Problem::new(StatusCode::CONFLICT, Kind::Conflict, code, message);
    let grant =
        |code, message| Problem::new(StatusCode::BAD_REQUEST, Kind::Validation, code, message);
    match error {
        // At admission it is `Unauthenticated`, which knows what was asked for. After that, only a change by an API key
        // finds that the key has ended meanwhile.
        Error::InvalidToken => unauthenticated(Credential::ApiKey, true),
        Error::ScopeInsufficient => denied(
            "scope_insufficient",
            "This key is READ_ONLY; the request needs a Read & Write key",
        ),
        // What a person asks for is answered by a page, in words of its own.
        Error::RoleInsufficient => denied("role_insufficient", "Your role does not allow this"),
        Error::NotAMember => denied("not_a_member", "You are not a member of this team"),
        Error::ProductNotFound => missing(
            "product_not_found",
            "There is no such product in this team and mode",
        ),
        Error::ItemNotFound => missing(
            "item_not_found",
            "There is no such file or folder in this team",
        ),
        Error::DuplicateSku => conflict("duplicate_sku", "Another active product has this sku"),
        Error::AlreadyArchived => conflict("already_archived", "The product is already archived"),
        Error::IdempotencyKeyReused => conflict(
            "idempotency_key_reused",
            "This idempotency key was used for a different request",
        ),
        Error::InvalidCursor => of_request_error(RequestError {
            cause: Cause::Query,
            violations: Violation::new("after", "cursor", "is not a cursor of this list").into(),
        }),
        Error::InvalidGrant | Error::GrantReused(_) => grant(
            "invalid_grant",
            "The code or refresh token is unknown, expired, spent or not for this client",
        ),
        Error::InvalidClient => grant("invalid_client", "There is no such client"),
        Error::UnauthorizedClient => {
            grant("unauthorized_client", "The client may not use this grant")
        }
        Error::Unavailable(_) => unavailable(),
        // All but the last are for the command line and for pages, which ask for what no request of an API can.
        Error::Missing { .. }
        | Error::Refused(_)
        | Error::Invalid(_)
        | Error::WrongPassword
        | Error::PasskeyRefused
        | Error::TooManyWrongPasswords(_)
        | Error::Deactivated
        | Error::LinkNotValid
        | Error::ProductChanged
        | Error::PasswordsOff
        | Error::IdentityUnknown
        | Error::IdentityTaken
        | Error::CatalogChanged
        | Error::ImportNotKept
        | Error::Internal(_) => internal(),
    }
}

fn of_http(error: Error) -> Problem {
    match error {
        Error::Domain(error) => of_domain(&error),
        Error::Unauthenticated { credential, sent } => unauthenticated(credential, sent),
        Error::Overloaded(_) => unavailable(),
        Error::RateLimited { verdict, who } => {
            let problem = Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                Kind::RateLimit,
                "rate_limit_exceeded",
                "Too many requests; wait for the seconds in Retry-After",
            );
            let retry_after = verdict.retry_after().unwrap_or(1);
            let problem = problem.header(RETRY_AFTER, retry_after);
            problem.told(Some(verdict), *who)
        }
        Error::Short { verdict, who, .. } => unavailable().told(verdict, *who),
        Error::Intercepted {
            error,
            verdict,
            who,
        } => of_domain(&error).told(verdict, *who),
    }
}

/// The log tells whether there was a credential: a program that bans addresses must not ban a user whose browser was made to
/// send a request without one by another site's page.
fn unauthenticated(credential: Credential, sent: bool) -> Problem {
    let message = match credential {
        Credential::ApiKey => "The API key is missing, malformed, unknown, expired or revoked",
        Credential::AccessToken => {
            "The access token is missing, malformed, unknown, expired or revoked"
        }
        Credential::Cookie => "You are not signed in",
    };
    let challenge = if sent {
        "Bearer error=\"invalid_token\""
    } else {
        "Bearer"
    };
    let problem = Problem::new(
        StatusCode::UNAUTHORIZED,
        Kind::Authentication,
        "invalid_token",
        message,
    );
    let problem = Problem {
        logged: (!sent).then_some("no_credential"),
        ..problem
    };
    problem.header(WWW_AUTHENTICATE, challenge)
}

fn unavailable() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        Kind::Server,
        "unavailable",
        "The service cannot answer in time; try again",
    )
    .header(RETRY_AFTER, 1)
}

fn internal() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        Kind::Server,
        "internal_error",
        "Something went wrong on our side",
    )
}

fn of_request_error(error: RequestError) -> Problem {
    let (code, message) = match error.cause {
        Cause::Path => ("invalid_path", "The path is not valid"),
        Cause::Query => ("invalid_query", "The query is not valid"),
        Cause::Header => ("invalid_header", "A header is not valid"),
        Cause::Body => ("invalid_body", "Validation failed"),
        Cause::Method => ("method_not_allowed", "The path does not have this method"),
        Cause::Timeout => ("request_timeout", "The request body did not arrive in time"),
        Cause::TooLarge => ("body_too_large", "The request body is too large"),
        Cause::MediaType => (
            "unsupported_media_type",
            "The content type is not supported",
        ),
        Cause::Internal => return internal(),
    };
    Problem::new(error.cause.status(), Kind::Validation, code, message).violations(error.violations)
}

/// Converts one of our texts to a type of the document.
fn ours<T: for<'a> TryFrom<&'a str, Error: Display>>(text: &str) -> T {
    // Cannot fail. Texts are written in this file or in the runtime, and a test puts each of them into both documents. The
    // runtime makes no longer path and no more violations than the documents allow. The text is not shown, since a panic is
    // logged.
    T::try_from(text)
        .unwrap_or_else(|error| panic!("an error is not what the document says: {error}"))
}

macro_rules! in_the_words_of {
    ($function:ident, $api:ident) => {
        impl Problem {
            /// The error body of this document.
            pub fn $function(self, request_id: &str) -> ErrorAnswer<$api::types::ErrorResponse> {
                use $api::types;
                let is_validation = matches!(self.kind, Kind::Validation);
                let details = is_validation.then(|| {
                    let detail = |violation: &Violation| types::ErrorDetail {
                        path: ours(&violation.path),
                        constraint: ours(violation.constraint),
                        message: ours(&violation.message),
                    };
                    self.violations.iter().map(detail).collect()
                });
                let error = types::Error {
                    type_: match self.kind {
                        Kind::Authentication => types::ErrorType::AuthenticationError,
                        Kind::Permission => types::ErrorType::PermissionError,
                        Kind::NotFound => types::ErrorType::NotFoundError,
                        Kind::Validation => types::ErrorType::ValidationError,
                        Kind::Conflict => types::ErrorType::ConflictError,
                        Kind::RateLimit => types::ErrorType::RateLimitError,
                        Kind::Server => types::ErrorType::ServerError,
                    },
                    code: ours(self.code),
                    message: ours(&self.message()),
                    details,
                    request_id: ours(request_id),
                };
                let logged = self.logged();
                self.with_body(types::ErrorResponse { error }, logged)
            }
        }
    };
}
in_the_words_of!(into_catalog, catalog);
in_the_words_of!(into_mobile, mobile);

impl Problem {
    /// Returns an answer with this body, and the code that is logged.
    fn with_body<E>(self, body: E, logged: ErrorCode) -> ErrorAnswer<E> {
        let mut answer = ErrorAnswer::new(self.status, body);
        answer.headers = self.headers;
        answer.notes.insert(logged);
        if let Some(who) = self.who {
            answer.notes.insert(who);
        }
        answer
    }
}

#[cfg(test)]
mod tests;
