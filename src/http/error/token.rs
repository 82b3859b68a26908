//! Errors of the token endpoint, in the words of RFC 6749, section 5.2. It has no list of violations: what is wrong goes
//! into a description, limited in length and in its set of characters.

use http::StatusCode;
use http::header::CACHE_CONTROL;
use openapi_dropshot_runtime::{ErrorAnswer, Violation, constraint};

use super::{Kind, Problem, ours};
use crate::generated::mobile;
use crate::log::ErrorCode;

impl Problem {
    /// The error body of the token endpoint (RFC 6749, section 5.2), whose answers must not be stored.
    pub(crate) fn into_token(self, request_id: &str) -> ErrorAnswer<mobile::types::TokenError> {
        let code = self.token_code();
        let body = mobile::types::TokenError {
            error: ours(code),
            error_description: ours(&self.description()),
            request_id: ours(request_id),
        };
        self.with_body(body, ErrorCode(code))
            .header(CACHE_CONTROL, "no-store")
    }

    fn token_code(&self) -> &'static str {
        let unknown_grant = |it: &Violation| it.path == "/grant_type" && it.constraint == "enum";
        match self.kind {
            _ if self.violations.iter().any(unknown_grant) => "unsupported_grant_type",
            // Errors of the grant have no violations, and the code that RFC 6749 gives them.
            Kind::Validation if self.violations.is_empty() => self.code,
            Kind::Validation => "invalid_request",
            Kind::RateLimit => "rate_limit_exceeded",
            _ if self.status == StatusCode::SERVICE_UNAVAILABLE => "temporarily_unavailable",
            _ => "server_error",
        }
    }

    /// Describes what is wrong, in the characters and the length that the document allows: as many violations as fit, and
    /// how many more there are.
    fn description(&self) -> String {
        let mut text = match self.status {
            StatusCode::BAD_REQUEST if !self.violations.is_empty() => String::new(),
            _ => self.message.to_owned(),
        };
        for (told, violation) in self.violations.iter().enumerate() {
            let clause = clause(violation);
            let is_first = text.is_empty();
            // Bytes, of which there are at least as many as characters.
            if !is_first && text.len() + clause.len() > DESCRIPTION - MORE {
                text.push_str(&format!("; and {} more", self.violations.total() - told));
                break;
            }
            if !is_first {
                text.push_str("; ");
            }
            text.push_str(&clause);
        }
        text.chars().take(DESCRIPTION).map(allowed).collect()
    }
}

/// Describes one violation, with a long name cut: its beginning is enough for people.
fn clause(violation: &Violation) -> String {
    let Violation { path, message, .. } = violation;
    match path.char_indices().nth(NAME) {
        None if !path.is_empty() => format!("{path} {message}"),
        None if violation.constraint == constraint::JSON => format!("the body {message}"),
        None => format!("it {message}"),
        Some((end, _)) => format!("{}... {message}", &path[..end]),
    }
}

/// The most characters of a description.
pub(super) const DESCRIPTION: usize = 1000;

/// The most characters of a name in a description.
const NAME: usize = 64;

/// Room for the separators of violations, and for how many more there are.
const MORE: usize = "; ; and 65536 more".len();

/// The character itself if RFC 6749, section 5.2, allows it in a description, or one like it.
fn allowed(character: char) -> char {
    match character {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => character,
        _ => '?',
    }
}
