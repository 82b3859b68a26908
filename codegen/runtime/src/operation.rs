//! Operations of the document, as static data.
//!
//! The generator writes one [`Operation`] for each operation of a document. Everything that the runtime does
//! to a request or a response, it looks up here.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};

use crate::schema::Schema;
use crate::security::Required;

/// One method of one path, as the document describes it.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// The path template: `/api/v1/products/{id}`.
    pub path: &'static str,
    /// `summary`
    pub summary: Option<&'static str>,
    /// `description`
    pub description: Option<&'static str>,
    /// `tags`
    pub tags: &'static [&'static str],
    /// `deprecated`
    pub deprecated: bool,
    /// The alternatives for authorization, each a list of schemes that are all required; no alternatives if it
    /// is public. An empty list is for callers without a credential.
    pub security: &'static [&'static [Required]],
    /// The parameters, in the document's order.
    pub parameters: &'static [Parameter],
    /// The body of a request.
    pub body: Option<Body>,
    /// The success.
    pub success: Listed,
    /// Further successes, which differ in status.
    pub further: &'static [Listed],
    /// Every other response, narrower statuses first.
    pub errors: &'static [Listed],
}

/// A parameter of an operation.
#[derive(Debug)]
pub struct Parameter {
    /// The name on the wire.
    pub name: &'static str,
    /// Where it is sent.
    pub location: Location,
    /// Whether it is required.
    pub required: bool,
    /// `description`
    pub description: Option<&'static str>,
    /// The schema of its value.
    pub schema: Schema,
    /// The text used if it is absent.
    pub default: Option<&'static str>,
}

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// For example `application/json`; `*/*` for any.
    pub media_type: &'static str,
    /// Whether it is required.
    pub required: bool,
    /// The schema of its value; `None` for bytes, which have none.
    pub schema: Option<&'static Schema>,
}

/// Where a parameter is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a segment of the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

/// Which statuses a response of the document has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Exactly this one: 101, 200 to 399 or 400 to 599.
    Code(u16),
    /// `4XX` or `5XX`, by its first digit.
    Class(u16),
    /// `default`: of an error, every status that no other response covers; of a success, which is then the
    /// only response, all.
    Other,
}

/// A response that the document lists for an operation.
#[derive(Debug)]
pub struct Listed {
    /// Its status, or, for errors, several.
    pub status: Status,
    /// `description`
    pub description: &'static str,
    /// The headers that it may have.
    pub headers: &'static [AnswerHeader],
    /// The component that describes its body.
    pub component: Option<&'static str>,
    /// The media type of its body, if that is JSON under a name other than `application/json`.
    pub json_type: Option<&'static str>,
}

/// A header of a response.
#[derive(Debug)]
pub struct AnswerHeader {
    /// The name, as the document spells it.
    pub name: &'static str,
    /// Whether every response of this status has it.
    pub required: bool,
    /// `description`
    pub description: Option<&'static str>,
}

impl Listed {
    /// Returns the status of a success; `None` if the handler sets it.
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self.status {
            // The generator only writes valid ones.
            Status::Code(code) => StatusCode::from_u16(code).ok(),
            Status::Class(_) | Status::Other => None,
        }
    }

    fn has(&self, status: StatusCode) -> bool {
        match self.status {
            Status::Code(code) => status == code,
            Status::Class(digit) => status.as_u16() / 100 == digit,
            Status::Other => status.is_client_error() || status.is_server_error(),
        }
    }
}

impl Operation {
    /// Returns the response that the document lists for this status.
    pub fn listed(&self, status: StatusCode) -> Option<&Listed> {
        if self.success.status == Status::Other {
            return Some(&self.success);
        }
        std::iter::once(&self.success)
            .chain(self.further)
            .chain(self.errors)
            .find(|listed| listed.has(status))
    }

    /// Sets the media type of a JSON response to the document's name for it.
    pub(crate) fn name_type<B>(&self, response: &mut Response<B>) {
        let listed = self.listed(response.status());
        if let Some(name) = listed.and_then(|it| it.json_type)
            && let Some(value) = response.headers_mut().get_mut(CONTENT_TYPE)
        {
            *value = HeaderValue::from_static(name);
        }
    }

    /// Returns whether any error has a body.
    pub(crate) fn describes_errors(&self) -> bool {
        self.errors.iter().any(|it| it.component.is_some())
    }

    /// Returns whether its success makes the connection a websocket.
    pub fn is_upgrade(&self) -> bool {
        self.success.status == Status::Code(101)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::tests::LIST_AS_IS;

    #[test]
    fn an_operation_that_succeeds_with_101_is_an_upgrade() {
        assert!(!LIST_AS_IS.is_upgrade());
        let upgrade = Operation {
            success: Listed {
                status: Status::Code(101),
                ..LIST_AS_IS.success
            },
            ..LIST_AS_IS
        };
        assert!(upgrade.is_upgrade());
    }
}
