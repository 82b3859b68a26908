//! Temporary folders that go away with the bench, also when somebody interrupts it: four gigabytes would stay.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

/// All that were made.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The exit code of a process that a signal has ended, by the custom of shells.
const INTERRUPTED: i32 = 130;

/// Makes a folder that is removed when it is dropped, or when SIGINT or SIGTERM ends this process.
///
/// # Errors
/// What the operating system answers.
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
        // It may have been dropped before.
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(INTERRUPTED)
}

/// The list is whole after every statement, so a poisoned lock holds a good one.
fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}
