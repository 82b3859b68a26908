//! Temporary folders that are removed with the bench, even when it is interrupted: otherwise four gigabytes
//! would stay.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

/// All folders made so far.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The exit code of a process that was ended by a signal, as shells report it.
const INTERRUPTED: i32 = 130;

/// Makes a folder that is removed when it is dropped, or when SIGINT or SIGTERM ends this process.
///
/// # Errors
/// Any error of the operating system.
pub fn folder(prefix: &str) -> io::Result<TempDir> {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        thread::spawn(remove_when_interrupted);
    });
    let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
    folders().push(folder.path().to_owned());
    Ok(folder)
}

fn remove_when_interrupted() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        io::Result::Ok(())
    })?;
    for folder in folders().iter() {
        // It may have been removed before.
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(INTERRUPTED)
}

/// The list is consistent after every statement, so a poisoned lock still holds a valid one.
fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}
