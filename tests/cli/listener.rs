//! Small responses are sent at once (TCP_NODELAY).

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::place::Place;
use crate::server::Server;

/// A client that has nothing to send acknowledges what it receives 40 ms later.
#[test]
fn the_second_of_two_responses_does_not_wait_until_the_first_is_acknowledged() {
    let place = Place::new();
    let server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
    let mut stream = server.connect();
    let mut took = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        let request = "GET /none HTTP/1.1\r\nHost: test\r\n\r\n";
        stream.write_all(request.repeat(2).as_bytes()).unwrap();
        let mut bodies = 0;
        while bodies < 2 {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            bodies += u32::from(byte == *b"}");
        }
        took.push(begun.elapsed());
    }
    // On a new connection, the first are acknowledged at once.
    took.sort();
    assert!(took[4] < Duration::from_millis(35), "{took:?}");
}
