//! The bytes that attackers send: no HTTP library would send most of them.
//!
//! Every function takes a [`Target`], so that the same attack goes to the service itself and to a proxy in front of
//! it, and returns the connections that it holds; dropping them ends the attack. Nothing here looks at answers. A
//! connection that the other side refuses or closes is a success of the other side: it is left out.

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

/// How long the other side may keep an attacker waiting before it gives up.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(10);

/// The payload of a segment over Ethernet. On loopback it is 64 KiB, and the kernel sizes its buffers by it.
const SEGMENT: u32 = 1460;

/// The smallest buffer that the kernel allows for what the attacker does not read.
const RECEIVE_BUFFER: usize = 2048;

/// The server under attack.
#[derive(Clone)]
pub struct Target {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, with prior knowledge, or agreed on in the TLS handshake.
    Http2,
}

impl Target {
    /// A server without TLS, by the base URL of its requests.
    pub fn new(base_url: &str) -> Self {
        let address = base_url.strip_prefix("http://").expect("it is in clear");
        Self {
            address: address.parse().expect("an address and a port"),
            tls: None,
        }
    }

    /// A server that speaks TLS, with the configuration that verifies its certificate.
    pub fn over_tls(address: SocketAddr, client: ClientConfig) -> Self {
        Self {
            address,
            tls: Some(Arc::new(client)),
        }
    }

    /// A connection of the attacker `number`; each attacker has a separate address.
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

/// A loopback address for each attacker, which no other caller has.
pub fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(127, 0, 1, 1).to_bits() + number)
}

/// An open connection.
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

/// A request of an attacker: the path, and the headers except the protocol's own.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// A page with as many products as fit.
    pub fn page(key: &str) -> Self {
        Self::new("GET", "/api/v1/products?limit=100").with_key(key)
    }

    /// The largest file under `/docs`.
    pub fn docs() -> Self {
        Self::new("GET", "/docs/swagger-ui-bundle.js")
    }

    /// An export of everything stored about the user with this cookie.
    pub fn export(cookie: &str) -> Self {
        Self::download("/account/export", cookie)
    }

    /// A download by the user with this cookie.
    pub fn download(path: &str, cookie: &str) -> Self {
        let mut request = Self::new("GET", path);
        let cookie = ("cookie".to_owned(), cookie.to_owned());
        request.headers.push(cookie);
        request
    }

    /// A request that is refused before its credential is checked, however often it comes.
    pub fn refused() -> Self {
        Self::new("PUT", "/api/v1/products/1")
    }

    /// The start of a create.
    pub fn create(key: &str) -> Self {
        Self::new("POST", "/api/v1/products").with_key(key).json()
    }

    /// The start of a token request, which needs no credential.
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

    /// The same with `count` more headers, each with a short unique name and no value.
    pub fn with_headers(mut self, count: usize) -> Self {
        let names = (0..count).map(|number| (format!("{number:03}"), String::new()));
        self.headers.extend(names);
        self
    }

    /// The head in HTTP/1.1, with these extra headers.
    pub fn head(&self, more: &str) -> String {
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

/// Reads whatever comes, until the server ends or goes silent for a while, and holds the connection until then.
pub fn read_in_background(mut connection: Connection) {
    std::thread::spawn(move || io::copy(&mut connection, &mut io::sink()));
}

/// The turn of an attack, until dropped.
pub type Turn = MutexGuard<'static, ()>;

/// One attack at a time: the limits apply to each alone, and the machine may have two cores.
pub async fn turn() -> Turn {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// A connection of each of the first `count` attackers, after their attack; refused ones are left out.
fn each(count: u32, attack: impl Fn(u32) -> io::Result<Connection>) -> Vec<Connection> {
    allow_many_files();
    (0..count)
        .filter_map(|number| attack(number).ok())
        .collect()
}

/// Each connection is an open file of the attacker, too.
pub fn allow_many_files() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("the hard limit is allowed");
}
