//! The contenders: their kinds, their needs, and how they are started.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use crate::bare_loop;
use crate::dataset::{BoxError, Dataset, PUBLIC_URL};
use crate::operation::Operation;
use crate::peers;
use crate::postgres::Cluster;
use crate::recording::{self, Recording};
use crate::running::{Running, free_address};
use crate::servers::{by_hand, by_hand_postgres};

/// Processes of the service that share a PostgreSQL.
const REPLICAS: usize = 3;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contender {
    /// (a) hyper alone, repeating the service's answers.
    Hyper,
    /// (b) dropshot alone, repeating the service's answers.
    Dropshot,
    /// (c) a server written by hand on axum, with a database of its own.
    ByHand,
    /// (d) the service as shipped, its request log on, its rate limits off.
    Invoicing,
    /// The same on PostgreSQL.
    Postgres,
    /// (e) no server: the statements of creates and patches, in groups.
    Loop,
    /// (f) the server written by hand on PostgreSQL.
    ByHandPostgres,
    /// (g) no server: the statements of (f), in groups through one connection.
    LoopPostgres,
    /// Three processes of the service on one PostgreSQL.
    PostgresReplicas,
    /// A peer: fastify-openapi-glue on Node.js.
    Fastify,
    /// A peer: connexion on Python.
    Connexion,
    /// A peer: FastAPI on Python.
    Fastapi,
}

impl Contender {
    /// The frameworks that a spec-first team would pick instead.
    pub const PEERS: [Self; 3] = [Self::Fastify, Self::Connexion, Self::Fastapi];

    /// The contenders that store in a PostgreSQL.
    pub const ON_POSTGRES: [Self; 4] = [
        Self::ByHandPostgres,
        Self::Postgres,
        Self::PostgresReplicas,
        Self::LoopPostgres,
    ];

    /// The name on the command line and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hyper => "hyper",
            Self::Dropshot => "dropshot",
            Self::ByHand => "by-hand",
            Self::Invoicing => "invoicing",
            Self::Postgres => "postgres",
            Self::Loop => "loop",
            Self::ByHandPostgres => "by-hand-postgres",
            Self::LoopPostgres => "loop-postgres",
            Self::PostgresReplicas => "postgres-replicas",
            Self::Fastify => "fastify",
            Self::Connexion => "connexion",
            Self::Fastapi => "fastapi",
        }
    }

    /// Whether it only repeats the service's recorded answers.
    pub fn repeats(self) -> bool {
        matches!(self, Self::Hyper | Self::Dropshot)
    }

    /// Whether it supports this operation.
    pub fn knows(self, operation: Operation) -> bool {
        use Operation::{Create, Get, List20, List100, Mixed, Patch};
        match self {
            Self::Loop | Self::LoopPostgres => matches!(operation, Create | Patch),
            Self::Fastify | Self::Connexion | Self::Fastapi => {
                matches!(operation, Get | List20 | List100 | Create)
            }
            Self::Hyper | Self::Dropshot => operation != Mixed,
            Self::ByHand
            | Self::ByHandPostgres
            | Self::Invoicing
            | Self::Postgres
            | Self::PostgresReplicas => true,
        }
    }

    /// Prepares its files in the folder of the data set.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn prepare(self, dataset: &Dataset, recording: &Recording) -> Result<(), BoxError> {
        match self {
            Self::Hyper | Self::Dropshot => recording::write(&self.file(dataset), recording),
            Self::ByHand | Self::Fastify | Self::Connexion | Self::Fastapi => {
                by_hand::make(&self.file(dataset), dataset)
            }
            Self::Loop => by_hand::make(&bare_loop::database(dataset), dataset),
            Self::Postgres
            | Self::PostgresReplicas
            | Self::ByHandPostgres
            | Self::Invoicing
            | Self::LoopPostgres => Ok(()),
        }
    }

    /// Starts it on the cores that the caller is on, and waits until it accepts connections.
    ///
    /// # Errors
    /// When it does not start, or is not a server.
    pub fn start(self, dataset: &Dataset, binaries: &Binaries) -> Result<Running, BoxError> {
        let cluster = self.cluster(dataset, binaries)?;
        let store: OsString = match (&cluster, self) {
            (Some(cluster), _) => cluster.url().into(),
            (None, Self::Invoicing) => dataset.url().into(),
            (None, _) => self.file(dataset).into(),
        };
        let command = |address| match self {
            Self::Fastify | Self::Connexion | Self::Fastapi => {
                peers::command(self.name(), address, Path::new(&store))
            }
            Self::Invoicing | Self::Postgres | Self::PostgresReplicas => {
                binaries.service(address, &store)
            }
            Self::Hyper
            | Self::Dropshot
            | Self::ByHand
            | Self::ByHandPostgres
            | Self::Loop
            | Self::LoopPostgres => binaries.own(self.name(), address, &store),
        };
        let log = |number| dataset.file(&format!("{}{number}.log", self.name()));
        let (tokens, cluster) = (dataset.refresh_tokens(), cluster.map(Rc::new));
        let mut running = Running::start(self, command, &log(1), tokens, cluster)?;
        if self == Self::PostgresReplicas {
            for number in 2..=REPLICAS {
                running.add_replica(command, &log(number))?;
            }
        }
        Ok(running)
    }

    /// A PostgreSQL with the data set, if it stores there.
    ///
    /// # Errors
    /// When it does not start, or cannot be filled.
    pub fn cluster(
        self,
        dataset: &Dataset,
        binaries: &Binaries,
    ) -> Result<Option<Cluster>, BoxError> {
        match self {
            Self::Postgres | Self::PostgresReplicas => copied(dataset, binaries).map(Some),
            Self::ByHandPostgres | Self::LoopPostgres => filled(dataset).map(Some),
            _ => Ok(None),
        }
    }

    /// Its recording, or its database.
    fn file(self, dataset: &Dataset) -> PathBuf {
        match self.repeats() {
            true => dataset.file("recorded.json"),
            false => dataset.file(&format!("{}.db", self.name())),
        }
    }
}

/// Keeps the service's database as it is before the service starts, for the service on PostgreSQL: the recording alone
/// spends a refresh token.
///
/// # Errors
/// Any error of SQLite.
pub fn keep_untouched(dataset: &Dataset) -> Result<(), BoxError> {
    let connection = rusqlite::Connection::open(dataset.database())?;
    let path = untouched(dataset).display().to_string();
    Ok(connection.execute("VACUUM INTO ?1", [path]).map(drop)?)
}

/// The initial database of the service.
fn untouched(dataset: &Dataset) -> PathBuf {
    dataset.file("untouched.db")
}

/// A cluster of PostgreSQL into which the service has copied the data set.
fn copied(dataset: &Dataset, binaries: &Binaries) -> Result<Cluster, BoxError> {
    let cluster = Cluster::start(|| Ok(free_address()?.port()))?;
    let from = format!("sqlite:{}", untouched(dataset).display());
    let copied = Command::new(&binaries.invoicing)
        .args(["copy", "--from", &from, "--to", &cluster.url()])
        .output()?;
    match copied.status.success() {
        true => Ok(cluster),
        false => {
            let error = String::from_utf8_lossy(&copied.stderr);
            Err(format!("the data set cannot be copied: {error}").into())
        }
    }
}

/// A cluster with the data set in the tables of the server written by hand.
fn filled(dataset: &Dataset) -> Result<Cluster, BoxError> {
    let cluster = Cluster::start(|| Ok(free_address()?.port()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(by_hand_postgres::fill(&cluster.url(), dataset))?;
    Ok(cluster)
}

/// The programs to start.
#[derive(Debug)]
pub struct Binaries {
    /// This one.
    pub bench: PathBuf,
    /// The service.
    pub invoicing: PathBuf,
}

impl Binaries {
    /// This program, and the service: the given one, or one built from the same sources with the same profile.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn find(invoicing: Option<PathBuf>) -> Result<Self, BoxError> {
        let bench = std::env::current_exe()?;
        let invoicing = match invoicing {
            Some(path) => path,
            None => build(&bench)?,
        };
        Ok(Self { bench, invoicing })
    }

    /// The service on a database, with its rate limits off.
    pub fn service(&self, address: SocketAddr, database: &OsStr) -> Command {
        let mut command = Command::new(&self.invoicing);
        command
            .args(["serve", "--rate-limit", "off"])
            .args(["--listen", &address.to_string()])
            .arg("--database")
            .arg(database)
            .args(["--public-url", PUBLIC_URL]);
        command
    }

    /// A contender of the bench's own.
    fn own(&self, name: &str, address: SocketAddr, store: &OsStr) -> Command {
        let mut command = Command::new(&self.bench);
        command
            .args(["serve", name, &address.to_string()])
            .arg(store);
        command
    }
}

/// Builds the service, next to this program. Naming this package too keeps the features of common dependencies, and
/// so what is already built.
fn build(bench: &Path) -> Result<PathBuf, BoxError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "bench",
            "--package",
            "invoicing",
        ])
        .args(["--bin", "invoicing"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    match command.status()?.success() {
        true => Ok(bench.with_file_name("invoicing")),
        false => Err("the service cannot be built; see above".into()),
    }
}
