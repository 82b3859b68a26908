//! The contenders, and a running one.
//!
//! Each is a process of its own that is told which port of loopback to listen on; it is ready once it
//! accepts connections. Its standard error goes to a file, as a service manager would take it.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::bare_loop;
use crate::dataset::{Dataset, Failure, PUBLIC_URL, RefreshTokens};
use crate::recording::{self, Recording};
use crate::servers::by_hand;

/// How long a contender may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

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
    /// (e) no server: the statements of creates and patches, in groups.
    Loop,
}

impl Contender {
    /// As the command line and the report write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hyper => "hyper",
            Self::Dropshot => "dropshot",
            Self::ByHand => "by-hand",
            Self::Invoicing => "invoicing",
            Self::Loop => "loop",
        }
    }

    /// Whether it only repeats what the service has answered.
    pub fn repeats(self) -> bool {
        matches!(self, Self::Hyper | Self::Dropshot)
    }

    /// Makes what it needs in the folder of the data set.
    ///
    /// # Errors
    /// When that cannot be made.
    pub fn prepare(self, dataset: &Dataset, recording: &Recording) -> Result<(), Failure> {
        match self {
            Self::Hyper | Self::Dropshot => recording::write(&recorded(dataset), recording),
            Self::ByHand => by_hand::make(&by_hand_database(dataset), dataset),
            Self::Loop => by_hand::make(&bare_loop::database(dataset), dataset),
            Self::Invoicing => Ok(()),
        }
    }

    /// Starts it on the cores that the caller is on, and waits until it can be connected to.
    ///
    /// # Errors
    /// When it does not start, or is no server.
    pub fn start(self, dataset: &Dataset, binaries: &Binaries) -> Result<Running, Failure> {
        let address = free_address()?;
        let log = dataset.file(&format!("{}.log", self.name()));
        let process = self
            .command(address, dataset, binaries)
            .ok_or_else(|| format!("{} is no server", self.name()))?
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()?;
        let mut running = Running {
            contender: self,
            address,
            refresh_tokens: dataset.refresh_tokens(),
            process,
        };
        running.wait(&log)?;
        Ok(running)
    }

    fn command(
        self,
        address: SocketAddr,
        dataset: &Dataset,
        binaries: &Binaries,
    ) -> Option<Command> {
        let own = |file: &Path| {
            let mut command = Command::new(&binaries.bench);
            command
                .arg("serve")
                .arg(self.name())
                .arg(address.to_string())
                .arg(file);
            command
        };
        match self {
            Self::Hyper | Self::Dropshot => Some(own(&recorded(dataset))),
            Self::ByHand => Some(own(&by_hand_database(dataset))),
            Self::Loop => None,
            Self::Invoicing => {
                let mut command = Command::new(&binaries.invoicing);
                let database = format!("sqlite:{}", dataset.database().display());
                command
                    .args([
                        "serve",
                        "--rate-limit",
                        "off",
                        "--listen",
                        &address.to_string(),
                    ])
                    .args(["--database", &database, "--public-url", PUBLIC_URL]);
                Some(command)
            }
        }
    }
}

fn recorded(dataset: &Dataset) -> PathBuf {
    dataset.file("recorded.json")
}

fn by_hand_database(dataset: &Dataset) -> PathBuf {
    dataset.file("by-hand.db")
}

/// The programs that are started.
#[derive(Debug)]
pub struct Binaries {
    /// This one.
    pub bench: PathBuf,
    /// The service.
    pub invoicing: PathBuf,
}

impl Binaries {
    /// This program, and the service: the one given, or one built from the same sources with the same
    /// profile.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn find(invoicing: Option<PathBuf>) -> Result<Self, Failure> {
        let bench = std::env::current_exe()?;
        let invoicing = match invoicing {
            Some(path) => path,
            None => build(&bench)?,
        };
        Ok(Self { bench, invoicing })
    }
}

/// Builds the service, next to this program. Naming this package too keeps the features of common
/// dependencies, and with them what is built already.
fn build(bench: &Path) -> Result<PathBuf, Failure> {
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

/// A contender that runs. It is ended when this is dropped.
#[derive(Debug)]
pub struct Running {
    /// Which.
    pub contender: Contender,
    /// Where it listens.
    pub address: SocketAddr,
    /// Those that its devices present next.
    pub refresh_tokens: RefreshTokens,
    process: Child,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    fn wait(&mut self, log: &Path) -> Result<(), Failure> {
        let begin = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if self.process.try_wait()?.is_some() || begin.elapsed() > PATIENCE {
                let name = self.contender.name();
                let log = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("{name} does not start: {log}").into());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to do then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address of loopback that nobody listens on. Somebody else may take it before the contender does;
/// then the contender does not start.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
