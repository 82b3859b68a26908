//! What attackers send, byte by byte: no library for HTTP would send most of it.
//!
//! Every function takes a [`Target`], so that the same attack goes to the service itself and to a proxy in front of
//! it, and gives back the connections that it holds; dropping them ends the attack. Nothing here looks at
//! answers. A connection that the other side refuses or closes is a success of the other side: it is left out.

pub mod answers;
pub mod bodies;
pub mod http2;
pub mod idle;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use socket2::{Domain, Socket, Type};
use tokio::sync::{Mutex, MutexGuard};

/// How long the other side may leave an attacker waiting, who then goes elsewhere.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(10);

/// What a segment carries over Ethernet. Loopback's is 64 KiB, and the kernel sizes its buffers by it.
const SEGMENT: u32 = 1460;

/// As little as the kernel allows for what the attacker does not read.
const RECEIVE_BUFFER: usize = 2048;

/// Where an attack goes.
#[derive(Clone)]
pub struct Target {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, known to be spoken without asking, or agreed on in the TLS handshake.
    Http2,
}

impl Target {
    /// A server in clear, by what its requests begin with.
    pub fn new(base_url: &str) -> Self {
        let address = base_url.strip_prefix("http://").expect("it is in clear");
        Self {
            address: address.parse().expect("an address and a port"),
            tls: None,
        }
    }

    /// A server that speaks TLS, with what its certificate is checked by.
    pub fn over_tls(address: SocketAddr, client: ClientConfig) -> Self {
        Self {
            address,
            tls: Some(Arc::new(client)),
        }
    }

    /// A connection of the attacker `number`, each of whom has an address of their own.
    pub fn connect(&self, number: u32, protocol: Protocol) -> io::Result<Connection> {
        let stream = self.connect_only(number)?;
        let Some(config) = &self.tls else {
            return Ok(Connection::Clear(stream));
        };
        let mut config = ClientConfig::clone(config);
        config.alpn_protocols = match protocol {
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        let name = ServerName::try_from("localhost").expect("it is a name");
        let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(session, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Connection::Tls(Box::new(stream)))
    }

    /// The same, but nothing has been sent, not even for TLS.
    pub fn connect_only(&self, number: u32) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_mss(SEGMENT)?;
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        socket.bind(&SocketAddr::from((address(number), 0)).into())?;
        socket.connect_timeout(&self.address.into(), SOCKET_TIMEOUT)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_read_timeout(Some(SOCKET_TIMEOUT))?;
        socket.set_write_timeout(Some(SOCKET_TIMEOUT))?;
        Ok(socket.into())
    }
}

/// An address of loopback for each attacker, none of which others have.
pub fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(127, 0, 1, 1).to_bits() + number)
}

/// A connection that is held.
pub enum Connection {
    Clear(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Clear(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Clear(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Clear(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A request of an attacker: the path, and the headers that are not the protocol's own.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// A page of as many products as fit.
    pub fn page(key: &str) -> Self {
        Self::new("GET", "/api/v1/products?limit=100").with_key(key)
    }

    /// The largest file behind `/docs`.
    pub fn docs() -> Self {
        Self::new("GET", "/docs/swagger-ui-bundle.js")
    }

    /// All that is stored about whoever has this cookie.
    pub fn export(cookie: &str) -> Self {
        Self::download("/account/export", cookie)
    }

    /// A download, for whoever has this cookie.
    pub fn download(path: &str, cookie: &str) -> Self {
        let mut request = Self::new("GET", path);
        let cookie = ("cookie".to_owned(), cookie.to_owned());
        request.headers.push(cookie);
        request
    }

    /// What is refused before anybody is asked who they are, however often it comes.
    pub fn refused() -> Self {
        Self::new("PUT", "/api/v1/products/1")
    }

    /// The beginning of a create.
    pub fn create(key: &str) -> Self {
        Self::new("POST", "/api/v1/products").with_key(key).json()
    }

    /// The beginning of a token request, for which nobody needs a credential.
    pub fn token() -> Self {
        Self::new("POST", "/api/auth/mobile/token").json()
    }

    fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: Vec::new(),
        }
    }

    fn with_key(mut self, key: &str) -> Self {
        self.headers
            .push(("authorization".to_owned(), format!("Bearer {key}")));
        self
    }

    fn json(mut self) -> Self {
        self.headers
            .push(("content-type".to_owned(), "application/json".to_owned()));
        self
    }

    /// The same with so many headers more, each with a short name of its own and no value.
    pub fn with_headers(mut self, count: usize) -> Self {
        let names = (0..count).map(|number| (format!("{number:03}"), String::new()));
        self.headers.extend(names);
        self
    }

    /// As HTTP/1.1 writes it, with these headers more.
    fn head(&self, more: &str) -> String {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nhost: localhost\r\n",
            self.method, self.path
        );
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head + more + "\r\n"
    }
}

/// Takes whatever comes, until the server ends or says nothing for a while, and holds the connection until then.
pub fn read_in_background(mut connection: Connection) {
    std::thread::spawn(move || io::copy(&mut connection, &mut io::sink()));
}

/// One attack at a time: the figures are of each alone, and the machine may have two cores.
pub async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// A connection of each of the first `count` attackers, and what they sent on it; those that were let.
fn each(count: u32, attack: impl Fn(u32) -> io::Result<Connection>) -> Vec<Connection> {
    allow_many_files();
    (0..count)
        .filter_map(|number| attack(number).ok())
        .collect()
}

/// A connection is an open file of the attacker, too.
fn allow_many_files() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("the hard limit is allowed");
}
