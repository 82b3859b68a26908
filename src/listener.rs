//! Does with a listener that belongs to a library what the library has no setting for.
//!
//! dropshot makes its listening socket itself and hands it to nobody. It leaves two options as they are by default:
//!
//! - **Nagle's algorithm is on.** What is written while the client has not acknowledged all of what was written before waits for
//!   that, 40 ms on Linux: the second of two responses at once on a connection, and the first response on a new TLS connection.
//! - **The queue has 128 places.** When more connect than the process accepts meanwhile, the system drops the first packet of
//!   a connection, and its client tries again after one second, then after two more.
//!
//! A connection takes the options over from the socket that accepted it (tcp(7)), so it is enough to set them there. And
//! without TLS, dropshot keeps the socket until the last connection has ended, although it accepts no more: whoever connects
//! while the server stops would wait for that, only to be cut off, instead of finding another replica.
//!
//! 1. The numbers of the process's sockets are in `/proc/self/fd`.
//! 2. A number becomes a descriptor when it is sent over a socket to ourselves (unix(7), SCM_RIGHTS): the kernel makes a
//!    duplicate, so no `unsafe` is needed to own it. (pidfd_getfd(2) would do the same, where nothing forbids it.)
//! 3. The listener is the one that accepts connections at its address.

use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{self, MaybeUninit};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::net::sockopt::{set_tcp_nodelay, socket_acceptconn};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, Shutdown, listen, recvmsg, shutdown,
};

/// How many connections wait to be accepted at most; fewer where `net.core.somaxconn` says so. As many as tokio asks for: more
/// would wait for longer than a client does, where it takes a TLS handshake to accept each.
const QUEUE: i32 = 1024;

/// A duplicate of a library's listener.
#[derive(Debug)]
pub(crate) struct Listener(TcpListener);

impl Listener {
    /// Finds the listener of this process at `address`, and sets the options for all connections from now on.
    ///
    /// # Errors
    /// Why they stay as they are: something keeps the process from `/proc`, or from sending itself a descriptor.
    pub(crate) fn with_options(address: SocketAddr) -> io::Result<Listener> {
        let listener = find(address)?;
        set_tcp_nodelay(&listener, true)?;
        // Of a socket that listens already, this changes the queue alone.
        listen(&listener, QUEUE)?;
        Ok(Listener(listener))
    }

    /// Has the system refuse whoever connects from now on, or waits to be accepted.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn refuse(self) -> io::Result<()> {
        Ok(shutdown(&self.0, Shutdown::Read)?)
    }
}

/// Returns a duplicate of the listener.
fn find(address: SocketAddr) -> io::Result<TcpListener> {
    let (here, there) = UnixDatagram::pair()?;
    let mut why = io::Error::other("the listener was not found");
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let is_socket = fs::read_link(entry.path())
            .is_ok_and(|it| it.as_os_str().as_encoded_bytes().starts_with(b"socket:"));
        let number = entry.file_name().to_str().and_then(|it| it.parse().ok());
        let Some(number) = number.filter(|_| is_socket) else {
            continue;
        };
        match duplicate(number, &here, &there) {
            Ok(Some(socket)) if is_listener(&socket, address) => return Ok(socket),
            Ok(_) => {}
            // It may have been closed meanwhile, but so it may be with each of them.
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Step 3. The socket may be of any kind.
fn is_listener(socket: &TcpListener, address: SocketAddr) -> bool {
    socket_acceptconn(socket) == Ok(true) && socket.local_addr().ok() == Some(address)
}

/// Step 2, from one end of a pair to the other. Returns `None` if it is no socket by now.
fn duplicate(
    number: RawFd,
    here: &UnixDatagram,
    there: &UnixDatagram,
) -> io::Result<Option<TcpListener>> {
    let rights = [number];
    let rights = [ControlMessage::ScmRights(&rights)];
    let byte = [IoSlice::new(b".")];
    sendmsg::<()>(here.as_raw_fd(), &byte, &rights, MsgFlags::empty(), None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(
        there,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        flags,
    )?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let received = File::from(received.ok_or(io::ErrorKind::NotFound)?);
    if received.metadata()?.file_type().is_socket() {
        return Ok(Some(OwnedFd::from(received).into()));
    }
    // Another thread may have opened a database under this number. To close any descriptor of a file ends all locks that the
    // process has on it (fcntl_locking(2)), so this one stays open.
    mem::forget(received);
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    /// Less than the system takes until it tries once more to connect.
    const WITHOUT_ROOM: Duration = Duration::from_millis(900);

    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[test]
    fn connections_accepted_at_the_address_send_at_once_and_others_do_not() {
        let mut listeners = [(); 2].map(|()| listener());
        // One that is accepted has the same address as its listener, and here the lower number.
        let _earlier = TcpStream::connect(listeners[0].1).unwrap();
        let (_accepted, _) = listeners[0].0.accept().unwrap();
        listeners[0].0 = listeners[0].0.try_clone().unwrap();
        Listener::with_options(listeners[0].1).unwrap();
        let options = listeners.map(|(listener, address)| {
            let _client = TcpStream::connect(address).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            accepted.nodelay().unwrap()
        });
        assert_eq!(options, [true, false]);
    }

    #[test]
    fn more_connections_than_a_library_asks_for_wait_to_be_accepted() {
        let (_listener, address) = listener();
        Listener::with_options(address).unwrap();
        // The system answers to each at once while there is room, and to none for a second if there is not.
        let clients = (0..300).map(|_| TcpStream::connect_timeout(&address, WITHOUT_ROOM));
        assert_eq!(clients.filter_map(Result::err).count(), 0);
    }

    #[test]
    fn whoever_connects_is_refused_and_another_process_can_listen() {
        let (_kept, address) = listener();
        let duplicate = Listener::with_options(address).unwrap();
        let mut waiting = TcpStream::connect(address).unwrap();
        duplicate.refuse().unwrap();
        let cut_off = waiting.read(&mut [0]).unwrap_err();
        assert_eq!(cut_off.kind(), io::ErrorKind::ConnectionReset);
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let _next = TcpListener::bind(address).unwrap();
        TcpStream::connect(address).unwrap();
    }

    /// SQLite's locks would end otherwise.
    #[test]
    fn a_file_that_took_the_number_of_a_socket_is_not_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (here, there) = UnixDatagram::pair().unwrap();
        let number = file.as_file().as_raw_fd();
        assert!(duplicate(number, &here, &there).unwrap().is_none());
        let descriptors = fs::read_dir("/proc/self/fd").unwrap();
        let of_file = descriptors.filter(|entry| {
            let path = fs::read_link(entry.as_ref().unwrap().path());
            path.is_ok_and(|path| path == file.path())
        });
        assert_eq!(of_file.count(), 2);
    }

    #[test]
    fn no_listener_at_the_address_is_an_error() {
        let error = Listener::with_options("192.0.2.1:1".parse().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "the listener was not found");
    }
}
