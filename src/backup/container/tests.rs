//! Backups damaged in any byte.

use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use tempfile::TempDir;

use super::*;
use crate::domain::time::Timestamp;

/// A folder with a backup of `database`, and with what age needs.
struct Place {
    folder: TempDir,
    encrypted: bool,
}

impl Place {
    fn new(database: &[u8], encrypted: bool) -> Place {
        let place = Place {
            folder: TempDir::new().unwrap(),
            encrypted,
        };
        let identity = Identity::generate();
        std::fs::write(place.path("key"), identity.to_string().expose_secret()).unwrap();
        std::fs::write(place.path("database"), database).unwrap();
        let recipients = match encrypted {
            true => identity.to_public().to_string().parse().unwrap(),
            false => Recipients::default(),
        };
        let manifest = Manifest {
            id: "id".to_owned(),
            made_at: Timestamp::from_millis(0),
            made_by: "0.0.0".to_owned(),
            schema_version: 1,
            database_bytes: database.len() as u64,
            tables: Vec::new(),
        };
        let into = File::create(place.path("backup")).unwrap();
        let (from, watch) = (place.path("database"), Watch::new(|_| ()));
        pack(&from, &manifest, &recipients, into, &watch).unwrap();
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn backup(&self) -> Vec<u8> {
        std::fs::read(self.path("backup")).unwrap()
    }

    /// What `bytes` unpack to, as a backup.
    fn unpacked(&self, bytes: &[u8]) -> Result<Vec<u8>, BackupError> {
        let (path, into) = (self.path("changed"), self.path("unpacked"));
        std::fs::write(&path, bytes).unwrap();
        let identity = self.path("key");
        let packed = Packed::open(&path, self.encrypted.then_some(&*identity))?;
        let file = File::create(&into).unwrap();
        packed.unpack(file, self.folder.path(), &Watch::new(|_| ()))?;
        Ok(std::fs::read(into).unwrap())
    }
}

/// Data between what compresses well and what does not at all.
fn database(length: usize, random: &mut fastrand::Rng) -> Vec<u8> {
    (0..length)
        .map(|at| if at % 3 == 0 { random.u8(..) } else { at as u8 })
        .collect()
}

fn random() -> fastrand::Rng {
    let seed = fastrand::u64(..);
    eprintln!("the seed of this test: {seed}");
    fastrand::Rng::with_seed(seed)
}

#[test]
fn what_is_packed_is_unpacked_again() {
    let mut random = random();
    for length in [0, 1, 100, 3 * PIECE, 3 * PIECE + 1] {
        let database = database(length, &mut random);
        for encrypted in [false, true] {
            let place = Place::new(&database, encrypted);
            assert!(
                place.unpacked(&place.backup()).unwrap() == database,
                "{length} {encrypted}"
            );
        }
    }
}

#[test]
fn each_byte_that_is_changed_is_found() {
    let mut random = random();
    for encrypted in [false, true] {
        let place = Place::new(&database(400, &mut random), encrypted);
        let whole = place.backup();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1 << random.u8(..8);
            let unpacked = place.unpacked(&changed);
            assert!(
                unpacked.is_err(),
                "byte {at} of {}, {encrypted}",
                whole.len()
            );
        }
    }
}

#[test]
fn bytes_that_are_changed_in_a_large_one_are_found() {
    let mut random = random();
    for encrypted in [false, true] {
        let place = Place::new(&database(5 * PIECE, &mut random), encrypted);
        let whole = place.backup();
        for _ in 0..40 {
            let at = random.usize(..whole.len());
            let mut changed = whole.clone();
            changed[at] = changed[at].wrapping_add(random.u8(1..));
            assert!(place.unpacked(&changed).is_err(), "byte {at}, {encrypted}");
        }
    }
}

#[test]
fn what_is_cut_off_or_too_long_is_found() {
    let mut random = random();
    for encrypted in [false, true] {
        let place = Place::new(&database(400, &mut random), encrypted);
        let whole = place.backup();
        for length in 0..whole.len() {
            assert!(
                place.unpacked(&whole[..length]).is_err(),
                "{length}, {encrypted}"
            );
        }
        let more = [&whole[..], &whole[..1]].concat();
        assert!(place.unpacked(&more).is_err(), "{encrypted}");
    }
}

#[test]
fn zstd_gives_the_database_by_itself() {
    let database = database(10_000, &mut random());
    let place = Place::new(&database, false);
    let unpacked = zstd::decode_all(&place.backup()[..]).unwrap();
    assert!(unpacked == database);
}
