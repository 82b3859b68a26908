//! As much of HTTP/2 (RFC 9113) as an attacker sends: correct frames, without waiting for the other side.

use std::io::{self, Read};

use super::Request;

/// The largest window (section 6.9.1): everything may be sent.
pub const WIDE: u32 = (1 << 31) - 1;

/// The initial window of a connection (section 6.9.2).
const FIRST_WINDOW: u32 = 65_535;

const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// The start of a connection (section 3.4): from here on each stream may be sent this much.
pub fn preface(window: u32) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut settings = vec![0, 4]; // SETTINGS_INITIAL_WINDOW_SIZE
    settings.extend(window.to_be_bytes());
    bytes.extend(frame(4, 0, 0, &settings));
    if window > FIRST_WINDOW {
        bytes.extend(wider(0, window - FIRST_WINDOW));
    }
    bytes
}

/// Waits until the other side allows more than the first window to be sent on the connection.
pub fn wait_for_window(connection: &mut impl Read) -> io::Result<()> {
    wait_for(8, connection)
}

/// Waits until a piece of an answer comes.
pub fn wait_for_data(connection: &mut impl Read) -> io::Result<()> {
    wait_for(0, connection)
}

/// Waits for a frame of this kind.
fn wait_for(kind: u8, connection: &mut impl Read) -> io::Result<()> {
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head)?;
        let [_, high, low, came, ..] = head;
        let mut payload = vec![0; usize::from(u16::from_be_bytes([high, low]))];
        connection.read_exact(&mut payload)?;
        if came == kind {
            return Ok(());
        }
    }
}

/// The id of the client's stream `number`, from 0.
pub fn stream(number: u32) -> u32 {
    2 * number + 1
}

/// A request, whose body follows if it `has_body`.
pub fn head(stream: u32, request: &Request, has_body: bool) -> Vec<u8> {
    let mut block = Vec::new();
    field(&mut block, ":method", request.method);
    field(&mut block, ":scheme", "http");
    field(&mut block, ":authority", "localhost");
    field(&mut block, ":path", &request.path);
    for (name, value) in &request.headers {
        field(&mut block, name, value);
    }
    let end = if has_body { 0 } else { END_STREAM };
    frame(1, END_HEADERS | end, stream, &block)
}

/// A piece of a body, but not the last.
pub fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(0, 0, stream, bytes)
}

/// Lets the other side send this many more bytes on a stream, or on all together if it is 0 (section 6.9).
pub fn wider(stream: u32, by: u32) -> Vec<u8> {
    frame(8, 0, stream, &by.to_be_bytes())
}

/// Section 4.1.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is short");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A header as a literal that is not indexed (RFC 7541, section 6.2.2).
fn field(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        let length = u8::try_from(text.len()).expect("an attacker's headers are short");
        // Section 5.1: seven bits, and the excess in the next byte.
        match length {
            ..127 => block.push(length),
            127..255 => block.extend([127, length - 127]),
            255 => block.extend([127, 128, 1]),
        }
        block.extend(text.as_bytes());
    }
}
