//! A running service, with the teams, keys and devices that a test needs.
//!
//! Unless a deployment is given ([`crate::deployment`]), every test has a server of its own: the real
//! binary as a process, on a free port, with a database in a separate folder. The test's data is
//! created with the command line, as an operator would. When a test fails, its folder is kept and its
//! path printed: it has the database and the server's log.

mod people;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::caller::Caller;
use crate::deployment::{self, Skip};
use crate::postgres;

pub use people::{CODE_CHALLENGE, CODE_VERIFIER, Device, Lazy, Team};

/// How long a server may take to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Settings of every server that a test starts, unless the test overrides them: limits are on, so that
/// their headers are checked, and too high for a test to reach by accident.
const SETTINGS: [(&str, &str); 7] = [
    ("INVOICING_LISTEN", "127.0.0.1:0"),
    ("INVOICING_LOG_FORMAT", "json"),
    ("INVOICING_LOG_LEVEL", "debug"),
    ("INVOICING_RATE_LIMIT_PER_SECOND", "1000000"),
    ("INVOICING_RATE_LIMIT_BURST", "1000000"),
    ("INVOICING_TOKEN_RATE_LIMIT_PER_SECOND", "1000000"),
    ("INVOICING_TOKEN_RATE_LIMIT_BURST", "1000000"),
];

/// A service to test.
#[derive(Debug)]
pub struct Service {
    /// Sends requests to it.
    pub caller: Caller,
    commands: Commands,
    own: Option<Own>,
}

/// The command line, on the database of a service.
#[derive(Clone, Debug)]
struct Commands {
    binary: PathBuf,
    /// `None` if it cannot be reached from here.
    database: Option<String>,
}

/// A server that a test has started.
#[derive(Debug)]
struct Own {
    process: Child,
    database: String,
    folder: Option<TempDir>,
    settings: Vec<(String, String)>,
}

impl Service {
    /// The given deployment, or a new server for this test alone.
    pub fn find(binary: &str) -> Self {
        match std::env::var(deployment::BASE_URL) {
            Ok(base_url) => Self::at(&base_url, binary, std::env::var(deployment::DATABASE).ok()),
            Err(_) => Self::start(binary, &[]),
        }
    }

    /// A service that is already running at this address. With its database, the test can create what
    /// it needs there.
    pub fn at(base_url: &str, binary: &str, database: Option<String>) -> Self {
        Self {
            caller: Caller::new(base_url.trim_end_matches('/')),
            commands: Commands {
                binary: binary.into(),
                database,
            },
            own: None,
        }
    }

    /// A new server, with settings other than the usual ones, on a database that the test may spoil.
    ///
    /// # Errors
    ///
    /// When the tests run against a deployment.
    pub fn own(binary: &str, settings: &[(&str, &str)]) -> Result<Self, Skip> {
        match deployment::is_given() {
            true => Err(Skip("needs a server of its own".to_owned())),
            false => Ok(Self::start(binary, settings)),
        }
    }

    fn start(binary: &str, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-test-")
            .tempdir()
            .expect("a temporary folder can be made");
        let database = deployment::own_database(folder.path());
        let settings: Vec<_> = SETTINGS
            .iter()
            .chain(settings)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let (process, url) = serve(binary.as_ref(), &database, folder.path(), &settings);
        Self {
            caller: Caller::new(url),
            commands: Commands {
                binary: binary.into(),
                database: Some(database.clone()),
            },
            own: Some(Own {
                process,
                database,
                folder: Some(folder),
                settings,
            }),
        }
    }

    /// Ends the server as a crash would (SIGKILL).
    ///
    /// # Panics
    ///
    /// When it is not the test's own.
    pub fn kill(&mut self) {
        let own = self.own.as_mut().expect("only an own server is killed");
        own.process
            .kill()
            .expect("the server runs, or has been killed");
        own.process.wait().expect("the server ends");
    }

    /// Ends the server as a crash would and starts it again on the same database.
    ///
    /// # Panics
    ///
    /// When it is not the test's own.
    pub fn crash_and_restart(&mut self) {
        self.kill();
        let own = self.own.as_mut().expect("only an own server is killed");
        let folder = own.folder.as_ref().expect("it is there until the end");
        let database = self.commands.database.as_ref();
        let database = database.expect("an own server has one");
        let (process, url) = serve(
            &self.commands.binary,
            database,
            folder.path(),
            &own.settings,
        );
        own.process = process;
        self.caller = Caller::new(url);
    }

    /// The address of another database for this service: an empty one, of the same engine.
    ///
    /// # Panics
    ///
    /// When it is not the test's own.
    pub fn spare_database(&self) -> String {
        let own = self.own.as_ref().expect("an own server");
        let folder = own.folder.as_ref().expect("it is there until the end");
        let folder = folder.path().join(uuid::Uuid::new_v4().to_string());
        std::fs::create_dir(&folder).expect("the folder can be written");
        deployment::own_database(&folder)
    }

    /// Ends the server as a crash would, and starts it again on another database.
    ///
    /// # Panics
    ///
    /// When it is not the test's own.
    pub fn crash_and_restart_on(&mut self, database: &str) {
        let own = self.own.as_mut().expect("only an own server is killed");
        database.clone_into(&mut own.database);
        self.commands.database = Some(database.to_owned());
        self.crash_and_restart();
    }

    /// The same, with more settings.
    ///
    /// # Panics
    ///
    /// When it is not the test's own.
    pub fn restart_with(&mut self, settings: &[(&str, &str)]) {
        let own = self.own.as_mut().expect("only an own server is killed");
        let more = settings.iter();
        let more = more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        own.settings.extend(more);
        self.crash_and_restart();
    }

    /// The process id of the test's own server.
    pub fn process_id(&self) -> Option<u32> {
        self.own.as_ref().map(|own| own.process.id())
    }

    /// The database address of the test's own server.
    ///
    /// # Errors
    ///
    /// When the tests run against a deployment.
    pub fn own_database(&self) -> Result<&str, Skip> {
        let own = self.own.as_ref().and(self.commands.database.as_deref());
        own.ok_or_else(|| Skip("needs to change the database".to_owned()))
    }

    /// The server's log so far; a line may still be in transit.
    ///
    /// # Panics
    ///
    /// When the tests run against a deployment.
    pub fn log(&self) -> String {
        let folder = self.own.as_ref().and_then(|own| own.folder.as_ref());
        let folder = folder.expect("an own server");
        std::fs::read_to_string(folder.path().join("server.log")).unwrap_or_default()
    }

    /// Runs a command on the database. Returns its output.
    ///
    /// # Errors
    ///
    /// When the database of the deployment cannot be reached.
    ///
    /// # Panics
    ///
    /// When the command fails.
    pub fn command(&self, arguments: &[&str]) -> Result<Value, Skip> {
        self.commands.run(arguments)
    }
}

impl Commands {
    fn run(&self, arguments: &[&str]) -> Result<Value, Skip> {
        let database = self.database.as_ref();
        let database = database.ok_or_else(|| Skip(format!("needs {}", deployment::DATABASE)))?;
        let output = quiet(&self.binary)
            .args(arguments)
            .args(["--json", "--database", database])
            .output()
            .expect("the binary can be run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "invoicing {arguments:?}: {errors}");
        Ok(serde_json::from_slice(&output.stdout).expect("a command prints JSON"))
    }

    /// Runs a command that creates something. Returns its id.
    fn make(&self, arguments: &[&str]) -> Result<String, Skip> {
        Ok(text(&self.run(arguments)?["id"]))
    }
}

/// The binary without the settings from the environment of the tests.
pub(crate) fn quiet(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("INVOICING_") {
            command.env_remove(name);
        }
    }
    command
}

/// Starts a server and waits until it listens. Returns its address.
fn serve(
    binary: &Path,
    database: &str,
    folder: &Path,
    settings: &[(String, String)],
) -> (Child, String) {
    let mut process = quiet(binary)
        .args(["serve", "--database", database])
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let log = process.stderr.take().expect("it is piped");
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("server.log"))
        .expect("the folder can be written");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            let _ = writeln!(file, "{line}");
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            if entry["msg"] == json!("listening") {
                let _ = sender.send(text(&entry["url"]));
            }
        }
    });
    let url = receiver.recv_timeout(START_TIMEOUT).unwrap_or_else(|_| {
        let log = std::fs::read_to_string(folder.join("server.log")).unwrap_or_default();
        panic!("the server does not start:\n{log}")
    });
    (process, url)
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let on_postgres = self.database.starts_with("postgres:");
        if std::thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            let folder = folder.keep();
            if on_postgres {
                postgres::dump(&self.database, &folder.join("dump.sql"));
            }
            eprintln!("database and log of the server: {}", folder.display());
        }
        if on_postgres {
            postgres::drop_database(&self.database);
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
