//! Files that never change: a text that all answers share, uncompressed and in gzip.
//!
//! A browser or a proxy caches it and revalidates it each time (`Cache-Control: no-cache`, `ETag`), so that no client goes
//! by a text of another version of the server. Each of the two forms has its own tag (RFC 9110, section 8.8.3.3).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
    VARY,
};
use http::{Response, StatusCode};

use super::compression::{GZIP, SMALL, VARIES, gzip, wants_gzip};

/// A text with its type.
pub(crate) struct File {
    content_type: HeaderValue,
    forms: Forms,
}

/// The forms that a text has.
enum Forms {
    /// Uncompressed alone: gzip would save nothing.
    Plain(Form),
    /// In gzip alone, which every client gets.
    Gzip(Form),
    /// In both.
    Both { plain: Form, gzip: Form },
}

/// The bytes of a form, and the tag that tells them from all others.
struct Form {
    bytes: Bytes,
    tag: HeaderValue,
}

impl Form {
    fn new(bytes: Bytes) -> Form {
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest(&SHA256, &bytes)));
        Form {
            bytes,
            // Cannot fail: quotes and base64url are ASCII.
            tag: tag.try_into().expect("a header value"),
        }
    }
}

impl File {
    /// Returns the file of a text, which is compressed once, here.
    pub(crate) fn new(content_type: HeaderValue, text: impl Into<Bytes>) -> File {
        let text = text.into();
        let forms = match text.len() > SMALL {
            true => Forms::Both {
                gzip: Form::new(gzip(&text, Compression::best())),
                plain: Form::new(text),
            },
            false => Forms::Plain(Form::new(text)),
        };
        File {
            content_type,
            forms,
        }
    }

    /// Returns a file that exists in gzip alone.
    pub(super) fn of_gzip(content_type: HeaderValue, bytes: Bytes) -> File {
        File {
            content_type,
            forms: Forms::Gzip(Form::new(bytes)),
        }
    }

    /// Answers with the form that the headers of the request ask for, unless the client has it already.
    pub(crate) fn answer(&self, request: &HeaderMap) -> Response<Bytes> {
        let mut answer = Response::default();
        let (form, is_gzip) = match &self.forms {
            Forms::Plain(form) => (form, false),
            Forms::Gzip(form) => (form, true),
            Forms::Both { plain, gzip } => match wants_gzip(request, plain.bytes.len()) {
                true => (gzip, true),
                false => (plain, false),
            },
        };
        let has_it = has(request, &form.tag);
        let headers = answer.headers_mut();
        headers.insert(ETAG, form.tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if matches!(self.forms, Forms::Both { .. }) {
            headers.append(VARY, VARIES);
        }
        if has_it {
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            return answer;
        }
        headers.insert(CONTENT_TYPE, self.content_type.clone());
        if is_gzip {
            headers.insert(CONTENT_ENCODING, GZIP);
        }
        *answer.body_mut() = form.bytes.clone();
        answer
    }
}

/// Returns whether the client has the form with this tag (RFC 9110, section 13.1.2: a weak comparison).
fn has(request: &HeaderMap, tag: &HeaderValue) -> bool {
    let lines = request.get_all(IF_NONE_MATCH).iter();
    let tags = lines.flat_map(|line| line.as_bytes().split(|&it| it == b','));
    let mut tags = tags.map(<[u8]>::trim_ascii);
    tags.any(|it| it == b"*" || it.strip_prefix(b"W/").unwrap_or(it) == tag.as_bytes())
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT_ENCODING;

    use super::*;

    fn asked(headers: &[(http::HeaderName, &str)]) -> HeaderMap {
        let headers = headers.iter();
        headers
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn each_form_has_its_tag_and_is_not_sent_again() {
        let file = File::new(HeaderValue::from_static("text/plain"), "text".repeat(1000));
        let plain = file.answer(&asked(&[]));
        let gzip = file.answer(&asked(&[(ACCEPT_ENCODING, "gzip")]));
        assert_eq!((plain.body().len(), gzip.body().len() < 100), (4000, true));
        let tags = [&plain, &gzip].map(|it| it.headers()[ETAG].to_str().unwrap().to_owned());
        assert_ne!(tags[0], tags[1]);
        for (encoding, own, other) in [("identity", 0, 1), ("gzip", 1, 0)] {
            let tag = tags[own].as_str();
            let status = |tags: &str| {
                let headers = [(ACCEPT_ENCODING, encoding), (IF_NONE_MATCH, tags)];
                let answer = file.answer(&asked(&headers));
                assert_eq!(answer.headers()[ETAG], tag);
                assert_eq!(answer.headers()[VARY], "Accept-Encoding");
                (answer.status().as_u16(), answer.body().is_empty())
            };
            for same in [tag, &format!("W/{tag}"), &format!("\"a\" ,{tag}"), "*"] {
                assert_eq!(status(same), (304, true), "{encoding} {same}");
            }
            for different in [tags[other].as_str(), "\"a\"", tag.trim_matches('"'), ""] {
                assert_eq!(status(different), (200, false), "{encoding} {different}");
            }
        }
    }

    #[test]
    fn a_small_text_has_one_form() {
        let file = File::new(HeaderValue::from_static("text/plain"), "text");
        let answer = file.answer(&asked(&[(ACCEPT_ENCODING, "gzip, identity;q=0")]));
        assert_eq!(answer.body(), "text");
        assert!(!answer.headers().contains_key(VARY));
    }
}
