//! Sits between a store and its server, and records what the store sends. The store does not know of it.
//!
//! 1. Everything a client sends before it waits for an answer is taken together: that is one round trip. (It writes
//!    all of it at once, and runs on the thread of the relay, so that nothing is in transit when there is no more to
//!    read.)
//! 2. It is passed on. The server reports that it is ready once for each Query and each Sync; its answers are held
//!    back until it has done so for all of them, and then passed on, too.
//! 3. On request, it makes the server refuse to begin transactions.
//! 4. On request, it keeps back all answers: to the server, the client is frozen.
//! 5. On request, it greets new clients with its own numbers, as a pooler does.
//! 6. On request, it makes the server forget, once, what it keeps for a connection.
//! 7. On request, it keeps back the answers to round trips in which a text is said: that takes the server long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use invoicing::store::open;
use test_support::postgres::shared;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A message of PostgreSQL's protocol: its tag, and what follows its length.
pub type Message = (u8, Vec<u8>);

/// More than a client sends at once.
const ROOM: usize = 1 << 16;

/// A new database, reached without any pooler.
pub fn past_any_pooler() -> String {
    let url = shared().database();
    let name = url.split('?').next().and_then(|url| url.rsplit('/').next());
    let port = shared().port();
    format!("postgres://invoicing@127.0.0.1:{port}/{}", name.unwrap())
}

/// The same with the newest schema.
pub async fn migrated() -> String {
    let url = past_any_pooler();
    open(&url.parse().unwrap()).await.unwrap();
    url
}

/// Records everything that is sent through it, as one list of messages per round trip.
#[derive(Clone, Default)]
pub struct Relay {
    noted: Arc<Mutex<Vec<Vec<Message>>>>,
    latency: Arc<AtomicU64>,
    begins_nothing: Arc<AtomicBool>,
    frozen: Arc<AtomicBool>,
    greets_anew: Arc<AtomicBool>,
    forgets: Arc<AtomicBool>,
    kept_back: Arc<OnceLock<&'static str>>,
}

impl Relay {
    /// Starts to listen in front of the server of a URL. Also returns the URL that leads through it.
    pub async fn before(url: &str) -> (Relay, String) {
        Relay::default().listen(url).await
    }

    /// The same; each round trip takes this much longer.
    pub async fn slow(url: &str, latency: Duration) -> (Relay, String) {
        let relay = Relay::default();
        relay.slow_down(latency);
        relay.listen(url).await
    }

    /// Each round trip takes this much longer, from now on.
    pub fn slow_down(&self, latency: Duration) {
        let millis = u64::try_from(latency.as_millis()).unwrap();
        self.latency.store(millis, Ordering::Relaxed);
    }

    async fn listen(self, url: &str) -> (Relay, String) {
        let server = shared().port();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let relay = self.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let relay = relay.clone();
                tokio::spawn(async move { relay.carry(client, server).await });
            }
        });
        let url = url.replacen(&format!(":{server}/"), &format!(":{port}/"), 1);
        (self, format!("{url}?sslmode=disable"))
    }

    /// Step 3, from now on.
    pub fn begin_nothing(&self) {
        self.begins_nothing.store(true, Ordering::Relaxed);
    }

    /// Step 4, from now on.
    pub fn freeze(&self) {
        self.frozen.store(true, Ordering::Relaxed);
    }

    /// Step 5, from now on.
    pub fn greet_anew(&self) {
        self.greets_anew.store(true, Ordering::Relaxed);
    }

    /// Step 6, for the next client that sends something.
    pub fn forget(&self) {
        self.forgets.store(true, Ordering::Relaxed);
    }

    /// Step 7, for this text, from now on.
    pub fn keep_back(&self, text: &'static str) {
        self.kept_back.set(text).unwrap();
    }

    /// Whether step 7 is for what was said.
    fn keeps_back(&self, trip: &[Message]) -> bool {
        let text = self.kept_back.get();
        text.is_some_and(|text| says(trip, text))
    }

    /// Returns what was recorded since the last call.
    pub fn take(&self) -> Vec<Vec<Message>> {
        std::mem::take(&mut self.noted.lock().unwrap())
    }

    /// Carries a connection until one side closes it. Only its first message has no tag.
    async fn carry(&self, mut client: TcpStream, server: u16) -> std::io::Result<()> {
        let mut server = TcpStream::connect(("127.0.0.1", server)).await?;
        let (mut said, mut answered) = (BytesMut::new(), BytesMut::new());
        let length = client.read_u32().await?;
        let mut start = vec![0; length as usize - 4];
        client.read_exact(&mut start).await?;
        server.write_u32(length).await?;
        server.write_all(&start).await?;
        let (mut asked, mut keeps_back) = (1, false);
        loop {
            // Step 2.
            let mut answers = Vec::new();
            while asked > 0 {
                let (bytes, messages) = receive(&mut server, &mut answered).await?;
                asked -= messages.iter().filter(|(tag, _)| *tag == b'Z').count();
                answers.extend(bytes);
            }
            if keeps_back || self.frozen.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            let latency = Duration::from_millis(self.latency.load(Ordering::Relaxed));
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            if self.greets_anew.load(Ordering::Relaxed) {
                greet_anew(&mut answers);
            }
            client.write_all(&answers).await?;
            // Step 1.
            let mut trip = Vec::new();
            while asked == 0 {
                let (mut bytes, messages) = receive(&mut client, &mut said).await?;
                if self.forgets.swap(false, Ordering::Relaxed) {
                    discard_all(&mut server, &mut answered).await?;
                }
                let begins = bytes.starts_with(b"Q") && bytes[5..].starts_with(b"BEGIN");
                if begins && self.begins_nothing.load(Ordering::Relaxed) {
                    bytes[5..10].copy_from_slice(b"ERROR"); // Not a statement.
                }
                asked += messages
                    .iter()
                    .filter(|(tag, _)| b"QS".contains(tag))
                    .count();
                trip.extend(messages);
                server.write_all(&bytes).await?;
            }
            keeps_back = self.keeps_back(&trip);
            self.noted.lock().unwrap().push(trip);
        }
    }
}

/// Whether this text is in one of the messages.
pub fn says(trip: &[Message], text: &str) -> bool {
    let holds = |said: &[u8]| said.windows(text.len()).any(|it| it == text.as_bytes());
    trip.iter().any(|(_, said)| holds(said))
}

/// Replaces the number in the greeting (`BackendKeyData`), if it is among the answers.
fn greet_anew(answers: &mut [u8]) {
    let mut rest = answers;
    while let [tag, length @ ..] = rest {
        let length = 1 + (&length[..4]).get_u32() as usize;
        if *tag == b'K' {
            rest[5] ^= 0x40;
        }
        rest = &mut rest[length..];
    }
}

async fn discard_all(server: &mut TcpStream, answered: &mut BytesMut) -> std::io::Result<()> {
    server.write_all(b"Q\0\0\0\x10DISCARD ALL\0").await?;
    loop {
        let (_, messages) = receive(server, answered).await?;
        if messages.iter().any(|(tag, _)| *tag == b'Z') {
            return Ok(());
        }
    }
}

/// Reads what has come, as far as it is whole messages. Returns the bytes, and the messages in them.
pub async fn receive(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> std::io::Result<(Vec<u8>, Vec<Message>)> {
    buffer.reserve(ROOM);
    if from.read_buf(buffer).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let (mut bytes, mut messages) = (Vec::new(), Vec::new());
    while buffer.len() >= 5 {
        // The length includes itself, but not the tag.
        let length = 1 + (&buffer[1..5]).get_u32() as usize;
        if buffer.len() < length {
            break;
        }
        let message = buffer.split_to(length);
        bytes.extend_from_slice(&message);
        messages.push((message[0], message[5..].to_vec()));
    }
    Ok((bytes, messages))
}
