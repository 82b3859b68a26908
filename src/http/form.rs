//! Reads what an HTML form sends, and what OAuth sends like one: `application/x-www-form-urlencoded`, or, with a file,
//! `multipart/form-data` ([`super::multipart`]).
//!
//! For endpoints that no document has. A field that is not asked for is ignored, and a repeated one is an error (RFC 6749,
//! section 3.1).

use async_trait::async_trait;
use bytes::Bytes;
use dropshot::{
    ApiEndpointBodyContentType, ExclusiveExtractor, ExtensionMode, ExtractorMetadata, HttpError,
    RequestContext, ServerContext,
};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use openapi_dropshot_runtime::{
    Cause, Remainder, RequestBody, RequestError, Violation, constraint,
};

use super::multipart::{self, Parts};
use crate::budget::Charge;

pub(crate) const URL_ENCODED: &str = "application/x-www-form-urlencoded";

pub(crate) const MULTIPART: &str = "multipart/form-data";

/// A form that has not been read yet.
pub(crate) struct UnreadForm {
    encoding: Option<Encoding>,
    /// The error message if there is none.
    otherwise: &'static str,
    body: RequestBody,
}

/// The most fields of a form.
const FIELDS: usize = 100;

/// How the fields of a form are encoded.
enum Encoding {
    Url,
    /// In parts with this boundary between them.
    Multipart(String),
}

/// A form.
#[derive(Default)]
pub(crate) struct Form {
    /// Names and values.
    fields: Vec<(String, String)>,
    file: Bytes,
    /// What was charged for it.
    pub(super) charge: Option<Charge>,
}

#[async_trait]
impl ExclusiveExtractor for UnreadForm {
    async fn from_request<Context: ServerContext>(
        _: &RequestContext<Context>,
        request: hyper::Request<dropshot::Body>,
    ) -> Result<UnreadForm, HttpError> {
        let (head, body) = request.into_parts();
        Ok(UnreadForm {
            encoding: is_form(&head.headers).then_some(Encoding::Url),
            otherwise: "must be application/x-www-form-urlencoded",
            body: RequestBody::new(&head.headers, body),
        })
    }

    fn metadata(_: ApiEndpointBodyContentType) -> ExtractorMetadata {
        ExtractorMetadata {
            extension_mode: ExtensionMode::None,
            parameters: Vec::new(),
        }
    }
}

/// A form with a file, not read yet.
pub(crate) struct UnreadUpload(UnreadForm);

impl From<UnreadUpload> for UnreadForm {
    fn from(upload: UnreadUpload) -> UnreadForm {
        upload.0
    }
}

#[async_trait]
impl ExclusiveExtractor for UnreadUpload {
    async fn from_request<Context: ServerContext>(
        _: &RequestContext<Context>,
        request: hyper::Request<dropshot::Body>,
    ) -> Result<UnreadUpload, HttpError> {
        let (head, body) = request.into_parts();
        let body = RequestBody::new(&head.headers, body);
        Ok(UnreadUpload(UnreadForm {
            encoding: multipart::boundary(&head.headers).map(Encoding::Multipart),
            otherwise: "must be multipart/form-data with a boundary",
            body: body.allowing(multipart::MAX_BYTES, multipart::DEADLINE),
        }))
    }

    fn metadata(_: ApiEndpointBodyContentType) -> ExtractorMetadata {
        ExtractorMetadata {
            extension_mode: ExtensionMode::None,
            parameters: Vec::new(),
        }
    }
}

impl UnreadForm {
    /// Has what is not read of its body left to whoever makes the response.
    pub(crate) fn remainder(&mut self) -> Remainder {
        self.body.remainder()
    }

    /// Whether a file may come with it.
    pub(super) fn has_file(&self) -> bool {
        matches!(self.encoding, Some(Encoding::Multipart(_)))
    }

    /// The most bytes of memory that its body takes while it is read.
    pub(super) fn expected_bytes(&self) -> usize {
        self.body.expected_bytes()
    }

    /// Reads the form.
    ///
    /// # Errors
    /// 413, 415 and 408, in that order, as for a body of JSON.
    pub(super) async fn read(mut self) -> Result<Form, RequestError> {
        self.body.check_declared_length()?;
        match self.encoding {
            Some(Encoding::Url) => Form::encoded(&self.body.read().await?),
            Some(Encoding::Multipart(boundary)) => {
                let bytes = self.body.read().await?;
                let Parts { fields, file } = multipart::read(bytes, boundary).await?;
                Ok(Form {
                    fields,
                    file,
                    ..Form::default()
                })
            }
            None => Err(RequestError::media_type(self.otherwise)),
        }
    }
}

/// Returns whether the headers declare the body to be a form, not compressed.
fn is_form(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let essence = types
        .next()
        .and_then(|it| it.as_bytes().split(|&byte| byte == b';').next());
    let essence = essence.unwrap_or_default().trim_ascii();
    essence.eq_ignore_ascii_case(URL_ENCODED.as_bytes())
        && types.next().is_none()
        && !headers.contains_key(CONTENT_ENCODING)
}

impl Form {
    /// # Errors
    /// 400 for more than [`FIELDS`], none of which is read: there may be thirty thousand, each of which would take fifty
    /// times its size on the wire. And for bytes that are not UTF-8: each would take three bytes.
    fn encoded(bytes: &[u8]) -> Result<Form, RequestError> {
        let refused = |constraint, message| RequestError {
            cause: Cause::Body,
            violations: Violation::new("", constraint, message).into(),
        };
        if bytes.iter().filter(|&&byte| byte == b'&').count() >= FIELDS {
            return Err(refused("maxProperties", "has more than 100 fields"));
        }
        if str::from_utf8(bytes).is_err() {
            return Err(refused(constraint::CONTENT_TYPE, "is not UTF-8"));
        }
        Ok(Form {
            fields: form_urlencoded::parse(bytes).into_owned().collect(),
            ..Form::default()
        })
    }

    /// The file that came with it; empty if none did.
    pub(crate) fn file(&self) -> &Bytes {
        &self.file
    }

    /// The values of these fields, none of which may be repeated; one that is missing is empty.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(crate) fn fields<const N: usize>(
        &self,
        names: [&str; N],
    ) -> Result<[String; N], RequestError> {
        let mut violations = Vec::new();
        let values = names.map(|name| {
            let value = self.field(name);
            value.unwrap_or_else(|violation| {
                violations.push(violation);
                String::new()
            })
        });
        unless_any(violations, values)
    }

    /// The values of these fields, none of which may be missing, empty or repeated.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(super) fn required<const N: usize>(
        self,
        names: [&str; N],
    ) -> Result<[String; N], RequestError> {
        let mut violations = Vec::new();
        let values = names.map(|name| {
            let violation = match self.field(name) {
                Ok(value) if value.is_empty() => Violation::new(name, "required", "is required"),
                Ok(value) => return value,
                Err(violation) => violation,
            };
            violations.push(violation);
            String::new()
        });
        unless_any(violations, values)
    }

    /// The value of a field; empty if there is none.
    fn field(&self, name: &str) -> Result<String, Violation> {
        let mut found = self.fields.iter().filter(|(it, _)| it == name);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => {
                let message = "is given more than once";
                Err(Violation::new(name, constraint::REPEATED, message))
            }
            (value, _) => Ok(value.map_or_else(String::new, |(_, value)| value.clone())),
        }
    }
}

/// The values, if nothing is wrong with them.
fn unless_any<T>(violations: Vec<Violation>, values: T) -> Result<T, RequestError> {
    match violations.is_empty() {
        true => Ok(values),
        false => Err(RequestError {
            cause: Cause::Body,
            violations: violations.into_iter().collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        Form::encoded(text.as_bytes()).ok().unwrap()
    }

    #[test]
    fn a_form_has_a_hundred_fields_at_most() {
        let fields = |count| vec!["a"; count].join("&");
        assert_eq!(form(&fields(FIELDS)).fields.len(), FIELDS);
        let refused = Form::encoded(fields(FIELDS + 1).as_bytes());
        let violations = refused.err().unwrap().violations;
        assert_eq!(violations[0].constraint, "maxProperties");
        assert!(Form::encoded("&".repeat(60_000).as_bytes()).is_err());
    }

    #[test]
    fn a_form_is_utf_8_as_it_is_sent() {
        assert_eq!(form("name=Zoë").required(["name"]).unwrap(), ["Zoë"]);
        let refused = Form::encoded(b"name=Zo\xeb").err().unwrap();
        assert_eq!(refused.violations[0].constraint, "contentType");
    }

    #[test]
    fn fields_are_decoded_and_others_are_ignored() {
        let form = form("token=a%2Bb+c&x=1&x=2&client_id=app");
        assert_eq!(
            form.required(["client_id", "token"]).unwrap(),
            ["app", "a+b c"]
        );
    }

    #[test]
    fn a_field_that_is_missing_empty_or_repeated_is_told() {
        let error = form("a=&b=1&b=2").required(["a", "b", "c"]).unwrap_err();
        let told: Vec<_> = error
            .violations
            .iter()
            .map(|it| (&it.path[..], it.constraint))
            .collect();
        assert_eq!(
            told,
            [("a", "required"), ("b", "repeated"), ("c", "required")]
        );
    }

    #[test]
    fn only_a_form_that_is_not_compressed_is_one() {
        let form = "application/x-www-form-urlencoded";
        for (headers, expected) in [
            (vec![("content-type", form)], true),
            (
                vec![(
                    "content-type",
                    "Application/X-WWW-Form-Urlencoded ; charset=utf-8",
                )],
                true,
            ),
            (vec![], false),
            (vec![("content-type", "application/json")], false),
            (vec![("content-type", form), ("content-type", form)], false),
            (
                vec![("content-type", form), ("content-encoding", "gzip")],
                false,
            ),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(name, value.parse().unwrap());
            }
            assert_eq!(is_form(&map), expected, "{map:?}");
        }
    }
}
