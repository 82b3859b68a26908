//! Answers that are asked for and not taken.

use std::io::Write as _;

use super::{Connection, Protocol, Request, Target, each, http2};

/// The most that hyper takes on one connection is 200; the measurements of the issue were made with these.
pub const STREAMS: u32 = 195;

/// Connections of HTTP/2 with all streams waiting for the answer to `request`, of which each may send no more than
/// `window`. Nothing is read, also not what the window allows.
pub fn over_http2(
    target: &Target,
    request: &Request,
    connections: u32,
    window: u32,
) -> Vec<Connection> {
    over_streams(target, request, (connections, STREAMS), window)
}

/// The same, with so many connections, and streams on each: a proxy ends one with more than it takes.
pub fn over_streams(
    target: &Target,
    request: &Request,
    (connections, streams): (u32, u32),
    window: u32,
) -> Vec<Connection> {
    let mut bytes = http2::preface(window);
    for number in 0..streams {
        bytes.extend(http2::head(http2::stream(number), request, false));
    }
    each(connections, |number| {
        let mut connection = target.connect(number, Protocol::Http2)?;
        connection.write_all(&bytes)?;
        Ok(connection)
    })
}

/// Connections of HTTP/1.1, each with one request whose answer is not read.
pub fn over_http1(target: &Target, request: &Request, connections: u32) -> Vec<Connection> {
    let head = request.head("");
    each(connections, |number| {
        let mut connection = target.connect(number, Protocol::Http1)?;
        connection.write_all(head.as_bytes())?;
        Ok(connection)
    })
}
