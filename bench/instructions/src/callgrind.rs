//! Runs this program under callgrind, and reads its output.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::BoxError;

/// Counts the instructions of `paths` paths, all rounds of each together.
///
/// # Errors
/// When valgrind is missing, or a path fails.
pub fn count(rounds: u64, paths: usize) -> Result<Vec<u64>, BoxError> {
    let folder = tempfile::Builder::new().prefix("instructions-").tempdir()?;
    let (out, log) = (folder.path().join("counts"), folder.path().join("log"));
    let status = Command::new("valgrind")
        .args([
            "--quiet",
            "--tool=callgrind",
            "--dump-before=*write_counts_down*",
        ])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["walk", &rounds.to_string()])
        .stdin(Stdio::null())
        .stderr(File::create(&log)?)
        .status()
        .map_err(|error| format!("valgrind cannot be started: {error}; .ci/install installs it"))?;
    if !status.success() {
        let log = fs::read_to_string(&log).unwrap_or_default();
        return Err(format!("the paths could not be walked ({status}):\n{log}").into());
    }
    // The first counts, and those between two paths, are preparation.
    (1..=paths)
        .map(|path| total(&out.with_extension((2 * path).to_string())))
        .collect()
}

/// The total of a callgrind file.
fn total(file: &Path) -> Result<u64, BoxError> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.ok_or_else(|| format!("{} has no line `totals`", file.display()))?;
    Ok(total.trim().parse()?)
}
