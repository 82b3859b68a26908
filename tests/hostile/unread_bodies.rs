//! A body that nobody reads: hyper closes the connection after the response. A proxy that was not told so sends the request
//! of another client there, who gets 502.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::people::ORIGIN;

/// More than arrives with the head.
const BODY: Body<'_> = Body {
    head: "Content-Length: 40000",
    body: &[b'x'; 40_000],
};

/// A body, and how a request says that it has one.
struct Body<'a> {
    head: &'a str,
    body: &'a [u8],
}

/// A request of each kind: what refuses it, and what reads its body.
const REQUESTS: [(&str, &str); 28] = [
    ("POST", "/nothing"),
    ("POST", "/api/v1/product"),
    ("POST", "/%ff"),
    ("POST", "/api/v1/products/%ff"),
    ("BREW", "/api/v1/products"),
    ("PUT", "/api/v1/products"),
    ("OPTIONS", "/api/v1/products"),
    ("GET", "/api/v1/products"),
    ("POST", "/api/v1/products"),
    ("POST", "//api/v1/products"),
    ("POST", "/api/auth/mobile/token"),
    ("GET", "/"),
    ("HEAD", "/docs"),
    ("GET", "/docs"),
    ("POST", "/docs"),
    ("GET", "/docs/page.css"),
    ("GET", "/api/v1/openapi.json"),
    ("PUT", "/api/v1/openapi.json"),
    ("GET", "/assets/style.css"),
    ("GET", "/sign-in"),
    ("GET", "/sign-in?x=%zz"),
    ("POST", "/sign-in"),
    ("PUT", "/sign-in"),
    ("GET", "/setup/x"),
    ("POST", "/setup/x"),
    ("GET", "/teams/x/products"),
    ("POST", "/teams/x/products/import"),
    ("GET", "/api/auth/mobile/authorize?client_id=%zz"),
];

/// What became of a connection after a request with a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// Its end was told.
    Closed,
    /// It took another request.
    Kept,
    ClosedSilently,
    /// It was reset while the body was being sent, so what was told is not known.
    Reset,
}

/// Whether a client sends a body before it has an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    AtOnce,
    Behind,
}

/// Sends a request with a body, and another one if the connection was not to be closed.
fn after(
    address: &str,
    (method, path): (&str, &str),
    more: &str,
    body: &Body<'_>,
    sent: Sent,
) -> Connection {
    let stream = TcpStream::connect(address).expect("it listens");
    let wait = |time| stream.set_read_timeout(Some(time)).expect("not zero");
    let mut stream = BufReader::new(&stream);
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{}\r\n\
         Content-Type: application/json\r\n{more}\r\n",
        body.head
    );
    let written = stream.get_mut().write_all(head.as_bytes());
    written.expect("the head is read");
    let mut answered = None;
    if sent == Sent::Behind {
        // Who does not read the body answers before it comes.
        wait(Duration::from_millis(300));
        answered = read_head(&mut stream, method);
    }
    wait(Duration::from_secs(20));
    // The server may have closed the connection.
    let _ = stream.get_mut().write_all(body.body);
    let Some(head) = answered.or_else(|| read_head(&mut stream, method)) else {
        return Connection::Reset;
    };
    if head.to_lowercase().contains("connection: close") {
        return Connection::Closed;
    }
    let next = format!("GET /docs HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let written = stream.get_mut().write_all(next.as_bytes());
    match written.is_ok() && read_head(&mut stream, "GET").is_some() {
        true => Connection::Kept,
        false => Connection::ClosedSilently,
    }
}

/// Reads a response to its end, and returns its head: from its status to the empty line.
fn read_head(stream: &mut impl BufRead, method: &str) -> Option<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if &head[before..] != "\r\n" {
            continue;
        }
        // Another head follows the one that only told the client to go on.
        if !head.starts_with("HTTP/1.1 100") {
            break;
        }
        head.clear();
    }
    let lower = head.to_lowercase();
    let length = lower
        .lines()
        .find_map(|it| it.strip_prefix("content-length: "));
    let length = match method {
        "HEAD" => 0,
        _ => length.map_or(0, |it| it.parse().expect("a number")),
    };
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body).ok()?;
    Some(head)
}

#[tokio::test]
async fn a_connection_is_not_closed_without_being_told_when_a_body_is_not_read() {
    let service = given!(Service::own(BINARY, &[("INVOICING_ORIGIN", ORIGIN)]));
    let address = service.caller.base_url().trim_start_matches("http://");
    let (mut known, mut closed) = (0, Vec::new());
    for (method, path) in REQUESTS {
        for more in ["", "Expect: 100-continue\r\n"] {
            let connection = after(address, (method, path), more, &BODY, Sent::Behind);
            known += usize::from(connection != Connection::Reset);
            if connection == Connection::ClosedSilently {
                closed.push(format!("{method} {path} {more}"));
            }
        }
    }
    assert!(closed.is_empty(), "{closed:#?}");
    assert!(
        known >= REQUESTS.len(),
        "of twice as many, {known} are known"
    );
}

/// A proxy that passes bodies on as they come sends them at once.
#[tokio::test]
async fn a_connection_is_not_closed_without_being_told_when_a_body_has_too_much_or_makes_no_sense()
{
    let service = given!(Service::own(BINARY, &[("INVOICING_ORIGIN", ORIGIN)]));
    let address = service.caller.base_url().trim_start_matches("http://");
    let large = "x".repeat(600_000);
    let chunk = format!("{:x}\r\n{}\r\n", 100_000, &large[..100_000]);
    let chunks = format!("{}0\r\n\r\n", chunk.repeat(6));
    let trailers = format!("x: {}\r\n", &large[..1_000]).repeat(20);
    let trailers = format!("1\r\nx\r\n0\r\n{trailers}\r\n");
    let extension = format!("1;{}\r\nx\r\n0\r\n\r\n", &large[..20_000]);
    let (declared, in_chunks) = ("Content-Length: 600000", "Transfer-Encoding: chunked");
    let bodies = [
        ("large", declared, &large),
        ("large, in chunks", in_chunks, &chunks),
        ("many trailers", in_chunks, &trailers),
        ("a long extension", in_chunks, &extension),
        ("a chunk without a size", in_chunks, &"x\r\n".to_owned()),
    ];
    let mut known = 0;
    for (name, head, body) in bodies {
        let body = Body {
            head,
            body: body.as_bytes(),
        };
        for (method, path) in REQUESTS {
            let connection = after(address, (method, path), "", &body, Sent::AtOnce);
            known += usize::from(connection != Connection::Reset);
            let is_told = connection != Connection::ClosedSilently;
            assert!(is_told, "{name}: {method} {path}");
        }
    }
    let all = bodies.len() * REQUESTS.len();
    assert!(known >= all / 2, "of {all}, {known} are known");
}
