//! A connection to the mail server that bounds its answers.
//!
//! lettre reads a line, however long it is, and reads an answer from its beginning again with each line that comes. An
//! attacker who answers in the mail server's place, which takes no more than a network without TLS, could fill the memory
//! with one line.
//!
//! Nor does it discard what came in clear after an answer. After the answer to STARTTLS, that would count as sent under TLS,
//! and after an earlier one as the answer to STARTTLS, with more after it. So until TLS starts, nothing may come after the
//! last line of an answer before the next command is sent; what comes later than that is not TLS, and ends the handshake.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The most bytes that may come between two things that we send: an answer, which has lines of 512 (RFC 5321, 4.5.3.1.5), or
/// the certificates of STARTTLS.
const ANSWER: usize = 16 * 1024;

/// The most lines of that. An answer has some twenty; in encrypted data, every 256th byte looks like the end of one.
const LINES: usize = 128;

/// A stream that fails once more than [`ANSWER`] bytes, or more than [`LINES`] lines, have come since the last write.
#[derive(Debug)]
pub(super) struct Bounded<S> {
    stream: S,
    came: usize,
    lines: usize,
    answer: Answer,
}

/// How much has come of an answer in clear (RFC 5321, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// This many bytes of a line.
    Line(usize),
    /// A line without its end, which more lines follow.
    More,
    /// The last line without its end.
    Last,
    /// All of it.
    Whole,
    /// It is not in clear.
    Encrypted,
}

impl Answer {
    /// Returns what it is after this byte; `None` if none may come.
    fn and(self, byte: u8) -> Option<Answer> {
        match (self, byte) {
            (Answer::Encrypted, _) => Some(Answer::Encrypted),
            (Answer::Whole, _) => None,
            (Answer::Last, b'\n') => Some(Answer::Whole),
            (_, b'\n') => Some(Answer::Line(0)),
            // After the code.
            (Answer::Line(3), b'-') => Some(Answer::More),
            (Answer::Line(3), _) => Some(Answer::Last),
            (Answer::Line(length), _) => Some(Answer::Line(length + 1)),
            (Answer::More | Answer::Last, _) => Some(self),
        }
    }
}

impl<S> Bounded<S> {
    pub(super) fn new(stream: S) -> Bounded<S> {
        Bounded {
            stream,
            came: 0,
            lines: 0,
            answer: Answer::Line(0),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.came > ANSWER || self.lines > LINES {
            let why = "the mail server says more than an answer may have";
            return Poll::Ready(Err(io::Error::other(why)));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let came = &buffer.filled()[before..];
        self.came += came.len();
        self.lines += came.iter().filter(|byte| **byte == b'\n').count();
        match came.iter().try_fold(self.answer, |it, byte| it.and(*byte)) {
            Some(answer) => self.answer = answer,
            None => {
                let why = "the mail server says something in clear that it was not asked";
                return Poll::Ready(Err(io::Error::other(why)));
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        (self.came, self.lines) = (0, 0);
        self.answer = match bytes.first() {
            // The record of a handshake (RFC 8446, 5.1); no command starts like this.
            Some(0x16) => Answer::Encrypted,
            _ if self.answer == Answer::Encrypted => Answer::Encrypted,
            _ => Answer::Line(0),
        };
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl AsyncTokioStream for Bounded<TcpStream> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncTokioStream for Bounded<TlsStream<TcpStream>> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.get_ref().0.peer_addr()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn an_answer_has_a_bound_and_the_next_one_has_it_again() {
        let (ours, mut theirs) = duplex(64 * 1024);
        let mut ours = Bounded::new(ours);
        let mut answer = vec![0; ANSWER];
        for _ in 0..3 {
            theirs.write_all(&answer).await.unwrap();
            ours.read_exact(&mut answer).await.unwrap();
            ours.write_all(b"NOOP").await.unwrap();
        }
        theirs.write_all(&[0; ANSWER + 2]).await.unwrap();
        ours.read_exact(&mut answer).await.unwrap();
        ours.read_u8().await.unwrap();
        is_refused(ours).await;
    }

    #[tokio::test]
    async fn an_answer_has_so_many_lines_at_most() {
        let (ours, mut theirs) = duplex(64 * 1024);
        let mut ours = Bounded::new(ours);
        let mut line = [0; 2];
        for _ in 0..LINES {
            theirs.write_all(b"x\n").await.unwrap();
            ours.read_exact(&mut line).await.unwrap();
        }
        ours.write_all(b"NOOP").await.unwrap();
        for _ in 0..=LINES {
            theirs.write_all(b"x\n").await.unwrap();
            ours.read_exact(&mut line).await.unwrap();
        }
        theirs.write_all(b"x").await.unwrap();
        is_refused(ours).await;
    }

    #[tokio::test]
    async fn nothing_counts_that_came_in_clear_behind_an_answer() {
        for (answers, is_good) in [
            (&["220 go\r\n"][..], true),
            (&["220\r\n"], true),
            (&["220-one\r\n", "220 go\r\n"], true),
            (&["220 go\r\n250 mine\r\n"], false),
            (&["220-one\r\n", "220 go\r\n250 mine\r\n"], false),
            (&["220 go\r", "\n2"], false),
            (&["220 go\r\n", "2"], false),
        ] {
            for said in ["EHLO us\r\n", "STARTTLS\r\n"] {
                let (ours, mut theirs) = duplex(64 * 1024);
                let mut ours = Bounded::new(ours);
                ours.write_all(said.as_bytes()).await.unwrap();
                let mut read = Ok(0);
                for answer in answers {
                    assert!(read.is_ok(), "{answers:?}");
                    theirs.write_all(answer.as_bytes()).await.unwrap();
                    read = ours.read(&mut [0; 1024]).await;
                }
                assert_eq!(read.is_ok(), is_good, "{said}, {answers:?}: {read:?}");
            }
        }
    }

    #[tokio::test]
    async fn what_is_encrypted_is_not_looked_at() {
        let (ours, mut theirs) = duplex(64 * 1024);
        let mut ours = Bounded::new(ours);
        ours.write_all(&[0x16, 3, 1]).await.unwrap();
        for _ in 0..2 {
            theirs.write_all(b"220 go\r\n250 on\r\n").await.unwrap();
            ours.read_exact(&mut [0; 16]).await.unwrap();
            ours.write_all(&[0x17, 3, 3]).await.unwrap();
        }
    }

    async fn is_refused(mut ours: Bounded<tokio::io::DuplexStream>) {
        let refused = ours.read_u8().await.unwrap_err().to_string();
        assert!(refused.contains("more than an answer"), "{refused}");
    }
}
