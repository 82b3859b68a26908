//! Connections that cost a server patience instead of work.
//!
//! - Idle ones have sent one request, and keep the connection.
//! - Slow ones send a body at a byte a second, until they are told that this takes too long; then they start again.
//! - Deaf ones request the service's document again and again, and never read an answer.
//!
//! Gathering is work, and so are the first answers to the deaf ones, until the buffers are full. The time after that is
//! measured.
//!
//! People who sign in are the exception: each has a password hashed at all times, which is a lot of work.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

use crate::dataset::{BoxError, Dataset, PUBLIC_URL};
use crate::process;
use crate::running::Running;
use crate::wire::Connection;

/// How many documents a deaf connection requests: more than fit in the buffers.
const DOCUMENTS: usize = 200;

/// How long a crowd may take to gather.
const GATHER_TIMEOUT: Duration = Duration::from_secs(120);

/// How many connections of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub idle: usize,
    pub slow: usize,
    pub deaf: usize,
    pub sign_ins: usize,
}

/// A crowd. It leaves when this is dropped.
#[derive(Debug)]
pub struct Crowd {
    _idle: Vec<Connection>,
    busy: JoinSet<std::io::Result<()>>,
    /// Sign-ins that were answered.
    signed_in: Arc<AtomicU64>,
}

impl Crowd {
    /// Gathers a crowd, and lets it settle for a moment.
    ///
    /// # Errors
    /// When a connection cannot be opened.
    pub async fn gather(
        size: Size,
        running: &Running,
        dataset: &Dataset,
    ) -> Result<Self, BoxError> {
        let (address, key) = (running.address, &dataset.key);
        let head = |line: &str| {
            format!("{line} HTTP/1.1\r\nHost: bench.example\r\nAuthorization: Bearer {key}\r\n")
        };
        let mut idle = Vec::with_capacity(size.idle);
        let request = head("GET /api/v1/products?limit=1") + "\r\n";
        for _ in 0..size.idle {
            let mut connection = Connection::open(address).await?;
            connection.ask(request.as_bytes()).await?;
            idle.push(connection);
        }
        let (mut busy, signed_in) = (JoinSet::new(), Arc::default());
        for number in 0..size.slow {
            let request = head("POST /api/v1/products") + "Content-Length: 300\r\n\r\n";
            // Spread over the second.
            let delay = Duration::from_secs(1) * number as u32 / size.slow as u32;
            busy.spawn(send_slowly(address, request, delay));
        }
        for _ in 0..size.deaf {
            let request = head("GET /api/v1/openapi.json") + "\r\n";
            busy.spawn(never_read(address, request));
        }
        rest(running.pid()).await?;
        for number in 0..size.sign_ins {
            busy.spawn(sign_in(address, number, Arc::clone(&signed_in)));
        }
        Ok(Self {
            _idle: idle,
            busy,
            signed_in,
        })
    }

    /// How many sign-ins were answered so far.
    pub fn signed_in(&self) -> u64 {
        self.signed_in.load(Ordering::Relaxed)
    }

    /// Sends the crowd away. All of it must still be there: a measurement beside fewer is worthless.
    ///
    /// # Errors
    /// The reason why one has left.
    pub fn disperse(mut self) -> Result<(), BoxError> {
        match self.busy.try_join_next() {
            None => Ok(()),
            Some(left) => Err(format!("one of the crowd has left: {left:?}").into()),
        }
    }
}

/// Waits until a process takes less than a tenth of a core, twice in a row.
async fn rest(pid: u32) -> Result<(), BoxError> {
    const WHILE: Duration = Duration::from_millis(500);
    let (begin, mut resting) = (Instant::now(), 0);
    while resting < 2 {
        let used = process::processor_time(pid)?;
        sleep(WHILE).await;
        resting = match process::processor_time(pid)? - used < WHILE / 10 {
            true => resting + 1,
            false => 0,
        };
        if begin.elapsed() > GATHER_TIMEOUT {
            return Err("the service does not come to rest beside the crowd".into());
        }
    }
    Ok(())
}

async fn send_slowly(address: SocketAddr, request: String, delay: Duration) -> std::io::Result<()> {
    sleep(delay).await;
    loop {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let (mut answer, mut second) = ([0; 1024], interval(Duration::from_secs(1)));
        loop {
            tokio::select! {
                _ = second.tick() => if stream.write_all(b"{").await.is_err() { break },
                _ = stream.read(&mut answer) => break,
            }
        }
    }
}

/// Signs in with a wrong password, again and again, as another user each time: none is refused for too many attempts,
/// and an unknown user takes the same hash ([P31](../../../docs/decisions.md)).
async fn sign_in(
    address: SocketAddr,
    number: usize,
    signed_in: Arc<AtomicU64>,
) -> std::io::Result<()> {
    let mut connection = Connection::open(address).await?;
    for time in 0_u64.. {
        let form = format!("email=user-{number}-{time}%40bench.example&password=correct+horse");
        let request = format!(
            "POST /sign-in HTTP/1.1\r\nHost: bench.example\r\nOrigin: {PUBLIC_URL}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        );
        let status = connection.ask(request.as_bytes()).await?.status;
        // Served, or told that too many are already waiting.
        if ![400, 401, 422, 503].contains(&status) {
            return Err(std::io::Error::other(format!(
                "a sign-in was answered with {status}"
            )));
        }
        if status == 503 {
            // As the answer says, and as people do. Otherwise the refused ones would be the load.
            tokio::time::sleep(Duration::from_secs(1)).await;
        } else {
            signed_in.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

async fn never_read(address: SocketAddr, request: String) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let mut stream = socket.connect(address).await?;
    for _ in 0..DOCUMENTS {
        stream.write_all(request.as_bytes()).await?;
    }
    std::future::pending::<()>().await;
    drop(stream);
    Ok(())
}
