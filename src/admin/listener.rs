//! A separate listener for operators, which answers even when the process has no file descriptor left.
//!
//! A connection is an open file. A client that holds as many connections as the process may have files locks out all others,
//! and exactly then balancers, and supervisors that restart processes, need an answer: dropshot's accept loop would wait
//! until a connection is closed.
//!
//! 1. At the start a few files are reserved, so that the process has them and cannot use them for anything else.
//! 2. When a connection cannot be accepted because no file is left, a reserved one is closed for it.
//! 3. When a connection ends, what was given up is taken back before anything else gets it. If something else was faster,
//!    the end of the next connection makes up for it.
//! 4. A connection carries one request, and has ten seconds for it. There are at most 64 of them. When another comes, or
//!    comes while no file is left, the oldest gives way.
//!
//! 5. Connections that still cannot be accepted are reported in the log once a minute, with their number.
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

use crate::log::Throttle;

/// Reserved files: this many operators are answered at once when nothing else is left.
const RESERVE: usize = 8;

/// The most connections at once. Operators make a few.
const MAX_CONNECTIONS: usize = 64;

/// The total time that a connection may take. `/readyz` takes a second at most.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// The delay before another attempt when the system refuses a connection for a reason that may pass.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A request, as far as it matters here: its body is never read.
pub(super) type Request = http::Request<Incoming>;

/// Answers every request.
pub(super) type Handler =
    Arc<dyn Fn(Request) -> BoxFuture<'static, Response<String>> + Send + Sync>;

/// The listener; dropping it ends it.
pub struct Listener {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Listener {
    /// Listens on `address`, and answers every request with `handler`.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(address: SocketAddr, handler: Handler, log: Logger) -> io::Result<Self> {
        // Not with tokio, so that nothing here has to wait.
        let socket = StdListener::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let accept = Accept {
            reserve: Arc::new(Reserve::set_aside(socket.as_fd())?),
            socket: TcpListener::from_std(socket)?,
            connections: Connections::default(),
            missed: Throttle::default(),
            log,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(accept.run(handler));
        Ok(Self {
            address,
            _tasks: tasks,
        })
    }

    /// The address that it listens on, with the actual port.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

/// The state of the accept loop.
struct Accept {
    socket: TcpListener,
    reserve: Arc<Reserve>,
    connections: Connections,
    /// Connections that could not be accepted (step 5).
    missed: Throttle,
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

/// Serves one request, within the time limit.
async fn serve(stream: TcpStream, handler: Handler) {
    let service = service_fn(|request| handler(request).map(Ok::<_, Infallible>));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that hangs up, sends something other than a request, or takes too long gets nothing.
    let _ = timeout(CONNECTION_TIMEOUT, connection).await;
}

/// The open connections (step 4). Dropping this ends them.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// The oldest first.
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

    /// Ends the oldest connection. Returns whether there was one.
    async fn give_way(&mut self) -> bool {
        let Some(longest) = self.open.pop_front() else {
            return false;
        };
        longest.abort();
        // Its file is free once the task has ended.
        while !longest.is_finished() && self.tasks.join_next().await.is_some() {}
        true
    }
}

/// Files that are open only to be given up (steps 1 to 3).
struct Reserve {
    /// The file that they duplicate.
    original: OwnedFd,
    files: Mutex<Vec<OwnedFd>>,
}

impl Reserve {
    /// Step 1. Duplicating an open file needs no path.
    fn set_aside(original: BorrowedFd<'_>) -> io::Result<Self> {
        let reserve = Self {
            original: original.try_clone_to_owned()?,
            files: Mutex::default(),
        };
        reserve.take_back();
        Ok(reserve)
    }

    /// Gives up a file. Returns whether there was one left.
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
        // The list is consistent even if a holder of the lock panicked.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
