//! Frameworks of other languages that a spec-first team would pick instead of this service, with the same document.
//!
//! They are in `bench/peers/`, as small as their frameworks allow: the framework checks requests, and below it is
//! SQLite with the tables, statements and settings of the server written by hand. `peers/install` installs their
//! dependencies, in committed versions; `peers/run` becomes one of them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::dataset::BoxError;

/// Installs their dependencies, unless that is already done.
///
/// # Errors
/// When they cannot be installed; the script has printed what is missing.
pub fn install() -> Result<(), BoxError> {
    let status = Command::new("bash")
        .arg(script("install"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err("the peers cannot be installed; see above, or run without --peers".into()),
    }
}

/// The command that becomes the peer of this name, on a database.
pub fn command(name: &str, address: SocketAddr, database: &Path) -> Command {
    let mut command = Command::new("bash");
    command
        .arg(script("run"))
        .args([name, &address.port().to_string()])
        .arg(database);
    command
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(name)
}
