//! The format of a backup file.
//!
//! 1. A zstd frame that zstd's tools skip, with the [manifest](Manifest) in JSON.
//! 2. A zstd frame with the database.
//! 3. A skippable frame with the SHA-256 of everything before it. So any changed byte is found, even where zstd would not
//!    mind.
//! 4. All of it is encrypted by age, unless there are no recipients.
//!
//! Hence `age --decrypt` and then `zstd -d` give the database to anyone without this program. What is read counts only once
//! the sum of step 3 has been compared.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use age::{DecryptError, Decryptor};
use aws_lc_rs::digest::{Context, SHA256, SHA256_OUTPUT_LEN};

use super::error::BackupError;
use super::manifest::Manifest;
use super::recipients::{Recipients, identities};
use super::watch::Watch;
use crate::domain::Cause;

/// How the frames of steps 1 and 3 begin: two of the magic numbers that RFC 8878 (3.1.2) has for skippable frames.
pub(super) const MANIFEST: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
const SUM: [u8; 4] = 0x184D_2A51_u32.to_le_bytes();

/// How a file encrypted by age begins.
const AGE: &[u8] = b"age-encryption.org/v1";

/// The first bytes of a skippable frame, and its length behind them.
const HEAD: usize = 8;

/// The size of the frame of step 3.
const TRAILER: usize = HEAD + SHA256_OUTPUT_LEN;

/// No manifest is larger, in bytes: it has one line per table.
const LARGEST_MANIFEST: usize = 1 << 20;

/// How much is read at once, in bytes.
const PIECE: usize = 64 << 10;

/// Zstandard's own default, which is faster than a disk, and has a window of some megabytes.
const LEVEL: i32 = 3;

/// Whether a file that starts with `begin` may be a backup.
pub(super) fn is_backup(begin: &[u8]) -> bool {
    begin.starts_with(&MANIFEST) || begin.starts_with(AGE)
}

/// Writes the backup of a database to a file, which is on the disk afterwards.
///
/// # Errors
/// The error from the system.
pub(super) fn pack(
    database: &Path,
    manifest: &Manifest,
    recipients: &Recipients,
    into: File,
    watch: &Watch,
) -> Result<(), Cause> {
    let database = File::open(database)?;
    let out = BufWriter::with_capacity(PIECE, into);
    let out = match recipients.encryptor()? {
        Some(encryptor) => {
            let out = encryptor.wrap_output(out)?;
            frames(database, manifest, out, watch)?.finish()?
        }
        None => frames(database, manifest, out, watch)?,
    };
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(file.sync_all()?)
}

/// Steps 1 to 3.
fn frames<W: Write>(
    mut database: File,
    manifest: &Manifest,
    out: W,
    watch: &Watch,
) -> Result<W, Cause> {
    let sum = Context::new(&SHA256);
    let mut out = Summed { out, sum };
    let manifest_json = serde_json::to_vec(manifest)?;
    out.write_all(&MANIFEST)?;
    out.write_all(&u32::try_from(manifest_json.len())?.to_le_bytes())?;
    out.write_all(&manifest_json)?;

    let mut encoder = zstd::Encoder::new(out, LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(manifest.database_bytes))?;
    move_all(
        &mut database,
        &mut encoder,
        "compressing",
        manifest.database_bytes,
        watch,
    )?;
    let Summed { mut out, sum } = encoder.finish()?;

    out.write_all(&SUM)?;
    out.write_all(&(SHA256_OUTPUT_LEN as u32).to_le_bytes())?; // 32
    out.write_all(sum.finish().as_ref())?;
    out.flush()?;
    Ok(out)
}

/// Moves everything, in pieces, and returns how many bytes that was.
fn move_all(
    from: &mut impl Read,
    to: &mut impl Write,
    doing: &'static str,
    total: u64,
    watch: &Watch,
) -> io::Result<u64> {
    let mut piece = vec![0; PIECE];
    let mut moved = 0;
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return Ok(moved);
        }
        if watch.is_stopped() {
            return Err(io::Error::other("interrupted"));
        }
        to.write_all(&piece[..length])?;
        moved += length as u64; // 64 KiB
        watch.show(doing, moved, total);
    }
}

/// Hashes what is written.
struct Summed<W> {
    out: W,
    sum: Context,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A backup that is being read.
pub(super) struct Packed<'a> {
    path: &'a Path,
    /// Its content, decrypted.
    bytes: Unsummed<Box<dyn Read>>,
}

impl<'a> Packed<'a> {
    /// Opens a backup, with the secret keys in a file if it is encrypted.
    ///
    /// # Errors
    /// [`BackupError`].
    pub(super) fn open(path: &'a Path, identity: Option<&Path>) -> Result<Self, BackupError> {
        let unreadable = |source| BackupError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(unreadable)?;
        let mut file = BufReader::with_capacity(PIECE, file);
        let begin = file.fill_buf().map_err(unreadable)?;
        let bytes: Box<dyn Read> = if begin.starts_with(AGE) {
            let missing = || BackupError::Encrypted {
                path: path.to_owned(),
            };
            let identity = identity.ok_or_else(missing)?;
            Box::new(decrypted(path, file, identity)?)
        } else if begin.starts_with(&MANIFEST) {
            Box::new(file)
        } else {
            return Err(BackupError::NoBackup {
                path: path.to_owned(),
            });
        };
        Ok(Packed {
            path,
            bytes: Unsummed::new(bytes),
        })
    }

    /// Writes the database in it to a file, and returns the manifest. Both are as they were written.
    ///
    /// # Errors
    /// [`BackupError::Damaged`] and [`BackupError::Write`].
    pub(super) fn unpack(
        mut self,
        into: File,
        folder: &Path,
        watch: &Watch,
    ) -> Result<Manifest, BackupError> {
        let path = self.path;
        let damaged = |what: &dyn Display| BackupError::damaged(path, what);
        let manifest = self.manifest().map_err(|error| damaged(&error))?;
        let frame = BufReader::with_capacity(PIECE, &mut self.bytes);
        let frame = zstd::Decoder::with_buffer(frame).map_err(|error| damaged(&error))?;
        let mut frame = Telling {
            from: frame.single_frame(),
            error: None,
        };
        let mut into = Room {
            into,
            left: manifest.database_bytes,
        };
        let moved = move_all(
            &mut frame,
            &mut into,
            "unpacking",
            manifest.database_bytes,
            watch,
        );
        if let Some(error) = frame.error {
            return Err(damaged(&error));
        }
        let moved = match moved {
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(damaged(&error)),
            moved => moved.map_err(|error| BackupError::write(folder, error))?,
        };
        let behind = frame.from.finish().buffer().len();
        if moved != manifest.database_bytes || behind > 0 {
            return Err(damaged(&"it has more or less in it than it says"));
        }
        match self.bytes.ends_as_summed() {
            Ok(true) => Ok(manifest),
            Ok(false) => Err(damaged(&"its checksum is another")),
            Err(error) => Err(damaged(&error)),
        }
    }

    /// Step 1.
    fn manifest(&mut self) -> Result<Manifest, Cause> {
        let mut head = [0; HEAD];
        self.bytes.read_exact(&mut head)?;
        let (magic, length) = head.split_at(MANIFEST.len());
        let length = u32::from_le_bytes(length.try_into()?) as usize; // 32 bits
        if magic != MANIFEST || length > LARGEST_MANIFEST {
            return Err("it does not begin like one".into());
        }
        let mut json = vec![0; length];
        self.bytes.read_exact(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

/// Decrypts a file with age.
fn decrypted(
    path: &Path,
    file: BufReader<File>,
    identity: &Path,
) -> Result<impl Read + use<>, BackupError> {
    let identities = identities(identity)?;
    let refused = |error| match error {
        DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed => BackupError::NotForUs {
            path: path.to_owned(),
        },
        error => BackupError::damaged(path, &error),
    };
    let decryptor = Decryptor::new_buffered(file).map_err(refused)?;
    let identities = identities.iter().map(|it| &**it as &dyn age::Identity);
    decryptor.decrypt(identities).map_err(refused)
}

/// Remembers an error from reading, so that it is not taken for one from writing.
struct Telling<R> {
    from: R,
    error: Option<io::Error>,
}

impl<R: Read> Read for Telling<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.from.read(into).map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind.into()
        })
    }
}

/// Takes no more than it has room for: a damaged backup might unpack without end.
struct Room {
    into: File,
    left: u64,
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self
            .left
            .checked_sub(bytes.len() as u64) // 64 KiB
            .ok_or_else(|| {
                io::Error::new(ErrorKind::InvalidData, "it has more in it than it says")
            })?;
        self.into.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

/// Returns everything except the frame of step 3, and hashes what it returns.
struct Unsummed<R> {
    from: R,
    sum: Context,
    /// Bytes read but not returned yet: at the end, the frame.
    held: Vec<u8>,
    ended: bool,
}

impl<R: Read> Unsummed<R> {
    fn new(from: R) -> Self {
        Unsummed {
            from,
            sum: Context::new(&SHA256),
            held: Vec::with_capacity(PIECE + TRAILER),
            ended: false,
        }
    }

    /// Whether the frame follows what was returned, and has its sum.
    fn ends_as_summed(mut self) -> io::Result<bool> {
        let mut nothing = [0];
        if self.read(&mut nothing)? > 0 {
            return Ok(false);
        }
        let length = (SHA256_OUTPUT_LEN as u32).to_le_bytes(); // 32
        let sum = self.sum.finish();
        Ok(self.held == [&SUM[..], &length, sum.as_ref()].concat())
    }
}

impl<R: Read> Read for Unsummed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.held.len() <= TRAILER && !self.ended {
            let before = self.held.len();
            self.held.resize(before + PIECE, 0);
            let length = self.from.read(&mut self.held[before..])?;
            self.held.truncate(before + length);
            self.ended = length == 0;
        }
        let length = self.held.len().saturating_sub(TRAILER).min(into.len());
        into[..length].copy_from_slice(&self.held[..length]);
        self.held.drain(..length);
        self.sum.update(&into[..length]);
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
