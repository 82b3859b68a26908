//! The base URL of a client, checked so that a mistake in it is reported at once.

use std::sync::Arc;

use reqwest::Url;

use crate::error::InvalidRequest;

/// Shown in messages as a correct URL.
const EXAMPLE: &str = "https://invoices.example";

/// Returns the base URL, without a trailing slash.
pub(crate) fn parse(text: &str) -> Result<Arc<str>, InvalidRequest> {
    let wrong = |reason: String| InvalidRequest::new("base_url", reason);
    if let Some(reason) = scheme_problem(text) {
        return Err(wrong(reason));
    }
    let url = Url::parse(text).map_err(|error| {
        let shown = shown(text);
        wrong(format!(
            "{shown} is not a URL: {error}; it is given like {EXAMPLE}"
        ))
    })?;
    if url.query().is_some() || url.fragment().is_some() {
        let reason = "it must have neither a query nor a fragment: leave out what follows ? or #";
        return Err(wrong(reason.to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let reason = "it must hold no user name or password: leave out what stands before the @";
        return Err(wrong(reason.to_owned()));
    }
    Ok(url.as_str().trim_end_matches('/').into())
}

/// What is wrong with the scheme. `localhost:8080` has one to a parser, but not to the person who wrote
/// it.
fn scheme_problem(text: &str) -> Option<String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    let is_http = |scheme: &str| {
        ["http", "https"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(scheme))
    };
    if scheme.is_some_and(is_http) {
        return None;
    }
    if text.trim().is_empty() {
        return Some(format!("it is empty; it is given like {EXAMPLE}"));
    }
    let shown = shown(text);
    if text.starts_with('/') || text.contains('@') {
        return Some(format!(
            "{shown} has no http:// or https://; it is given like {EXAMPLE}"
        ));
    }
    let local = ["localhost", "127.", "[::1]"]
        .iter()
        .any(|it| rest.starts_with(it));
    let meant = if local { "http" } else { "https" };
    let problem = match scheme {
        Some(_) => "must begin with http:// or https://",
        None => "has no scheme",
    };
    Some(format!("{shown} {problem}: write {meant}://{rest}"))
}

/// Returns the text, unless it may contain a password.
fn shown(text: &str) -> String {
    match text.contains('@') {
        true => "it".to_owned(),
        false => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_mistake_is_named_with_what_to_write_instead() {
        let reason = |text| parse(text).unwrap_err().reason;
        for (text, expected) in [
            ("", "it is empty; it is given like https://invoices.example"),
            (
                "invoices.example",
                r#""invoices.example" has no scheme: write https://invoices.example"#,
            ),
            (
                "localhost:8080",
                r#""localhost:8080" has no scheme: write http://localhost:8080"#,
            ),
            (
                "127.0.0.1:8080/x",
                r#""127.0.0.1:8080/x" has no scheme: write http://127.0.0.1:8080/x"#,
            ),
            (
                "ftp://a.example",
                r#""ftp://a.example" must begin with http:// or https://: write https://a.example"#,
            ),
            (
                "/api",
                r#""/api" has no http:// or https://; it is given like https://invoices.example"#,
            ),
            (
                "https://",
                r#""https://" is not a URL: empty host; it is given like https://invoices.example"#,
            ),
        ] {
            assert_eq!(reason(text), expected);
        }
        for secret in [
            "https://u:hush@a.example",
            "u:hush@a.example",
            "ftp://u:hush@a",
            "http://u:hush@",
        ] {
            assert!(!reason(secret).contains("hush"), "{secret}");
        }
    }

    #[test]
    fn a_good_one_loses_its_slash() {
        assert_eq!(
            &*parse("HTTPS://a.example/b/").unwrap(),
            "https://a.example/b"
        );
    }
}
