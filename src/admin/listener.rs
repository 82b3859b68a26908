//! A listener of its own for operators, which answers also when the process has no file left to open.
//!
//! A connection is an open file. A client that holds as many connections as the process may have files takes
//! the server from everybody else, and exactly then those who restart processes, and balancers, need an answer:
//! dropshot's accept loop would wait until somebody closes a connection.
//!
//! 1. At the start a few files are set aside, so that the process has them and cannot use them for anything else.
//! 2. When a connection cannot be accepted because no file is left, one of them is closed for it.
//! 3. When a connection ends, what was given up is taken back before anybody else gets it. If somebody was faster, the
//!    end of the next connection makes up for it.
//! 4. A connection carries one request, and has ten seconds for it. There are at most 64 of them. When another comes,
//!    or comes while no file is left, the one that has been there longest gives way.
//!
//! 5. Connections that still cannot be accepted have a line in the log once a minute, with their number.
//!
//! Only HTTP/1.1, which is what balancers, probes and Prometheus speak in clear.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::errno::Errno;
use slog::{Logger, warn};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::log::Seldom;

/// Files that are set aside: as many operators are answered at once when nothing else is left.
const RESERVE: usize = 8;

/// Connections at once. Operators make a few.
const MAX_CONNECTIONS: usize = 64;

/// How long a connection may take in all. `/readyz` takes a second at most.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Before another attempt when the system refuses a connection for a reason that may pass.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A request, as far as it matters here: nobody reads a body.
pub(super) type Request = http::Request<Incoming>;

/// What answers every request.
pub(super) type Handler =
    Arc<dyn Fn(Request) -> BoxFuture<'static, Response<String>> + Send + Sync>;

/// The listener; it ends when this is dropped.
pub struct Listener {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Listener {
    /// Listens on `address`, and lets `handler` answer every request.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(address: SocketAddr, handler: Handler, log: Logger) -> io::Result<Self> {
        // Not by tokio, so that nothing here has to wait.
        let socket = StdListener::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let accept = Accept {
            reserve: Arc::new(Reserve::set_aside(socket.as_fd())?),
            socket: TcpListener::from_std(socket)?,
            connections: Connections::default(),
            missed: Seldom::default(),
            log,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(accept.run(handler));
        Ok(Self {
            address,
            _tasks: tasks,
        })
    }

    /// The address that it listens on, its port known.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

/// What the accept loop has.
struct Accept {
    socket: TcpListener,
    reserve: Arc<Reserve>,
    connections: Connections,
    /// What could not be accepted (step 5).
    missed: Seldom,
    log: Logger,
}

impl Accept {
    async fn run(mut self, handler: Handler) {
        loop {
            let stream = self.next().await;
            let (handler, reserve) = (Arc::clone(&handler), Arc::clone(&self.reserve));
            let connection = async move {
                serve(stream, handler).await;
                reserve.take_back();
            };
            self.connections.add(connection).await;
        }
    }

    /// Step 2.
    async fn next(&mut self) -> TcpStream {
        loop {
            let error = match self.socket.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) => error,
            };
            let no_file_left = matches!(
                error.raw_os_error().map(Errno::from_raw),
                Some(Errno::EMFILE | Errno::ENFILE)
            );
            if no_file_left && (self.reserve.give_up() || self.connections.give_way().await) {
                continue;
            }
            if let Some(count) = self.missed.again() {
                warn!(self.log, "no connection for operators"; "error" => %error, "count" => count);
            }
            sleep(ACCEPT_RETRY_DELAY).await;
        }
    }
}

/// One request and its answer, in time.
async fn serve(stream: TcpStream, handler: Handler) {
    let service = service_fn(|request| handler(request).map(Ok::<_, Infallible>));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that hangs up, or sends what is no request, or takes too long, gets nothing.
    let _ = timeout(CONNECTION_TIMEOUT, connection).await;
}

/// The connections that are open (step 4). They end with this.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// The one that has been there longest first.
    open: VecDeque<AbortHandle>,
}

impl Connections {
    async fn add(&mut self, connection: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|open| !open.is_finished());
        if self.open.len() >= MAX_CONNECTIONS {
            self.give_way().await;
        }
        self.open.push_back(self.tasks.spawn(connection));
    }

    /// Ends the connection that has been there longest. Whether there was one.
    async fn give_way(&mut self) -> bool {
        let Some(longest) = self.open.pop_front() else {
            return false;
        };
        longest.abort();
        // Its file is free when it has ended.
        while !longest.is_finished() && self.tasks.join_next().await.is_some() {}
        true
    }
}

/// Files that are open for nothing but to be given up (steps 1 to 3).
struct Reserve {
    /// What they are copies of.
    original: OwnedFd,
    files: Mutex<Vec<OwnedFd>>,
}

impl Reserve {
    /// Step 1. A copy of a file that is open already needs no path.
    fn set_aside(original: BorrowedFd<'_>) -> io::Result<Self> {
        let reserve = Self {
            original: original.try_clone_to_owned()?,
            files: Mutex::default(),
        };
        reserve.take_back();
        Ok(reserve)
    }

    /// Whether there was one left to give up.
    fn give_up(&self) -> bool {
        self.files().pop().is_some()
    }

    /// Step 3.
    fn take_back(&self) {
        let mut files = self.files();
        while files.len() < RESERVE
            && let Ok(file) = self.original.try_clone()
        {
            files.push(file);
        }
    }

    fn files(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        // A list of files is whole even if somebody panicked while holding it.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
