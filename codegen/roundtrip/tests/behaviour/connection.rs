//! A server for each test, and raw connections to it that hide nothing.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use dropshot::{ApiDescription, ConfigDropshot, HttpServer, ServerBuilder};
use openapi_dropshot_roundtrip::{Answered, bodies, library, parcels, petstore, security, shapes};
use serde_json::Value;
use slog::{Drain, Level, Logger, Never, OwnedKVList, Record, o};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server for all the test documents.
pub struct Server {
    http: HttpServer<Answered>,
    errors: Errors,
}

/// The messages of the lines that were logged as errors.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<String>>>);

impl Drain for Errors {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        if record.level().is_at_least(Level::Error) {
            self.0.lock().unwrap().push(record.msg().to_string());
        }
        Ok(())
    }
}

impl Server {
    pub fn start() -> Server {
        let mut api = ApiDescription::new();
        bodies::register::<bodies::Cabinet>(&mut api).unwrap();
        library::register::<library::Library>(&mut api).unwrap();
        parcels::register::<parcels::Carrier>(&mut api).unwrap();
        petstore::register::<petstore::Store>(&mut api).unwrap();
        security::register::<security::Doors>(&mut api).unwrap();
        shapes::register::<shapes::Ruler>(&mut api).unwrap();
        let errors = Errors::default();
        let log = Logger::root(errors.clone(), o!());
        let config = ConfigDropshot {
            bind_address: SocketAddr::from(([127, 0, 0, 1], 0)),
            ..ConfigDropshot::default()
        };
        let http = ServerBuilder::new(api, Answered::default(), log)
            .config(config)
            .start()
            .unwrap();
        Server { http, errors }
    }

    pub async fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.http.local_addr()).await.unwrap();
        Connection {
            stream,
            unread: Vec::new(),
        }
    }

    /// Sends one request with these header lines on a connection of its own.
    pub async fn send(&self, request: &str, headers: &[&str], body: &str) -> Response {
        let mut connection = self.connect().await;
        connection.write(&head(request, headers, body.len())).await;
        connection.write(body).await;
        connection.answer().await
    }

    /// What the hook received of the responses.
    pub fn answered(&self) -> Vec<String> {
        self.http.app_private().all()
    }

    /// What has been logged as an error.
    pub fn errors(&self) -> Vec<String> {
        self.errors.0.lock().unwrap().clone()
    }
}

/// The head of a request that declares a body of this length.
pub fn head(request: &str, headers: &[&str], length: usize) -> String {
    let mut head = format!("{request} HTTP/1.1\r\nHost: test\r\n");
    for header in headers {
        head += &format!("{header}\r\n");
    }
    if length > 0 {
        head += &format!("Content-Length: {length}\r\n");
    }
    head + "\r\n"
}

pub struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// A response, possibly an interim one such as `100 Continue`.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self
            .head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(it, _)| it.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Connection {
    pub async fn write(&mut self, text: impl AsRef<[u8]>) {
        self.stream.write_all(text.as_ref()).await.unwrap();
    }

    /// Ends the client's side: nothing more will be sent.
    pub async fn finish(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// The next response.
    pub async fn answer(&mut self) -> Response {
        let head = loop {
            match self.unread.windows(4).position(|it| it == b"\r\n\r\n") {
                Some(end) => break self.take(end + 4),
                None => assert!(self.read().await > 0, "closed: {:?}", self.unread),
            }
        };
        let status = head[9..12].parse().unwrap();
        let mut answer = Response {
            status,
            head,
            body: String::new(),
        };
        let length = answer
            .header("content-length")
            .map_or(0, |it| it.parse().unwrap());
        while self.unread.len() < length {
            assert!(self.read().await > 0, "closed within a body");
        }
        answer.body = self.take(length);
        answer
    }

    /// Everything until the server closes the connection.
    pub async fn rest(&mut self) -> String {
        while self.read().await > 0 {}
        let length = self.unread.len();
        self.take(length)
    }

    /// Whether the server closes the connection without sending anything more.
    pub async fn is_closed(&mut self) -> bool {
        self.unread.is_empty() && self.read().await == 0
    }

    fn take(&mut self, length: usize) -> String {
        String::from_utf8(self.unread.drain(..length).collect()).unwrap()
    }

    async fn read(&mut self) -> usize {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer).await.unwrap_or(0);
        self.unread.extend_from_slice(&buffer[..count]);
        count
    }
}
