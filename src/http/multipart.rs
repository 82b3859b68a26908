//! Reads what an HTML form with a file sends: `multipart/form-data` (RFC 7578).
//!
//! 1. The body is read whole, within [`MAX_BYTES`] and [`DEADLINE`], and is charged to its sender while it arrives, as every
//!    body is.
//! 2. Then it is split into parts. The part with a file name is the file; a form here has one at most. Everything else is a
//!    field, which is text of at most [`FIELD_BYTES`].

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use multer::Multipart;
use openapi_dropshot_runtime::{Cause, RequestError, Violation, constraint};

use crate::domain::product_csv;

/// The most bytes of a body: those of the largest file, and of the form around it.
pub(super) const MAX_BYTES: usize = product_csv::MAX_BYTES + 64 * 1024;

/// How long after its headers a body must have arrived: 5 MiB at 700 kbit/s.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// The most parts of a form.
const PARTS: usize = 16;

/// The most bytes of a field.
const FIELD_BYTES: usize = 4 * 1024;

/// The contents of a form.
pub(super) struct Parts {
    /// Names and values.
    pub(super) fields: Vec<(String, String)>,
    /// The file; empty if none came.
    pub(super) file: Bytes,
}

/// Returns the boundary between the parts, if the headers declare a body in parts, not compressed.
pub(super) fn boundary(headers: &HeaderMap) -> Option<String> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let value = types.next()?.to_str().ok()?;
    let only = types.next().is_none() && !headers.contains_key(CONTENT_ENCODING);
    let boundary = multer::parse_boundary(value).ok().filter(|_| only)?;
    // RFC 2046, section 5.1.1.
    (1..=70).contains(&boundary.len()).then_some(boundary)
}

/// Step 2.
///
/// # Errors
/// 400 for a body that is not such a form, or has more than a form here has.
pub(super) async fn read(bytes: Bytes, boundary: String) -> Result<Parts, RequestError> {
    let whole = stream::once(std::future::ready(Ok::<_, Infallible>(bytes)));
    let mut parts = Multipart::new(whole, boundary);
    let (mut fields, mut file) = (Vec::new(), None);
    for _ in 0..PARTS {
        let Some(part) = parts.next_field().await.map_err(|_| malformed())? else {
            let file = file.unwrap_or_default();
            return Ok(Parts { fields, file });
        };
        let name = part.name().unwrap_or_default().to_owned();
        let is_file = part.file_name().is_some();
        let content = part.bytes().await.map_err(|_| malformed())?;
        if is_file {
            if file.replace(content).is_some() {
                return Err(refused(constraint::REPEATED, "must have one file"));
            }
            continue;
        }
        let text = Some(&content).filter(|it| it.len() <= FIELD_BYTES);
        let text = text.and_then(|it| str::from_utf8(it).ok());
        let text = text.ok_or_else(malformed)?;
        fields.push((name, text.to_owned()));
    }
    Err(malformed())
}

fn malformed() -> RequestError {
    refused(
        constraint::CONTENT_TYPE,
        "must be a form in parts, as browsers send it",
    )
}

fn refused(constraint: &'static str, message: &'static str) -> RequestError {
    RequestError {
        cause: Cause::Body,
        violations: Violation::new("", constraint, message).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(head: &str, content: &str) -> String {
        format!("--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    }

    async fn read(text: String) -> Result<Parts, RequestError> {
        super::read(text.into(), "b".to_owned()).await
    }

    #[tokio::test]
    async fn a_file_comes_with_fields_around_it() {
        let text = part("name=\"mode\"", "test")
            + &part("name=\"file\"; filename=\"a.csv\"", "name\r\n--c\r\nA")
            + &part("name=\"x\"", "1")
            + "--b--\r\n";
        let form = read(text).await.ok().unwrap();
        let fields = [("mode", "test"), ("x", "1")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(form.fields, fields);
        assert_eq!(&form.file[..], b"name\r\n--c\r\nA");
    }

    #[tokio::test]
    async fn what_is_cut_off_too_large_too_many_or_no_text_is_refused() {
        let file = part("name=\"f\"; filename=\"a\"", "A");
        for text in [
            String::new(),
            "--b--".replace('b', "c"),
            part("name=\"a\"", "1"),
            file.clone() + &file + "--b--\r\n",
            part("name=\"a\"", &"1".repeat(FIELD_BYTES + 1)) + "--b--\r\n",
            part("name=\"a\"", "1").repeat(PARTS) + "--b--\r\n",
        ] {
            let told: String = text.chars().take(100).collect();
            assert!(read(text).await.is_err(), "{told}");
        }
    }

    #[test]
    fn a_boundary_is_one_to_seventy_characters_of_a_form_that_is_not_compressed() {
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        for (lines, expected) in [
            (
                &[("content-type", "multipart/form-data; boundary=x")][..],
                true,
            ),
            (
                &[("content-type", "Multipart/Form-Data; Boundary=\"x\"")],
                true,
            ),
            (&[("content-type", "multipart/form-data")], false),
            (
                &[("content-type", "multipart/form-data; boundary=\"\"")],
                false,
            ),
            (&[("content-type", &long)], false),
            (&[("content-type", "multipart/mixed; boundary=x")], false),
            (
                &[
                    ("content-type", "multipart/form-data; boundary=x"),
                    ("content-encoding", "gzip"),
                ],
                false,
            ),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(*name, value.parse().unwrap());
            }
            assert_eq!(boundary(&headers).is_some(), expected, "{lines:?}");
        }
    }
}
