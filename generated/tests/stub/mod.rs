// A tiny HTTP server for the tests and the documentation examples of this crate: a closure computes
// the response to each request, and the server records what it received. Plain threads, so that it
// runs the same under any runtime and under paused time. (No `//!` here: the examples `include!`
// this file.)

/// A server on a port of its own.
#[allow(dead_code)]
pub struct Stub {
    url: String,
    requests: std::sync::Arc<std::sync::Mutex<Vec<Request>>>,
}

/// A request as it was received.
#[allow(dead_code)]
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

#[allow(dead_code)]
impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }
}

/// The response to send.
#[allow(dead_code)]
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

#[allow(dead_code)]
impl Reply {
    pub fn new(status: u16) -> Reply {
        let headers = vec![("x-request-id".to_owned(), "req-1".to_owned())];
        Reply {
            status,
            headers,
            body: Some(String::new()),
        }
    }

    /// No response: the connection is closed after the request was read.
    pub fn hang_up() -> Reply {
        Reply {
            status: 0,
            headers: Vec::new(),
            body: None,
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: &str) -> Reply {
        self.body = Some(body.to_owned());
        self
    }

    /// Replaces a text in the body.
    pub fn replace(mut self, from: &str, to: &str) -> Reply {
        self.body = self.body.map(|body| body.replace(from, to));
        self
    }

    pub fn json(status: u16, body: impl ToString) -> Reply {
        let reply = Reply::new(status).header("content-type", "application/json");
        reply
            .header("ratelimit", "\"default\";r=199;t=1")
            .body(&body.to_string())
    }

    pub fn error(status: u16, error_type: &str, code: &str) -> Reply {
        let error = serde_json::json!({
            "type": error_type, "code": code, "message": "No.", "request_id": "req-1",
        });
        Reply::json(status, serde_json::json!({ "error": error }))
    }

    pub fn oauth_error(status: u16, code: &str) -> Reply {
        let error = serde_json::json!({
            "error": code, "error_description": "No.", "request_id": "req-1",
        });
        Reply::json(status, error)
    }

    /// A product as the documents show one.
    pub fn product(status: u16) -> Reply {
        let location = "/api/v1/products/018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
        let reply = Reply::json(status, format!(r#"{{ "data": {PRODUCT} }}"#));
        if status == 201 {
            reply.header("location", location)
        } else {
            reply
        }
    }

    pub fn products(products: &[&str], next: Option<&str>) -> Reply {
        let (products, more) = (products.join(","), next.is_some());
        let next = serde_json::json!(next);
        let page =
            format!(r#"{{ "data": [{products}], "hasMore": {more}, "nextCursor": {next} }}"#);
        Reply::json(200, format!(r#"{{ "data": {page} }}"#))
    }

    pub fn tokens(access: &str, refresh: &str) -> Reply {
        Reply::json(
            200,
            serde_json::json!({
                "access_token": access, "refresh_token": refresh, "token_type": "Bearer",
                "expires_in": 3600, "user_id": "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a01",
            }),
        )
    }
}

/// Text, because a JSON library would change the price `120.0`.
#[allow(dead_code)]
pub const PRODUCT: &str = r#"{
    "id": "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49", "name": "Consulting",
    "unitPrice": 120.00, "currency": "EUR", "description": null, "sku": "C-1",
    "taxRate": 19, "type": "SERVICES", "unitOfMeasure": "hr", "status": "active",
    "createdAt": "2026-11-20T21:49:00.123Z", "updatedAt": "2026-11-20T21:49:00.123Z"
}"#;

#[allow(dead_code)]
impl Stub {
    /// Computes the response to every request with the closure.
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Stub {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let requests = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let (seen, answer) = (requests.clone(), std::sync::Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (seen.clone(), answer.clone());
                std::thread::spawn(move || Stub::serve(stream, &seen, &*answer));
            }
        });
        Stub { url, requests }
    }

    /// Sends one reply after another, repeating the last one.
    pub fn script(replies: impl IntoIterator<Item = Reply>) -> Stub {
        let mut replies = replies.into_iter().collect::<Vec<_>>();
        replies.reverse();
        let replies = std::sync::Mutex::new(replies);
        Stub::start(move |_| {
            let mut replies = replies.lock().expect("no panic");
            if replies.len() > 1 {
                replies.pop()
            } else {
                replies.last().cloned()
            }
            .expect("a script has a reply")
        })
    }

    /// Responds to every operation with a success.
    pub fn example() -> Stub {
        Stub::start(
            |request| match (request.method.as_str(), request.target.as_str()) {
                ("POST", "/api/auth/mobile/token") => Reply::tokens("access-2", "refresh-2"),
                ("POST", _) => Reply::product(201),
                ("DELETE", _) => Reply::new(204),
                ("GET", target) if target.ends_with("/links") => Stub::links(),
                ("GET", "/api/v1/products") => Reply::products(&[PRODUCT], None),
                ("GET", target) if target.starts_with("/api/v1/products?") => {
                    Reply::products(&[PRODUCT], None)
                }
                _ => Reply::product(200),
            },
        )
    }

    pub fn links() -> Reply {
        let id = |last: u8| format!("018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a{last:02}");
        let link = serde_json::json!({
            "id": id(2), "url": "https://invoices.example/l/Vt1", "name": null,
            "itemType": "file", "itemId": id(3), "audience": "public",
            "permissions": { "canView": true, "canDownload": false },
            "passwordProtected": false, "expiresAt": null, "status": "active", "viewCount": 4,
            "downloadCount": 0, "lastViewedAt": null,
            "createdBy": { "id": id(1), "displayName": "Ada" },
            "createdAt": "2026-11-20T21:49:00.123Z", "updatedAt": "2026-11-20T21:49:00.123Z",
        });
        Reply::json(
            200,
            serde_json::json!({
                "data": { "data": [link], "hasMore": false, "nextCursor": null },
            }),
        )
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Everything received so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic").clone()
    }

    fn serve(
        stream: std::net::TcpStream,
        seen: &std::sync::Mutex<Vec<Request>>,
        answer: &dyn Fn(&Request) -> Reply,
    ) -> Option<()> {
        use std::io::Write;
        let mut reader = std::io::BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        while let Some(request) = Stub::read(&mut reader) {
            seen.lock().expect("no panic").push(request.clone());
            let reply = answer(&request);
            let body = reply.body?;
            let mut text = format!("HTTP/1.1 {} Reply\r\n", reply.status);
            for (name, value) in &reply.headers {
                text += &format!("{name}: {value}\r\n");
            }
            // A 204 has no body and no length.
            if reply.status != 204 && !text.contains("content-length") {
                text += &format!("content-length: {}\r\n", body.len());
            }
            stream
                .write_all(format!("{text}\r\n{body}").as_bytes())
                .ok()?;
            if text.contains("content-length") && text.contains("connection: close") {
                return None;
            }
        }
        None
    }

    fn read(reader: &mut impl std::io::BufRead) -> Option<Request> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let mut start = lines.first()?.split(' ').map(str::to_owned);
        let headers: Vec<(String, String)> = lines[1..]
            .iter()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, value)| value.parse().expect("a length"));
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Request {
            method: start.next()?,
            target: start.next()?,
            headers,
            body: String::from_utf8(body).ok()?,
        })
    }
}
