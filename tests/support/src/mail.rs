//! A test's own mail server (RFC 5321): it keeps what it is given, and is as unfriendly as a test wants.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::Mutex as Turn;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// Longer than delivering a letter takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the server treats its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Accepts everything.
    Takes,
    /// Refuses recipients for now, and repeats their address.
    RefusesForNow,
    /// Refuses recipients for good, and repeats their address.
    RefusesForGood,
    /// Never answers.
    Hangs,
    /// Hangs up in the middle of a letter.
    Drops,
    /// Accepts a letter, and does not say goodbye.
    Stays,
    /// Greets with a line that never ends.
    Babbles,
    /// Lists its capabilities without end.
    Boasts,
}

/// A letter as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// The message, lines ended by LF.
    pub message: String,
}

/// A mail server that runs until the test ends.
pub struct MailServer {
    port: u16,
    shared: Arc<Shared>,
    arrived: Turn<UnboundedReceiver<Mail>>,
}

struct Shared {
    manner: Mutex<Manner>,
    attempts: Mutex<usize>,
    arrived: UnboundedSender<Mail>,
}

impl MailServer {
    /// Starts one on a free loopback port.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn start(manner: Manner) -> MailServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("it listens").port();
        let (sender, arrived) = unbounded_channel();
        let shared = Arc::new(Shared {
            manner: Mutex::new(manner),
            attempts: Mutex::new(0),
            arrived: sender,
        });
        let for_server = Arc::clone(&shared);
        // On separate threads: tests block those of the runtime while they wait for commands.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&for_server);
                thread::spawn(move || shared.serve(client));
            }
        });
        MailServer {
            port,
            shared,
            arrived: Turn::new(arrived),
        }
    }

    /// The `smtp_url` setting for it.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// Treats clients in this way from now on.
    pub fn behave(&self, manner: Manner) {
        *self
            .shared
            .manner
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = manner;
    }

    /// How many connections there were.
    pub fn attempts(&self) -> usize {
        *self
            .shared
            .attempts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The next letter.
    ///
    /// # Panics
    ///
    /// When none comes.
    pub async fn next(&self) -> Mail {
        let mut arrived = self.arrived.lock().await;
        let mail = timeout(PATIENCE, arrived.recv()).await;
        mail.expect("a letter comes").expect("the server runs")
    }

    /// A letter that has arrived and was not taken yet.
    pub async fn waiting(&self) -> Option<Mail> {
        self.arrived.lock().await.try_recv().ok()
    }
}

impl Shared {
    fn serve(&self, client: TcpStream) {
        let manner = *self.manner.lock().unwrap_or_else(PoisonError::into_inner);
        *self.attempts.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        // A client that hangs up ends its conversation.
        _ = self.converse(client, manner);
    }

    fn converse(&self, client: TcpStream, manner: Manner) -> std::io::Result<()> {
        let mut lines = BufReader::new(client.try_clone()?).lines();
        let say = |text: &str| (&client).write_all(format!("{text}\r\n").as_bytes());
        if manner == Manner::Hangs {
            // Until the client has had enough.
            return lines.next().transpose().map(drop);
        }
        let without_end = |text: &[u8]| -> std::io::Result<()> {
            let many = text.repeat(1000);
            loop {
                (&client).write_all(&many)?;
            }
        };
        if manner == Manner::Babbles {
            return without_end(b"220 hello ");
        }
        say("220 mail.example ready")?;
        let (mut from, mut to) = (String::new(), Vec::new());
        while let Some(line) = lines.next().transpose()? {
            let address = || {
                let inner = line
                    .split_once('<')
                    .and_then(|(_, rest)| rest.split_once('>'));
                inner.map_or_else(String::new, |(address, _)| address.to_owned())
            };
            match line
                .get(..4)
                .unwrap_or_default()
                .to_ascii_uppercase()
                .as_str()
            {
                "EHLO" if manner == Manner::Boasts => return without_end(b"250-A\r\n"),
                "EHLO" => say("250-mail.example\r\n250-8BITMIME\r\n250 SMTPUTF8")?,
                "MAIL" => {
                    from = address();
                    say("250 OK")?;
                }
                "RCPT" => match manner {
                    Manner::RefusesForNow => say(&format!("451 4.7.1 <{}> later", address()))?,
                    Manner::RefusesForGood => say(&format!("550 5.1.1 <{}> unknown", address()))?,
                    _ => {
                        to.push(address());
                        say("250 OK")?;
                    }
                },
                "DATA" if manner == Manner::Drops => return Ok(()),
                "DATA" => {
                    say("354 go on")?;
                    let mut message = String::new();
                    for line in &mut lines {
                        let line = line?;
                        if line == "." {
                            break;
                        }
                        message.push_str(line.strip_prefix('.').unwrap_or(&line));
                        message.push('\n');
                    }
                    let to = std::mem::take(&mut to);
                    let from = std::mem::take(&mut from);
                    // A test that has ended no longer reads.
                    _ = self.arrived.send(Mail { from, to, message });
                    say("250 taken")?;
                }
                "QUIT" if manner == Manner::Stays => return lines.next().transpose().map(drop),
                "QUIT" => return say("221 bye"),
                _ => say("250 OK")?,
            }
        }
        Ok(())
    }
}

impl Mail {
    /// A header, with its lines joined.
    pub fn header(&self, name: &str) -> Option<String> {
        let (headers, _) = self.message.split_once("\n\n")?;
        let headers = headers.replace("\n ", " ").replace("\n\t", " ");
        let begin = format!("{}:", name.to_ascii_lowercase());
        let mut lines = headers.lines();
        let line = lines.find(|line| line.to_ascii_lowercase().starts_with(&begin))?;
        Some(line[begin.len()..].trim().to_owned())
    }

    /// The text, as its reader sees it.
    ///
    /// # Panics
    ///
    /// When its encoding is not supported here.
    pub fn text(&self) -> String {
        let (_, body) = self.message.split_once("\n\n").expect("there is a body");
        match self.header("content-transfer-encoding").as_deref() {
            Some("quoted-printable") => quoted_printable(body),
            Some("7bit" | "8bit") | None => body.to_owned(),
            Some(other) => panic!("{other}"),
        }
    }

    /// The path of its link to this origin, if it has one.
    pub fn link(&self, origin: &str) -> Option<String> {
        let text = self.text();
        let mut lines = text.lines();
        let path = lines.find_map(|line| line.strip_prefix(origin).filter(|it| !it.is_empty()));
        path.map(str::to_owned)
    }
}

/// RFC 2045, section 6.7.
fn quoted_printable(text: &str) -> String {
    let text = text.replace("=\n", "");
    let mut parts = text.split('=');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).expect("two digits"));
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).expect("it is UTF-8")
}
