//! Bad backups, and folders in which none can be made.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{backup_path, create, files, filled, path, private};
use crate::place::{Place, Said};

/// A change to a backup's manifest.
type Change = fn(&mut Value);

/// The same backup with another manifest or another database in it, and correct checksums.
fn repacked(backup: &[u8], change: impl FnOnce(&mut Value), database: Option<&[u8]>) -> Vec<u8> {
    let length = u32::from_le_bytes(backup[4..8].try_into().unwrap()) as usize;
    let mut manifest: Value = serde_json::from_slice(&backup[8..8 + length]).unwrap();
    let unpacked = zstd::decode_all(backup).unwrap();
    let database = database.unwrap_or(&unpacked);
    manifest["databaseBytes"] = json!(database.len());
    change(&mut manifest);
    let manifest = serde_json::to_vec(&manifest).unwrap();
    let mut packed = backup[..4].to_vec();
    packed.extend((manifest.len() as u32).to_le_bytes());
    packed.extend(manifest);
    packed.extend(zstd::encode_all(database, 3).unwrap());
    let sum = digest(&SHA256, &packed);
    packed.extend(0x184D_2A51_u32.to_le_bytes());
    packed.extend(32_u32.to_le_bytes());
    packed.extend(sum.as_ref());
    packed
}

fn verify(place: &Place, backup: impl AsRef<[u8]>) -> Said {
    place.write("changed", backup);
    let said = place.run(&["backup", "verify", "changed"]);
    let restore = [
        "backup",
        "restore",
        "changed",
        "--database",
        "sqlite:new.db",
    ];
    assert_eq!(
        place.run(&restore).code,
        said.code,
        "what is not good is not restored"
    );
    assert_eq!(place.path("new.db").exists(), said.code == 0);
    said
}

#[test]
fn damage_and_other_files_are_told_apart_and_never_restored() {
    let place = filled();
    let made = create(&place, "backups", &[]);
    let whole = std::fs::read(backup_path(&place, &made)).unwrap();
    let mut changed = whole.clone();
    let seed = fastrand::u64(..);
    eprintln!("the seed of this test: {seed}");
    let at = fastrand::Rng::with_seed(seed).usize(8..whole.len());
    changed[at] ^= 1;
    verify(&place, &changed).failed(1, "the backup changed is damaged");
    verify(&place, &whole[..whole.len() / 2]).failed(1, "the backup changed is damaged");
    verify(&place, "Dear Sir or Madam").failed(1, "changed is no backup of this program");
    verify(&place, "").failed(1, "changed is no backup of this program");
    place
        .run(&["backup", "verify", "missing"])
        .failed(1, "cannot read the backup missing");
}

#[test]
fn a_backup_of_a_newer_program_is_refused_with_what_to_do() {
    let place = filled();
    let made = create(&place, "backups", &[]);
    let whole = std::fs::read(backup_path(&place, &made)).unwrap();
    let newer = |manifest: &mut Value| {
        manifest["schemaVersion"] = json!(99);
        manifest["madeBy"] = json!("9.9.9");
    };
    let said = verify(&place, repacked(&whole, newer, None));
    said.failed(1, "was made by invoicing 9.9.9 and has schema version 99");
    assert!(said.errors.contains("Use that release or a later one"));
}

#[test]
fn what_a_backup_says_of_itself_has_to_be_so() {
    let place = filled();
    let made = create(&place, "backups", &[]);
    let whole = std::fs::read(backup_path(&place, &made)).unwrap();
    let good = repacked(&whole, |_| (), None);
    place.write("changed", good);
    assert_eq!(place.json(&["backup", "verify", "changed"])["good"], true);
    let cases: [(Change, &str); 3] = [
        (
            |it| it["tables"][0]["rows"] = json!(1_000_000),
            "its tables are not those",
        ),
        (|it| it["id"] = json!("00"), "its tables are not those"),
        (|it| it["schemaVersion"] = json!(1), "and it says 1"),
    ];
    for (change, problem) in cases {
        place.write("changed", repacked(&whole, change, None));
        let said = place.run(&["backup", "verify", "changed", "--json"]);
        assert_eq!(said.code, 1);
        assert!(said.errors.contains(problem), "{}", said.errors);
        let found: Value = serde_json::from_str(&said.output).unwrap();
        assert_eq!(found["good"], false);
        assert!(found["problems"][0].as_str().unwrap().contains(problem));
    }
    place.write(
        "changed",
        repacked(&whole, |_| (), Some(b"Dear Sir or Madam")),
    );
    place
        .run(&["backup", "verify", "changed"])
        .failed(1, "is damaged");
}

#[test]
fn a_row_that_refers_to_nothing_is_found() {
    let place = filled();
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let orphan = "PRAGMA foreign_keys = false; INSERT INTO folder VALUES (randomblob(16), randomblob(16), 'x', 0)";
    file.execute_batch(orphan).unwrap();
    let made = create(&place, "backups", &[]);
    let said = place.run(&["backup", "verify", path(&made)]);
    assert_eq!(said.code, 1);
    let problem = "a row of folder refers to a row of team that is not there";
    assert!(said.errors.contains(problem), "{}", said.errors);
}

#[test]
fn what_is_no_database_of_ours_has_no_backup() {
    let place = Place::new();
    private(&place, "backups");
    let refused = |database: &str, message: &str| {
        let create = [
            "backup",
            "create",
            "--to",
            "backups",
            "--database",
            database,
        ];
        place.run(&create).failed(1, message);
        assert_eq!(files(&place, "backups"), Vec::<String>::new());
    };
    refused(
        "sqlite:missing.db",
        "sqlite:missing.db is no database of this program",
    );
    place.write("letter.txt", "Dear Sir or Madam, ".repeat(500));
    refused("sqlite:letter.txt", "file of another program");
    refused(
        &crate::copy::cluster().database(),
        "is no database of this program",
    );
    refused("postgres://ada@127.0.0.1:1/x", "cannot connect to");
    place.json(&["team", "create", "--name", "Acme"]);
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    file.pragma_update(None, "user_version", 99).unwrap();
    refused("sqlite:invoicing.db", "has schema version 99");
}

#[test]
fn a_folder_in_which_nothing_can_be_made_is_named_with_what_to_do() {
    let place = filled();
    let refused = |folder: &str| {
        place
            .run(&["backup", "create", "--to", folder])
            .failed(1, "mkdir -m 0700");
    };
    refused("missing");
    refused("invoicing.db");
    let made = create(&place, "backups", &[]);
    let verify = [
        "backup",
        "verify",
        path(&made),
        "--temporary-folder",
        "missing",
    ];
    place
        .run(&verify)
        .failed(1, "cannot write into the folder missing");
}

#[test]
fn a_folder_that_others_may_use_is_noted() {
    let place = filled();
    create(&place, "backups", &[]);
    for (mode, note) in [
        (0o700, None),
        (0o750, Some("see the names")),
        (0o703, Some("remove and replace")),
    ] {
        std::fs::set_permissions(place.path("backups"), Permissions::from_mode(mode)).unwrap();
        let said = place.run(&["backup", "create", "--to", "backups"]);
        assert_eq!(said.code, 0);
        match note {
            Some(note) => assert!(said.errors.contains(note), "{}", said.errors),
            None => assert_eq!(said.errors, ""),
        }
    }
}

/// A file size limit, which fails in the same places as a full disk; but it has to spare the index of SQLite's log.
#[test]
fn without_room_nothing_is_left_and_the_error_says_how_much_it_takes() {
    let place = filled();
    let made = create(&place, "backups", &[]);
    let database = std::fs::metadata(place.path("invoicing.db")).unwrap().len();
    private(&place, "full");
    let binary = env!("CARGO_BIN_EXE_invoicing");
    let limited = |kibibytes: u64, arguments: &str| {
        let script =
            format!("trap '' XFSZ; ulimit -f {kibibytes}; exec {binary} backup {arguments}");
        let mut command = Command::new("bash");
        Said::by(
            command.args(["-c", &script]).current_dir(place.path("")),
            "",
        )
    };
    for kibibytes in [64, database / 2048, 3 * database / 4096] {
        let said = limited(kibibytes, "create --to full");
        assert_eq!(
            (said.code, said.output.as_str()),
            (1, ""),
            "{kibibytes}: {}",
            said.errors
        );
        assert!(
            said.errors.contains("Nothing was left there"),
            "{}",
            said.errors
        );
        assert_eq!(files(&place, "full"), Vec::<String>::new());
    }
    for arguments in ["verify", "restore --database sqlite:new.db"] {
        let (command, more) = arguments.split_once(' ').unwrap_or((arguments, ""));
        let said = limited(
            database / 2048,
            &format!("{command} {} {more}", path(&made)),
        );
        said.failed(1, "make room");
        assert_eq!(files(&place, "backups").len(), 1);
        assert!(!place.path("new.db").exists());
    }
}
