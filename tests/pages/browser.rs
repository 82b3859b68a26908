//! A browser without scripts: it keeps cookies, and sends forms as from a page of the server.

use std::collections::BTreeMap;
use std::fmt;

use form_urlencoded::Serializer;
use test_support::caller::{Caller, Request};
use test_support::response_validator::Received;
use test_support::service::Service;

use crate::BINARY;

/// The origin under which people reach the servers of these tests; nothing listens there, and no
/// request goes there.
pub const ORIGIN: &str = "http://localhost:8080";

/// The session cookie of that origin.
pub const COOKIE: &str = "invoicing-8080";

/// A server with pages, unless the tests run against a deployment.
pub fn server() -> Option<Service> {
    server_with(&[])
}

/// The same, with other settings.
pub fn server_with(settings: &[(&str, &str)]) -> Option<Service> {
    let mut all = vec![("INVOICING_ORIGIN", ORIGIN)];
    all.extend_from_slice(settings);
    Service::own(BINARY, &all).ok()
}

/// The path of the link that a command creates.
pub fn link_path(service: &Service, command: &[&str]) -> String {
    let link = service.command(&[command, &["--origin", ORIGIN]].concat());
    let link = link.expect("an own server");
    let url = link["url"].as_str().expect("a link");
    url.strip_prefix(ORIGIN).expect("a page").to_owned()
}

/// A browser.
pub struct Browser<'a> {
    caller: &'a Caller,
    pub cookies: BTreeMap<String, String>,
}

/// The page that it shows.
pub struct Shown(pub Received);

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}\n{}", self.status(), self.0.headers, self.text())
    }
}

impl<'a> Browser<'a> {
    pub fn new(service: &'a Service) -> Browser<'a> {
        Browser {
            caller: &service.caller,
            cookies: BTreeMap::new(),
        }
    }

    pub async fn get(&mut self, path: &str) -> Shown {
        self.send(Request::new("GET", path)).await
    }

    /// Sends a form, as from a page of the server.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let request = form(path, fields).header("sec-fetch-site", "same-origin");
        self.send(request).await
    }

    /// Sends a form with a file, as from a page of the server.
    pub async fn upload(&mut self, path: &str, fields: &[(&str, &str)], file: &[u8]) -> Shown {
        let request = upload(path, fields, file).header("sec-fetch-site", "same-origin");
        self.send(request).await
    }

    /// Sends a form and follows the answer.
    pub async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let answer = self.post(path, fields).await;
        assert_eq!(answer.status(), 303, "{answer:?}");
        self.follow(&answer).await
    }

    /// Follows an answer, and any further redirects.
    pub async fn follow(&mut self, answer: &Shown) -> Shown {
        let mut shown = self.get(&answer.location()).await;
        for _ in 0..3 {
            if shown.status() == 303 {
                shown = self.get(&shown.location()).await;
            }
        }
        shown
    }

    pub async fn send(&mut self, request: Request) -> Shown {
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let request = match cookies.is_empty() {
            true => request,
            false => request.header("cookie", cookies.join("; ")),
        };
        let received = self
            .caller
            .send_unchecked(request)
            .await
            .expect("it answers");
        for (name, value) in &received.headers {
            if name == "set-cookie" {
                self.keep(value);
            }
        }
        Shown(received)
    }

    fn keep(&mut self, cookie: &str) {
        let pair = cookie.split(';').next().unwrap_or_default();
        let (name, value) = pair.split_once('=').expect("a cookie has a value");
        match cookie.contains("Max-Age=0;") {
            true => _ = self.cookies.remove(name),
            false => _ = self.cookies.insert(name.to_owned(), value.to_owned()),
        }
    }

    /// Signs in, and asserts that it works.
    pub async fn sign_in(&mut self, email: &str, password: &str) {
        let answer = self
            .post("/sign-in", &[("email", email), ("password", password)])
            .await;
        assert_eq!(answer.status(), 303, "{answer:?}");
    }
}

/// A form without headers about its origin.
pub fn form(path: &str, fields: &[(&str, &str)]) -> Request {
    let mut text = Serializer::new(String::new());
    Request::new("POST", path)
        .text(text.extend_pairs(fields).finish())
        .without_header("content-type")
        .header("content-type", "application/x-www-form-urlencoded")
}

/// A form with a file, in the field with this name, without headers about its origin.
pub fn upload(path: &str, fields: &[(&str, &str)], file: &[u8]) -> Request {
    const BOUNDARY: &str = "----boundary-of-a-browser";
    let mut body = Vec::new();
    for (name, value) in fields {
        let head = format!("Content-Disposition: form-data; name=\"{name}\"");
        body.extend(format!("--{BOUNDARY}\r\n{head}\r\n\r\n{value}\r\n").into_bytes());
    }
    let head = "Content-Disposition: form-data; name=\"file\"; filename=\"products.csv\"";
    body.extend(format!("--{BOUNDARY}\r\n{head}\r\nContent-Type: text/csv\r\n\r\n").into_bytes());
    body.extend_from_slice(file);
    body.extend(format!("\r\n--{BOUNDARY}--\r\n").into_bytes());
    Request::new("POST", path)
        .text(body)
        .without_header("content-type")
        .header(
            "content-type",
            format!("multipart/form-data; boundary={BOUNDARY}"),
        )
}

impl Shown {
    pub fn status(&self) -> u16 {
        self.0.status
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.header(name)
    }

    pub fn location(&self) -> String {
        self.header("location").unwrap_or_default().to_owned()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.0.body.clone()).expect("pages are UTF-8")
    }

    /// Fails, printing the page, unless it has this status and text.
    #[track_caller]
    pub fn expect(&self, status: u16, text: &str) -> &Shown {
        assert_eq!(self.status(), status, "{}", self.text());
        assert!(
            self.text().contains(text),
            "{text:?} is not in {}",
            self.text()
        );
        self
    }

    /// The values of the hidden fields with this name, in order.
    pub fn hidden(&self, name: &str) -> Vec<String> {
        let begin = format!("<input type=\"hidden\" name=\"{name}\" value=\"");
        let text = self.text();
        let values = text.split(&begin).skip(1);
        let values = values.filter_map(|rest| rest.split('"').next());
        values.map(str::to_owned).collect()
    }
}
