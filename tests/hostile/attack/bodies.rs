//! Bodies that do not end, started and abandoned or in pieces of one byte, and those that come whole again and again.

use std::io::{self, Read as _, Write as _};
use std::iter;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::{Connection, Protocol, Request, SOCKET_TIMEOUT, Target, address, each, http2};

/// The start of every body: the value of a member that goes on and on.
const BEGINNING: &[u8] = br#"{"name":""#;

/// Requests whose bodies are started, `each_sends` of them from each address: over HTTP/1.1 a connection each, over
/// HTTP/2 streams of one connection.
pub fn begun(
    target: &Target,
    request: &Request,
    protocol: Protocol,
    addresses: u32,
    each_sends: u32,
) -> Vec<Connection> {
    match protocol {
        Protocol::Http1 => each(addresses * each_sends, |number| {
            begin_over_http1(target, request, number / each_sends)
        }),
        Protocol::Http2 => each(addresses, |number| {
            begin_over_http2(target, request, number, each_sends)
        }),
    }
}

fn begin_over_http1(target: &Target, request: &Request, number: u32) -> io::Result<Connection> {
    let mut bytes = request.head("content-length: 1000\r\n").into_bytes();
    bytes.extend(BEGINNING);
    let mut connection = target.connect(number, Protocol::Http1)?;
    connection.write_all(&bytes)?;
    Ok(connection)
}

/// Starts several requests of the attacker `number` over one connection.
pub fn begin_over_http2(
    target: &Target,
    request: &Request,
    number: u32,
    streams: u32,
) -> io::Result<Connection> {
    let mut bytes = http2::preface(http2::WIDE);
    for stream in (0..streams).map(http2::stream) {
        bytes.extend(http2::head(stream, request, true));
        bytes.extend(http2::data(stream, BEGINNING));
    }
    let mut connection = target.connect(number, Protocol::Http2)?;
    connection.write_all(&bytes)?;
    Ok(connection)
}

/// Several requests of the attacker `number` over one connection, each with a body of 50 bytes that never starts.
pub fn announce_over_http2(
    target: &Target,
    request: &Request,
    number: u32,
    streams: u32,
) -> io::Result<Connection> {
    let mut request = request.clone();
    let length = ("content-length".to_owned(), "50".to_owned());
    request.headers.push(length);
    let mut bytes = http2::preface(http2::WIDE);
    for stream in (0..streams).map(http2::stream) {
        bytes.extend(http2::head(stream, &request, true));
    }
    let mut connection = target.connect(number, Protocol::Http2)?;
    connection.write_all(&bytes)?;
    Ok(connection)
}

/// Requests of many addresses, each with `each_sends` of them on one connection, and of each body all of `size` bytes
/// except the end.
pub fn unended_by_many(
    target: &Target,
    request: &Request,
    (addresses, each_sends): (u32, u32),
    size: usize,
) -> Vec<Connection> {
    let mut body = BEGINNING.to_vec();
    body.resize(size, b'x');
    let mut bytes = Vec::new();
    for stream in (0..each_sends).map(http2::stream) {
        bytes.extend(http2::head(stream, request, true));
        for piece in body.chunks(piece_size(Cut::Plain)) {
            bytes.extend(http2::data(stream, piece));
        }
    }
    each(addresses, |number| {
        let mut connection = target.connect(number, Protocol::Http2)?;
        connection.write_all(&http2::preface(http2::WIDE))?;
        http2::wait_for_window(&mut connection)?;
        connection.write_all(&bytes)?;
        Ok(connection)
    })
}

/// How a body is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// As few pieces as possible.
    Plain,
    /// A chunk, or a frame, for each 16 bytes: as small as they may be (docs/decisions.md, B22).
    Small,
    /// A chunk, or a frame, for each byte.
    Bytes,
}

/// Requests with all of a body of `size` bytes except its end, a connection each.
pub fn unended(
    target: &Target,
    request: &Request,
    protocol: Protocol,
    (size, cut): (usize, Cut),
    count: u32,
) -> Vec<Connection> {
    let mut body = BEGINNING.to_vec();
    body.resize(size, b'x');
    let bytes = match protocol {
        Protocol::Http1 => in_chunks(request, &body, cut),
        Protocol::Http2 => in_frames(request, &body, cut),
    };
    each(count, |number| {
        let mut connection = target.connect(number, protocol)?;
        connection.write_all(&bytes)?;
        Ok(connection)
    })
}

/// Requests with a body that are sent again and again.
pub struct Flood {
    goes_on: Arc<AtomicBool>,
    threads: Vec<JoinHandle<usize>>,
}

impl Flood {
    /// Ends it, and returns how many of the bodies were checked and refused (400).
    pub fn end(self) -> usize {
        self.goes_on.store(false, Ordering::Relaxed);
        let threads = self.threads.into_iter();
        threads
            .map(|thread| thread.join().expect("it does not panic"))
            .sum()
    }
}

/// Sends the request with this body from so many addresses, from each the next one when the last is answered.
pub fn again_and_again(target: &Target, request: &Request, body: &str, connections: u32) -> Flood {
    let more = format!("connection: close\r\ncontent-length: {}\r\n", body.len());
    let bytes = request.head(&more) + body;
    let goes_on = Arc::new(AtomicBool::new(true));
    let threads = (0..connections).map(|number| {
        let (target, bytes, goes_on) = (target.clone(), bytes.clone(), Arc::clone(&goes_on));
        let send = move || {
            // Buffers as the system makes them: all is to arrive at once.
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((address(number), 0)).into())?;
            socket.connect_timeout(&target.address.into(), SOCKET_TIMEOUT)?;
            socket.set_read_timeout(Some(SOCKET_TIMEOUT))?;
            socket.set_write_timeout(Some(SOCKET_TIMEOUT))?;
            let mut connection = TcpStream::from(socket);
            connection.write_all(bytes.as_bytes())?;
            let mut answer = String::new();
            connection.read_to_string(&mut answer)?;
            io::Result::Ok(answer.starts_with("HTTP/1.1 400 "))
        };
        std::thread::spawn(move || {
            let rounds = iter::from_fn(|| goes_on.load(Ordering::Relaxed).then(&send));
            rounds.filter(|sent| matches!(sent, Ok(true))).count()
        })
    });
    Flood {
        threads: threads.collect(),
        goes_on,
    }
}

/// Sends a request with a body of `size` bytes, in chunks of one byte, and returns what is answered within a second.
pub fn in_tiny_chunks(target: &Target, request: &Request, size: usize) -> io::Result<String> {
    let mut body = BEGINNING.to_vec();
    body.resize(size, b'x');
    let mut bytes = in_chunks(request, &body, Cut::Bytes);
    bytes.extend(b"0\r\n\r\n");
    let mut connection = target.connect_only(0)?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    connection.write_all(&bytes)?;
    let mut answer = Vec::new();
    // It ends where nothing more comes, or the server closes the connection.
    _ = connection.read_to_end(&mut answer);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn in_chunks(request: &Request, body: &[u8], cut: Cut) -> Vec<u8> {
    let mut bytes = request.head("transfer-encoding: chunked\r\n").into_bytes();
    for piece in body.chunks(piece_size(cut)) {
        bytes.extend(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend(piece);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn in_frames(request: &Request, body: &[u8], cut: Cut) -> Vec<u8> {
    let mut bytes = http2::preface(http2::WIDE);
    bytes.extend(http2::head(1, request, true));
    for piece in body.chunks(piece_size(cut)) {
        bytes.extend(http2::data(1, piece));
    }
    bytes
}

fn piece_size(cut: Cut) -> usize {
    match cut {
        // The largest frame allowed by default.
        Cut::Plain => 16_384,
        Cut::Small => 16,
        Cut::Bytes => 1,
    }
}
