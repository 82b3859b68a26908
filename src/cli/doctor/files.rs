//! Settings, files and the disk.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::sys::statvfs::{FsFlags, statvfs};

use super::Subject;
use super::finding::Finding;
use crate::settings::Database;
use crate::tls;

/// Mode bits that let others than owner and group read, and others than the owner write.
const OTHERS_READ: u32 = 0o004;
const OTHERS_WRITE: u32 = 0o022;
const OTHERS: u32 = 0o077;

/// Below the first, SQLite is about to stop; below the second, the operator should be warned.
const LEAST_ROOM: u64 = 100 << 20;
const LITTLE_ROOM: u64 = 1 << 30;

/// The fewest files that the file system must still have room for.
const LEAST_INODES: u64 = 1_000;

/// The settings taken together. Each was checked when it was read.
pub(super) fn settings(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "settings";
    let resolved = &subject.started.resolved;
    let mut findings = Vec::new();
    if let Err(why) = subject.settings.check_for_serving() {
        let why = why.to_string();
        let why = why.trim().trim_start_matches("error: ");
        let to_do = "change the settings; `invoicing serve` does not start with these";
        findings.push(Finding::bad(CHECK, why, to_do));
    }
    for warning in &resolved.warnings {
        let to_do = "rename or remove the variable";
        findings.push(Finding::warn(CHECK, warning, to_do));
    }
    if findings.is_empty() {
        let from = match &resolved.file {
            Some((path, names)) => format!("{} of {}", names.len(), path.display()),
            None => "of no file".to_owned(),
        };
        findings.push(Finding::good(CHECK, format!("read, {from}")));
    }
    findings
}

/// Who may read the settings file, if something in it may be secret.
pub(super) fn settings_file(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "settings-file";
    let Some((path, names)) = &subject.started.resolved.file else {
        return vec![Finding::good(CHECK, "there is none")];
    };
    let settings = &subject.settings;
    let may_be_secret = |name: &str| match name {
        "database" => matches!(settings.database, Database::Postgres(_)),
        "redis" | "smtp_url" | "oidc_client_secret" => true,
        _ => false,
    };
    let secret: Vec<_> = names.iter().filter(|it| may_be_secret(it)).collect();
    let shown = path.display();
    let Ok(metadata) = path.metadata() else {
        let found = format!("{shown} was read, and is gone");
        return vec![Finding::warn(CHECK, found, "put it back")];
    };
    let mode = mode(&metadata);
    if mode & OTHERS_WRITE != 0 {
        let found = format!("others may change {shown} (mode {mode:04o})");
        return vec![Finding::bad(CHECK, found, format!("chmod 0640 {shown}"))];
    }
    match secret.first() {
        Some(name) if mode & OTHERS_READ != 0 => {
            let found = format!(
                "everybody on this machine may read {shown} (mode {mode:04o}), with {name}"
            );
            let to_do = format!("chmod 0640 {shown}, with the group of the server's user");
            vec![Finding::bad(CHECK, found, to_do)]
        }
        _ => vec![Finding::good(CHECK, format!("{shown}, mode {mode:04o}"))],
    }
}

/// Who may read and write the SQLite files.
pub(super) fn database(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "database-file";
    let Database::Sqlite(path) = &subject.settings.database else {
        return vec![Finding::good(CHECK, "the database is PostgreSQL")];
    };
    let mut findings = Vec::new();
    let mut told = 0;
    for path in companions(path) {
        let Ok(metadata) = path.metadata() else {
            continue; // `database` says so of the first, and the others come and go.
        };
        let (mode, shown) = (mode(&metadata), path.display());
        if mode & OTHERS & !told == 0 {
            continue; // They get the mode of the first.
        }
        told |= mode;
        let to_do = format!("chmod 0600 {shown}");
        if mode & OTHERS_WRITE != 0 {
            let found = format!("others may write {shown} (mode {mode:04o})");
            findings.push(Finding::bad(CHECK, found, to_do));
        } else if mode & OTHERS != 0 {
            let found = format!("others may read {shown} (mode {mode:04o})");
            findings.push(Finding::warn(CHECK, found, to_do));
        }
    }
    let folder = folder(path);
    // With the sticky bit, no user can remove another's file.
    if let Ok(metadata) = folder.metadata()
        && mode(&metadata) & 0o002 != 0
        && metadata.permissions().mode() & 0o1000 == 0
    {
        let shown = folder.display();
        let found = format!("everybody on this machine may put files into {shown}");
        findings.push(Finding::bad(CHECK, found, format!("chmod 0750 {shown}")));
    }
    if findings.is_empty() {
        let found = format!("{}, for its user alone", path.display());
        findings.push(Finding::good(CHECK, found));
    }
    findings
}

/// The SQLite file and its companions.
fn companions(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        name.into()
    })
}

fn folder(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.parent().map_or_else(|| path.clone(), Path::to_owned)
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o777
}

/// Free space where the SQLite file is.
pub(super) fn disk(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "disk";
    let Database::Sqlite(path) = &subject.settings.database else {
        let found = "the database is PostgreSQL: have the disks of its server watched";
        return vec![Finding::good(CHECK, found)];
    };
    let folder = folder(path);
    let shown = folder.display();
    match statvfs(&folder) {
        Err(error) => {
            let found = format!("cannot look at {shown}: {error}");
            vec![Finding::bad(
                CHECK,
                found,
                "make the folder, for the server's user",
            )]
        }
        Ok(found) if found.flags().contains(FsFlags::ST_RDONLY) => {
            let found = format!("{shown} is on a disk that is mounted to be read only");
            let to_do = "mount it anew; if the system has done that, its log says why (`dmesg`)";
            vec![Finding::bad(CHECK, found, to_do)]
        }
        Ok(found) => {
            let bytes = found.blocks_available() * found.fragment_size();
            let has_inodes = found.files() > 0;
            let inodes = has_inodes.then(|| found.files_available());
            let needed = path.metadata().map_or(0, |it| it.len());
            vec![room(&shown.to_string(), bytes, inodes, needed)]
        }
    }
}

/// The finding for this much room in a folder with a database of this size.
fn room(folder: &str, bytes: u64, inodes: Option<u64>, database: u64) -> Finding {
    const CHECK: &str = "disk";
    let mib = bytes >> 20;
    let to_do = "make room, or move the database to a larger disk; changes are refused (503) once it is full";
    if inodes.is_some_and(|it| it < LEAST_INODES) {
        let found = format!("no more files can be made in {folder} (inodes)");
        return Finding::bad(CHECK, found, "remove small files on that disk");
    }
    let found = format!("{mib} MiB free in {folder}");
    match bytes {
        _ if bytes < LEAST_ROOM => Finding::bad(CHECK, found, to_do),
        _ if bytes < LITTLE_ROOM => Finding::warn(CHECK, found, to_do),
        _ if bytes < database => {
            let found = format!("{found}, less than the database has");
            Finding::warn(
                CHECK,
                found,
                "a copy of it needs as much again on some disk",
            )
        }
        _ => Finding::good(CHECK, found),
    }
}

/// The certificate and its key.
pub(super) fn tls(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "tls";
    let Some(files) = subject.settings.tls() else {
        return vec![Finding::good(
            CHECK,
            "not set: a proxy speaks it, or nobody",
        )];
    };
    let key = files.key.display();
    let mut findings = Vec::new();
    if let Ok(metadata) = files.key.metadata()
        && mode(&metadata) & (OTHERS_READ | OTHERS_WRITE) != 0
    {
        let mode = mode(&metadata);
        let found = format!("others may read or change the key {key} (mode {mode:04o})");
        let to_do = format!("chmod 0640 {key}, with the group of the server's user; then renew it");
        findings.push(Finding::bad(CHECK, found, to_do));
    }
    let certificate = match tls::Certificate::inspect(files) {
        Ok(certificate) => certificate,
        Err(error) => {
            let to_do = "put a certificate and its own key there, in PEM";
            findings.push(Finding::bad(CHECK, error.to_string(), to_do));
            return findings;
        }
    };
    findings.extend(validity(&certificate, SystemTime::now()));
    let host = subject.settings.origin().map(|it| it.host().to_owned());
    if let Some(host) = host.filter(|host| !certificate.covers(host)) {
        let found = format!("the certificate is not for {host}, the host of the origin");
        let to_do = "get one for that name, unless a proxy with its own stands in front";
        findings.push(Finding::warn(CHECK, found, to_do));
    }
    findings
}

/// The finding for the validity period of a certificate.
fn validity(certificate: &tls::Certificate, now: SystemTime) -> Option<Finding> {
    const CHECK: &str = "tls";
    let to_do = "renew it; SIGHUP has a server take the new one";
    let Some(left) = certificate.ends_in(now) else {
        let found = "the certificate has ended, or its time has not begun";
        return Some(Finding::bad(CHECK, found, to_do));
    };
    let found = format!("the certificate ends in {} days", left.as_secs() / 86_400);
    Some(match left < tls::RENEWED_BEFORE {
        true => Finding::warn(CHECK, found, to_do),
        false => Finding::good(CHECK, found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::State;

    #[test]
    fn little_room_is_told_before_there_is_none() {
        let state = |bytes, inodes, database| room("/srv", bytes, inodes, database).state;
        assert_eq!(state(2 << 30, Some(1_000_000), 1 << 30), State::Good);
        assert_eq!(state(2 << 30, None, 1 << 30), State::Good);
        assert_eq!(state(2 << 30, None, 3 << 30), State::Warn);
        assert_eq!(state(1 << 29, None, 0), State::Warn);
        assert_eq!(state(99 << 20, None, 0), State::Bad);
        assert_eq!(state(2 << 30, Some(10), 0), State::Bad);
    }
}
