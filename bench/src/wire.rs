//! One connection of the load generator: HTTP/1.1, kept alive, one request at a time.
//!
//! A request is sent in one write; an answer is received in as few reads as possible, into a buffer that
//! is reused. Only what the contenders send is supported: a body with `Content-Length`.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The most headers that an answer may have.
const HEADERS: usize = 32;

/// Room for the answer to anything but a long list.
const BUFFER: usize = 8 * 1024;

/// A connection to a contender.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The status.
    pub status: u16,
    /// Status line and headers.
    pub head: &'a [u8],
    /// The body, whole.
    pub body: &'a [u8],
}

/// Where the parts of an answer end.
struct Extent {
    status: u16,
    head: usize,
    all: usize,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(BUFFER),
        })
    }

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// When the connection ends, or the answer is not understood.
    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Response<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let extent = loop {
            self.read().await?;
            if let Some(extent) = extent(&self.buffer)? {
                break extent;
            }
        };
        self.buffer
            .reserve(extent.all.saturating_sub(self.buffer.len()));
        while self.buffer.len() < extent.all {
            self.read().await?;
        }
        if self.buffer.len() > extent.all {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "more came than one answer",
            ));
        }
        let (head, body) = self.buffer.split_at(extent.head);
        Ok(Response {
            status: extent.status,
            head,
            body,
        })
    }

    async fn read(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Where an answer ends, once its head is complete.
fn extent(bytes: &[u8]) -> io::Result<Option<Extent>> {
    let invalid = |error: &str| io::Error::new(ErrorKind::InvalidData, error.to_owned());
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response
        .parse(bytes)
        .map_err(|error| invalid(&error.to_string()))?
    else {
        return Ok(None);
    };
    let length = response
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| {
            std::str::from_utf8(header.value)
                .ok()?
                .parse::<usize>()
                .ok()
        })
        .ok_or_else(|| invalid("an answer without Content-Length"))?;
    Ok(Some(Extent {
        status: response.code.unwrap_or(0),
        head,
        all: head + length,
    }))
}

/// The headers in a head.
///
/// # Errors
/// When it is not a valid head.
pub fn headers(head: &[u8]) -> io::Result<Vec<(String, String)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(head).map_err(io::Error::other)?;
    let text = |header: &httparse::Header<'_>| {
        (
            header.name.to_ascii_lowercase(),
            String::from_utf8_lossy(header.value).into_owned(),
        )
    };
    Ok(response.headers.iter().map(text).collect())
}
