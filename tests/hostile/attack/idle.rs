//! Connections that stay idle, or whose start never ends.

use std::io::Write as _;
use std::net::TcpStream;

use super::{Connection, Protocol, Target, allow_many_files, each, http2};

/// Connections that never send a byte, not even for TLS, from the addresses in turn.
pub fn silent(target: &Target, connections: u32, addresses: u32) -> Vec<TcpStream> {
    allow_many_files();
    (0..connections)
        .filter_map(|number| target.connect_only(number % addresses).ok())
        .collect()
}

/// HTTP/2 connections that are opened correctly, and then abandoned.
pub fn http2(target: &Target, connections: u32, addresses: u32) -> Vec<Connection> {
    let bytes = http2::preface(http2::WIDE);
    each(connections, |number| {
        let mut connection = target.connect(number % addresses, Protocol::Http2)?;
        connection.write_all(&bytes)?;
        Ok(connection)
    })
}

/// Requests whose headers have `size` bytes so far, and do not end. A server that stops reading still has the
/// connection.
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
