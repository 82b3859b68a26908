//! A session in a file, safe for several processes and across crashes.
//!
//! 1. A session is written to a new file, synced to disk, and then renamed over the old one: whenever
//!    the file is read or the machine stops, it holds a whole session, the old or the new one.
//! 2. The lock is an operating system lock on a second file, which is never replaced or deleted: a lock
//!    on a replaced file would protect nothing. It ends with the process that holds it, however that
//!    ends.
//! 3. Blocking work runs on threads for it. Waiting for the lock does not block: it polls, so that a
//!    caller who gives up leaves nothing behind.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::session::{Session, SessionStore, StoreLock};

/// How often to try to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// How long to wait for the lock: longer than a renewal takes, with all its attempts.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Stores a session in a file, as JSON, for one process or several.
///
/// Only the owner can read the file (on Unix), and it never holds half a session. Processes that share
/// the file share the session: only one of them renews it at a time, and the others adopt the result.
/// The lock is a file of the same name with `.lock` appended, which is never deleted. On a network file
/// system, it is only as good as that file system's locks.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, SessionFile, SessionStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stub = Stub::example();
/// # let client = Client::builder(stub.url()).build()?;
/// # let folder = std::env::temp_dir().join(format!("invoicing-client-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("session.json");
/// let file = SessionFile::new(path);
/// let client = match client.with_kept_session(file.clone()).await? {
///     Some(client) => client,
///     None => {
///         // Nobody is signed in: sign in, and save the session before anything else.
/// #       let code = "code"; let pkce = invoicing_client::Pkce::generate(); let uri = "app:/in";
///         let exchange = client.sessions().exchange_code(code, pkce.verifier(), uri, "mobile-app");
///         let session = exchange.send().await?;
///         file.save(&session).await?;
///         client.with_session(session, file)
///     }
/// };
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SessionFile {
    path: PathBuf,
}

impl SessionFile {
    /// Creates a store in this file, which need not exist yet; its folder must.
    ///
    /// ```
    /// let file = invoicing_client::SessionFile::new("session.json");
    /// ```
    pub fn new(path: impl Into<PathBuf>) -> SessionFile {
        SessionFile { path: path.into() }
    }

    /// Returns the path with a suffix.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }
}

impl SessionStore for SessionFile {
    type Error = io::Error;

    async fn load(&self) -> io::Result<Option<Session>> {
        let path = self.path.clone();
        blocking(move || match fs::read(path) {
            Ok(kept) => Ok(Some(serde_json::from_slice(&kept)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    async fn save(&self, session: &Session) -> io::Result<()> {
        let text = serde_json::to_vec(session)?;
        // A unique name: two processes may save at once, if both sign in.
        let new = self.beside(&format!(".{}.new", uuid::Uuid::new_v4()));
        let path = self.path.clone();
        blocking(move || {
            let replaced = write(&new, &text).and_then(|()| fs::rename(&new, &path));
            if replaced.is_err() {
                // If it cannot be removed either, nothing can be done about it.
                let _ = fs::remove_file(&new);
            }
            replaced.and_then(|()| sync_folder(&path))
        })
        .await
    }

    async fn forget(&self) -> io::Result<()> {
        let path = self.path.clone();
        blocking(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    async fn lock(&self) -> io::Result<StoreLock> {
        let path = self.beside(".lock");
        let file = blocking(move || private().open(path)).await?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(StoreLock::new(file)),
                Err(TryLockError::WouldBlock) if waited < LOCK_TIMEOUT => {
                    tokio::time::sleep(LOCK_INTERVAL).await;
                    waited += LOCK_INTERVAL;
                }
                Err(TryLockError::WouldBlock) => {
                    let path = self.beside(".lock");
                    let message = format!("another process has held {} for long", path.display());
                    return Err(io::Error::new(ErrorKind::TimedOut, message));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await?
}

/// Options for creating files that only the owner can read.
fn private() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = private().open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

/// Makes the new name durable: on Unix it belongs to the folder.
fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}
