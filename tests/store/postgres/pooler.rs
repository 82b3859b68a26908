//! A pooler that is hard to tell from the server: it assigns a process to a client for the length of a transaction, and
//! passes on the greetings of the processes behind it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::BytesMut;
use test_support::postgres::shared;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::relay::receive;

/// Which of the free processes is used next.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// The one that was there first.
    First,
    /// The one that was used last.
    Latest,
    /// The one that has been idle the longest.
    Rested,
}

/// A connection to the server, with the number of the client for which it was opened.
struct Process(usize, TcpStream);

/// The pooler. It counts named statements.
#[derive(Clone)]
pub struct Pooler {
    next: Next,
    /// In the order in which they were returned.
    free: Arc<Mutex<Vec<Process>>>,
    named: Arc<AtomicUsize>,
}

impl Pooler {
    /// Starts to listen in front of the server of a URL. Also returns the URL that leads through it.
    pub async fn before(url: &str, next: Next) -> (Pooler, String) {
        let pooler = Pooler {
            next,
            free: Arc::default(),
            named: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (server, port) = (shared().port(), listener.local_addr().unwrap().port());
        let carrying = pooler.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let (client, _) = listener.accept().await.unwrap();
                let pooler = carrying.clone();
                tokio::spawn(async move { pooler.carry(number, client, server).await });
            }
        });
        let url = url.replacen(&format!(":{server}/"), &format!(":{port}/"), 1);
        (pooler, format!("{url}?sslmode=disable"))
    }

    /// How many statements were given a name.
    pub fn named(&self) -> usize {
        self.named.load(Ordering::Relaxed)
    }

    async fn carry(
        &self,
        number: usize,
        mut client: TcpStream,
        server: u16,
    ) -> std::io::Result<()> {
        let mut process = Process(number, TcpStream::connect(("127.0.0.1", server)).await?);
        let length = client.read_u32().await?;
        let mut start = vec![0; length as usize - 4];
        client.read_exact(&mut start).await?;
        process.1.write_u32(length).await?;
        process.1.write_all(&start).await?;
        let (mut said, mut asked, mut held) = (BytesMut::new(), 1, Some(process));
        loop {
            if let Some(mut process) = held.take() {
                let (answers, in_transaction) = answers(&mut process.1, asked).await?;
                match in_transaction {
                    true => held = Some(process),
                    false => self.free.lock().unwrap().push(process),
                }
                client.write_all(&answers).await?;
            }
            asked = 0;
            let mut trip = Vec::new();
            while asked == 0 {
                let (bytes, messages) = receive(&mut client, &mut said).await?;
                let named = |(tag, body): &&(u8, Vec<u8>)| *tag == b'P' && body[0] != 0;
                let named = messages.iter().filter(named).count();
                self.named.fetch_add(named, Ordering::Relaxed);
                let ends = |(tag, _): &&(u8, Vec<u8>)| b"QS".contains(tag);
                asked += messages.iter().filter(ends).count();
                trip.extend(bytes);
            }
            let mut process = held.take().unwrap_or_else(|| self.take());
            process.1.write_all(&trip).await?;
            held = Some(process);
        }
    }

    fn take(&self) -> Process {
        let mut free = self.free.lock().unwrap();
        let numbers = free.iter().map(|process| process.0).enumerate();
        let next = match self.next {
            Next::First => numbers.min_by_key(|(_, number)| *number).map(|(at, _)| at),
            Next::Latest => free.len().checked_sub(1),
            Next::Rested => Some(0),
        };
        // There is one for each client.
        free.remove(next.unwrap())
    }
}

/// The server's answers until it has reported this many times that it is ready, and whether a transaction is open then.
async fn answers(server: &mut TcpStream, asked: usize) -> std::io::Result<(Vec<u8>, bool)> {
    let (mut answered, mut answers, mut states) = (BytesMut::new(), Vec::new(), Vec::new());
    while states.len() < asked {
        let (bytes, messages) = receive(server, &mut answered).await?;
        let ready = messages.iter().filter(|(tag, _)| *tag == b'Z');
        states.extend(ready.map(|(_, body)| body[0]));
        answers.extend(bytes);
    }
    Ok((answers, states.last() != Some(&b'I')))
}
