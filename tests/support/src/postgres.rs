//! A throwaway PostgreSQL for the tests: a cluster of its own, with a database for each test.
//!
//! 1. A keeper, a few lines of shell, makes the cluster in a temporary folder and starts it on a free port of
//!    127.0.0.1. PostgreSQL refuses to run as root: the keeper is then the user `postgres`, or `nobody`.
//! 2. The keeper waits for the end of its standard input, which only this process holds. However the process
//!    ends, the keeper stops the server and removes the folder.
//! 3. Nothing here survives a crash of the machine (`fsync=off`), so that the tests are not kept waiting.
//! 4. A standby is made like a cluster, from a copy of its primary, in a folder of its own.
//! 5. A test drops its database at its end, after a dump if it has failed: some 9 MB each, of a thousand tests, are more
//!    than some disks have left.
//!
//! The faults of a cluster are in `postgres/faults.rs`, and its backups in `postgres/archive.rs`.
//!
//! The binaries are those on the `PATH`, or else Debian's in `/usr/lib/postgresql`.

mod archive;
mod faults;
mod pooler;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::port;

pub use archive::{pg_dump, pg_restore};
pub use faults::Frozen;

static SHARED: OnceLock<Cluster> = OnceLock::new();

/// The server that all tests of this process share, each with its own databases.
///
/// The variable `INVOICING_TEST_POSTGRES` sets how they reach it: `direct` is the default; `unprepared`, without
/// prepared statements; `pgbouncer`, through pgbouncer in transaction mode; `partitioned`, directly, with the tables
/// of the store's suite partitioned.
///
/// # Panics
///
/// As [`Cluster::start`].
pub fn shared() -> &'static Cluster {
    SHARED.get_or_init(|| {
        // Many tests run at once, each with a pool or two.
        let mut cluster = Cluster::start_with("-c max_connections=500");
        let way = std::env::var("INVOICING_TEST_POSTGRES");
        match way.as_deref().unwrap_or("direct") {
            "direct" | "partitioned" => {}
            "unprepared" => cluster.parameters = "?prepared_statements=false",
            "pgbouncer" => cluster.address = pooler::start(&cluster),
            other => {
                panic!(
                    "INVOICING_TEST_POSTGRES is {other:?}; write direct, unprepared, pgbouncer or partitioned"
                )
            }
        }
        cluster
    })
}

/// Drops a database of the [shared](shared()) server, and does not wait for it. Whoever is still connected to it loses
/// the connection (step 5).
pub fn drop_database(url: &str) {
    static DROPPER: OnceLock<Mutex<ChildStdin>> = OnceLock::new();
    // Otherwise it is in another cluster, which takes it along.
    let Some(shared) = SHARED.get() else {
        return;
    };
    let dropper = DROPPER.get_or_init(|| {
        let server = format!("postgres://invoicing@127.0.0.1:{}/postgres", shared.port);
        let mut psql = Command::new("psql");
        let psql = psql.args(["-XAtq", "-d", &server]).env("PATH", path());
        let psql = psql.stdout(Stdio::null()).stderr(Stdio::null());
        let psql = psql.stdin(Stdio::piped()).spawn();
        Mutex::new(psql.expect("psql can be run").stdin.expect("it is piped"))
    });
    let name = name_in(url);
    let mut dropper = dropper.lock().unwrap_or_else(PoisonError::into_inner);
    // If the server is gone, so is the database.
    let _ = writeln!(dropper, "DROP DATABASE IF EXISTS {name} WITH (FORCE);");
}

/// How many ports to try, as another process may take each one first.
const TRIES: usize = 5;

/// Steps 1, 2 and 4. `$1` is the folder, `$2` the port, `$3` more options of the server, `$4` the address of the
/// primary for a standby.
const KEEPER: &str = r#"
folder=$1
options="-p $2 -c listen_addresses=127.0.0.1 -c unix_socket_directories=$folder -c fsync=off"
# In files of the folder, where nothing is left behind by a server that is killed.
options="$options -c dynamic_shared_memory_type=mmap"
{
    [ -d "$folder/data" ] || if [ -n "$4" ]; then
        pg_basebackup -D "$folder/data" -d "$4" -R -c fast --no-sync
    else
        initdb -D "$folder/data" -U invoicing -A trust -E UTF8 --locale=C --no-sync --no-instructions
    fi
    pg_ctl -D "$folder/data" -l "$folder/log" -w -t 60 -o "$options $3" start
} >"$folder/keeper" 2>&1 || exit
echo started
cat >/dev/null
# It may hang, because a test wanted it to.
{ read -r main <"$folder/data/postmaster.pid" && kill -s CONT "$main"; } 2>/dev/null
[ ! -f "$folder/pgbouncer.pid" ] || kill "$(cat "$folder/pgbouncer.pid")"
pg_ctl -D "$folder/data" -m immediate stop >/dev/null 2>&1
rm -rf "$folder"
"#;

/// A cluster that runs until it is dropped, or until this process ends.
#[derive(Debug)]
pub struct Cluster {
    keeper: Child,
    folder: TempDir,
    port: u16,
    /// The user that the server runs as, if it differs from that of this process.
    user: Option<(u32, u32)>,
    /// The port in the URLs of its databases: the server's own, or that of a pooler in front of it.
    address: u16,
    /// The query part of these URLs.
    parameters: &'static str,
}

impl Cluster {
    /// Makes a cluster and starts its server.
    ///
    /// # Panics
    ///
    /// When the binaries are missing, or the server does not start; its output is in the message.
    pub fn start() -> Cluster {
        Cluster::start_with("")
    }

    /// The same, with more options for the server, such as `-c max_connections=300`.
    ///
    /// # Panics
    ///
    /// As [`start`](Cluster::start).
    pub fn start_with(options: &str) -> Cluster {
        Cluster::make(options, "")
    }

    fn make(options: &str, primary: &str) -> Cluster {
        Cluster::make_of(options, primary, None)
    }

    /// The same, as a copy of another cluster if one is given.
    fn make_of(options: &str, primary: &str, base: Option<&Path>) -> Cluster {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-postgres-")
            .tempdir()
            .expect("a temporary folder can be made");
        let user = unprivileged(folder.path());
        if let Some(base) = base {
            Cluster::take_over(folder.path(), base, user);
        }
        for _ in 0..TRIES {
            let port = port::free();
            if let Some(keeper) = keep(folder.path(), port, options, primary, user) {
                return Cluster {
                    keeper,
                    folder,
                    port,
                    user,
                    address: port,
                    parameters: "",
                };
            }
        }
        let said = ["keeper", "log"]
            .map(|file| std::fs::read_to_string(folder.path().join(file)).unwrap_or_default());
        panic!("PostgreSQL does not start:\n{}", said.concat());
    }

    /// Creates an empty database. Returns its URL.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    pub fn database(&self) -> String {
        self.database_like("template1")
    }

    /// Creates a copy of the database at `url`, which is in this cluster and which nobody is connected to. Returns the URL of
    /// the copy.
    ///
    /// # Panics
    ///
    /// As [`database`](Cluster::database).
    pub fn copy_of(&self, url: &str) -> String {
        self.database_like(name_in(url))
    }

    fn database_like(&self, original: &str) -> String {
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        self.ask(
            "postgres",
            &format!("CREATE DATABASE {name} TEMPLATE {original}"),
        );
        let Cluster {
            address,
            parameters,
            ..
        } = self;
        format!("postgres://invoicing@127.0.0.1:{address}/{name}{parameters}")
    }

    /// The port of the server on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder: the cluster itself is `data` in it, and the server's log is `log`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The output of psql for a query on the database with this name: one line per row, `|` between columns.
    ///
    /// # Panics
    ///
    /// When the query fails.
    pub fn ask(&self, database: &str, query: &str) -> String {
        ask(
            &format!("postgres://invoicing@127.0.0.1:{}/{database}", self.port),
            query,
        )
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The output of psql for a query on the database at `url`: one line per row, `|` between columns.
///
/// # Panics
///
/// When the query fails.
pub fn ask(url: &str, query: &str) -> String {
    let output = Command::new("psql")
        .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", plain(url)])
        .args(["-c", query])
        .env("PATH", path())
        .output()
        .expect("psql can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{query}: {errors}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// How many connections to the database at `url` wait for a lock.
///
/// # Panics
///
/// As [`ask`].
pub fn lock_waits(url: &str) -> usize {
    let waits = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    ask(url, waits).parse().expect("a count")
}

/// Waits until at least so many connections to the database at `url` wait for a lock.
///
/// # Panics
///
/// After a minute, and as [`ask`].
pub async fn until_lock_waits(url: &str, count: usize) {
    let begun = Instant::now();
    while lock_waits(url) < count {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let waited = begun.elapsed();
        assert!(
            waited < Duration::from_secs(60),
            "never {count} wait for a lock"
        );
    }
}

/// The locks of a transaction: others that need them wait until this is dropped.
#[derive(Debug)]
pub struct Locked {
    session: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    ends_with: &'static str,
}

impl Locked {
    /// Locks all tables of the database at `url`.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    pub fn all(url: &str) -> Locked {
        let tables = ask(
            url,
            "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = 'public'",
        );
        Locked::by(url, &format!("LOCK TABLE {tables}"))
    }

    /// Takes the locks of this statement, which must return no rows.
    ///
    /// # Panics
    ///
    /// As [`all`](Locked::all).
    pub fn by(url: &str, statement: &str) -> Locked {
        let mut session = Command::new("psql")
            .args(["-XAtq", "-d", plain(url)])
            .env("PATH", path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql can be run");
        let commands = session.stdin.take().expect("it is piped");
        let answers = session.stdout.take().expect("it is piped");
        let mut locked = Locked {
            session,
            commands,
            answers: BufReader::new(answers),
            ends_with: "ROLLBACK",
        };
        let said = locked.run(&format!("BEGIN; {statement}"));
        assert_eq!(said.expect("psql speaks"), "done\n");
        locked
    }

    /// Commits what the statement has done; without this, it is rolled back.
    pub fn commit(mut self) {
        self.ends_with = "COMMIT";
    }

    /// Runs this, and returns what is said at its end.
    fn run(&mut self, statements: &str) -> io::Result<String> {
        writeln!(self.commands, "{statements}; SELECT 'done';")?;
        let mut said = String::new();
        self.answers.read_line(&mut said)?;
        Ok(said)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Once this is answered, nobody waits for the locks any more. The server may be gone by now.
        let _ = self.run(self.ends_with);
        let _ = self.session.kill();
        let _ = self.session.wait();
    }
}

/// The name of the database at `url`.
fn name_in(url: &str) -> &str {
    plain(url).rsplit('/').next().unwrap_or_default()
}

/// A URL without parameters, some of which are not for libpq.
fn plain(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}

/// Dumps the database at `url` into a file, for those who investigate why a test failed.
pub fn dump(url: &str, file: &Path) {
    let _ = Command::new("pg_dump")
        .arg("--file")
        .arg(file)
        .arg(plain(url))
        .env("PATH", path())
        .status();
}

/// Steps 1 and 2. Returns `None` if the server did not start.
fn keep(
    folder: &Path,
    port: u16,
    options: &str,
    primary: &str,
    user: Option<(u32, u32)>,
) -> Option<Child> {
    let mut command = Command::new("sh");
    command
        .args(["-c", KEEPER, "keeper"])
        .arg(folder)
        .args([&port.to_string(), options, primary])
        .env("PATH", path())
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Ctrl-C is for the tests; the keeper outlives them.
        .process_group(0);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    let mut keeper = command.spawn().expect("sh can be run");
    let mut said = String::new();
    let answers = keeper.stdout.take().expect("it is piped");
    // The keeper prints one line, or ends without any if it failed.
    let started = BufReader::new(answers).read_line(&mut said).is_ok() && !said.is_empty();
    if started {
        return Some(keeper);
    }
    let _ = keeper.wait();
    None
}

/// User and group for the server when this process is root, which then gives them the folder.
fn unprivileged(folder: &Path) -> Option<(u32, u32)> {
    let made = std::fs::metadata(folder).expect("the folder is there");
    if made.uid() != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("there are users");
    let find = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    let user = find("postgres").or_else(|| find("nobody"));
    let (user, group) = user.expect("there is a user `postgres` or `nobody`");
    std::os::unix::fs::chown(folder, Some(user), Some(group)).expect("root may");
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder, private).expect("root may");
    Some((user, group))
}

/// Where the binaries are.
fn path() -> std::ffi::OsString {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut versions: Vec<_> = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .collect();
    versions.sort();
    folders.extend(versions.pop());
    folders.push("/usr/sbin".into());
    std::env::join_paths(folders).expect("no folder has a colon in its name")
}
