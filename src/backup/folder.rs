//! Folders with backups: how a backup is named, where it is while it is being made, and which ones are kept.
//!
//! A backup is made in a folder of its own within the folder where it will be, so that it gets its name by a move within one
//! file system. The inner folder is removed with the process, unless that is killed: the folder is locked, and the next
//! process removes those that are not locked.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use tempfile::{Builder, TempDir, TempPath};

use super::container::is_backup;
use super::error::BackupError;
use crate::domain::time::Timestamp;

/// The prefix of folders in which something is being made.
const MAKING: &str = ".invoicing-backup-";

/// How a backup's name begins, and how it ends, in clear and encrypted.
const BEGIN: &str = "invoicing-";
const CLEAR: &str = ".db.zst";
const ENCRYPTED: &str = ".db.zst.age";

/// `T` and `Z` in their places, and digits everywhere else: `2026-11-23T073520.123Z`.
const TIME: &str = "0000-00-00T000000.000Z";

/// How many times to make a folder, when another process removes it before it is locked.
const TRIES: usize = 10;

/// The name of a backup made at `made_at`. Names sort by time.
pub(super) fn name(made_at: Timestamp, encrypted: bool) -> String {
    let time = made_at.to_string().replace(':', "");
    format!("{BEGIN}{time}{}", if encrypted { ENCRYPTED } else { CLEAR })
}

/// Whether a backup may have this name.
fn is_name(name: &str) -> bool {
    let middle = name.strip_prefix(BEGIN);
    let time = middle.and_then(|it| it.strip_suffix(CLEAR).or(it.strip_suffix(ENCRYPTED)));
    let like = |(is, form): (u8, u8)| {
        if form == b'0' {
            is.is_ascii_digit()
        } else {
            is == form
        }
    };
    time.is_some_and(|it| it.len() == TIME.len() && it.bytes().zip(TIME.bytes()).all(like))
}

/// A folder of one process, removed when dropped.
pub(super) struct Making {
    folder: TempDir,
    /// Locked as long as this exists.
    _lock: File,
}

impl Making {
    /// A new folder within `parent`, after those of killed processes have been removed.
    ///
    /// # Errors
    /// [`BackupError::Folder`].
    pub(super) fn within(parent: &Path) -> Result<Making, BackupError> {
        let failed = |source| BackupError::Folder {
            path: parent.to_owned(),
            source,
        };
        sweep(parent).map_err(failed)?;
        let mut last = io::Error::other("others take away what is made there");
        for _ in 0..TRIES {
            match Making::locked(parent) {
                Ok(Some(making)) => return Ok(making),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && parent.is_dir() => {
                    last = error
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(last))
    }

    /// Returns `None` if another process removed it before it was locked.
    fn locked(parent: &Path) -> io::Result<Option<Making>> {
        let private = Permissions::from_mode(0o700);
        let folder = Builder::new()
            .prefix(MAKING)
            .permissions(private)
            .tempdir_in(parent)?;
        let lock = File::open(folder.path())?;
        lock.lock()?;
        let there = folder.path().exists();
        Ok(there.then_some(Making {
            folder,
            _lock: lock,
        }))
    }

    /// A path in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A new file in it, for its owner alone.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.path(name))
    }

    /// Moves a file that is on the disk to where it stays. A file there is replaced only if `replace` is set.
    pub(super) fn publish(&self, name: &str, to: &Path, replace: bool) -> io::Result<()> {
        let file = TempPath::try_from_path(self.path(name))?;
        match replace {
            true => file.persist(to)?,
            false => file.persist_noclobber(to)?,
        }
        // Its name is on the disk, too.
        File::open(parent(to))?.sync_all()
    }
}

/// The folder that a file is in.
pub(super) fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes the folders of killed processes.
fn sweep(parent: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        let ours = entry.file_name().to_string_lossy().starts_with(MAKING);
        if !ours || !entry.file_type()?.is_dir() {
            continue;
        }
        // A locked folder is in use. One that cannot be opened or removed is somebody else's, and must not hold this up,
        // even if something else is put in its place meanwhile: opening a pipe, say, would not end.
        let folder = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
        let mut options = OpenOptions::new();
        if let Ok(lock) = options
            .read(true)
            .custom_flags(folder.bits())
            .open(entry.path())
            && lock.try_lock().is_ok()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Removes all backups of a folder except the newest `count`, after `made` was added. Returns those removed, oldest first.
///
/// A backup is an ordinary file that has the name of one, and begins like one. A file that cannot be read is somebody
/// else's. Names later than `now` come from a clock that was wrong: they count as the oldest, or they would stay for ever,
/// and take the place of all backups made from now on. Names alone decide which backups stay, so that two processes that do
/// this at once remove the same ones.
///
/// # Errors
/// Which one could not be removed, and the error from the system; the others have been removed by then.
pub fn keep(made: &Path, count: usize, now: Timestamp) -> io::Result<Vec<PathBuf>> {
    let last = parent(made).join(name(now, true)).max(made.to_owned());
    let mut all = Vec::new();
    for entry in std::fs::read_dir(parent(made))? {
        let entry = entry?;
        let named = entry.file_name().to_str().is_some_and(is_name);
        let path = entry.path();
        let is_file = || entry.file_type().is_ok_and(|it| it.is_file());
        if named && is_file() && begins_like_one(&path).unwrap_or(false) {
            all.push(path);
        }
    }
    all.sort_by(|a, b| (*a <= last, a).cmp(&(*b <= last, b)));
    all.truncate(all.len().saturating_sub(count));
    let (mut removed, mut failed) = (Vec::new(), None);
    for path in all {
        match std::fs::remove_file(&path) {
            Ok(()) => removed.push(path),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let why = format!("{}: {error}", path.display());
                failed = Some(io::Error::new(error.kind(), why));
            }
        }
    }
    failed.map_or(Ok(removed), Err)
}

fn begins_like_one(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut begin)?;
    Ok(is_backup(&begin))
}

/// What users other than its owner may do in a folder, if anything, in words.
pub fn others_may(folder: &Path) -> Option<&'static str> {
    let mode = std::fs::metadata(folder).ok()?.permissions().mode();
    match mode & 0o077 {
        0 => None,
        mode if mode & 0o022 != 0 => Some("remove and replace the backups in it"),
        _ => Some("see the names of the backups in it"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::container::MANIFEST;
    use super::*;

    #[test]
    fn a_name_has_the_time_and_says_whether_it_is_encrypted() {
        let made_at = Timestamp::from_millis(1_795_419_320_123);
        let clear = name(made_at, false);
        assert_eq!(clear, "invoicing-2026-11-23T073520.123Z.db.zst");
        for name in [clear, name(made_at, true)] {
            assert!(is_name(&name), "{name}");
        }
    }

    #[test]
    fn other_names_are_no_backups() {
        for name in [
            "invoicing.db",
            "invoicing-2026-11-23T073520.123Z.db",
            "invoicing-2026-11-23T073520Z.db.zst",
            "invoicing-2026-11-23T07:35:20.123Z.db.zst",
            "invoicing-2026-11-23T073520.123Z.db.zst.part",
            "my-invoicing-2026-11-23T073520.123Z.db.zst",
            "invoicing.db.schema-11.zst",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    /// `day` days after some day.
    fn at(day: i64) -> Timestamp {
        Timestamp::from_millis(1_795_419_320_123 + day * 86_400_000)
    }

    #[test]
    fn a_backup_that_was_through_before_one_that_was_begun_earlier_stays() {
        let folder = TempDir::new().unwrap();
        let [old, slow, quick] = [1, 2, 3].map(|day| folder.path().join(name(at(day), false)));
        for path in [&old, &slow, &quick] {
            std::fs::write(path, MANIFEST).unwrap();
        }
        assert_eq!(keep(&slow, 2, at(3)).unwrap(), [old]);
    }

    #[test]
    fn of_two_that_are_through_at_once_one_stays() {
        for _ in 0..50 {
            let folder = TempDir::new().unwrap();
            let both = [1, 2].map(|day| folder.path().join(name(at(day), false)));
            for path in &both {
                std::fs::write(path, MANIFEST).unwrap();
            }
            std::thread::scope(|scope| {
                let all = both.each_ref();
                _ = all.map(|path| scope.spawn(|| keep(path, 1, at(2)).unwrap()));
            });
            let [older, newer] = both.map(|path| path.exists());
            assert!(!older && newer, "{older} {newer}");
        }
    }

    #[test]
    fn backups_of_a_clock_that_was_ahead_go_first_and_those_of_one_that_is_behind_stay() {
        let folder = TempDir::new().unwrap();
        let day = |number: i64| folder.path().join(name(at(number), false));
        let make = |number| {
            std::fs::write(day(number), MANIFEST).unwrap();
            keep(&day(number), 3, at(number)).unwrap()
        };
        // The clock is right, years ahead, and right again.
        for (number, removed) in [
            (0, vec![]),
            (1, vec![]),
            (3_650, vec![]),
            (3_651, vec![day(0)]),
            (2, vec![day(3_650)]),
            (3, vec![day(3_651)]),
            (4, vec![day(1)]),
            // It is years behind, and right again.
            (-3_650, vec![day(2)]),
            (5, vec![day(-3_650)]),
        ] {
            assert_eq!(make(number), removed, "{number}");
            assert!(day(number).exists());
        }
    }

    #[test]
    fn what_a_killed_process_has_left_is_taken_away_and_what_is_in_use_is_not() {
        let folder = TempDir::new().unwrap();
        let left = folder.path().join(format!("{MAKING}left"));
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("snapshot"), "x").unwrap();
        let first = Making::within(folder.path()).unwrap();
        assert!(!left.exists());
        let second = Making::within(folder.path()).unwrap();
        assert!(first.path("").exists());
        drop((first, second));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
