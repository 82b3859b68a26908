//! Connections on which nothing happens, or whose beginning does not end.

use std::io::Write as _;
use std::net::TcpStream;

use super::{Connection, Protocol, Target, allow_many_files, each, http2};

/// Connections that never send a byte, also not for TLS, from so many addresses in turn.
pub fn silent(target: &Target, connections: u32, addresses: u32) -> Vec<TcpStream> {
    allow_many_files();
    (0..connections)
        .filter_map(|number| target.connect_only(number % addresses).ok())
        .collect()
}

/// Connections of HTTP/2 that are opened as they should be, and then left.
pub fn http2(target: &Target, connections: u32, addresses: u32) -> Vec<Connection> {
    let bytes = http2::preface(http2::WIDE);
    each(connections, |number| {
        let mut connection = target.connect(number % addresses, Protocol::Http2)?;
        connection.write_all(&bytes)?;
        Ok(connection)
    })
}

/// Requests whose headers have `size` bytes so far, and do not end. Who stops reading them is left with the connection.
pub fn unfinished_headers(target: &Target, connections: u32, size: usize) -> Vec<Connection> {
    let mut head = b"GET /api/v1/products HTTP/1.1\r\nhost: localhost\r\n".to_vec();
    while head.len() < size {
        head.extend(format!("x-{}: {}\r\n", head.len(), "x".repeat(4_000)).as_bytes());
    }
    each(connections, |number| {
        let mut connection = target.connect(number, Protocol::Http1)?;
        let _ = connection.write_all(&head);
        Ok(connection)
    })
}
