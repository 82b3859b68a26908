//! Random content for every table of an SQLite file, and a dump of everything in such a file.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// Pieces of texts: those that an encoding, quotation or collation could trip over.
const PIECES: [&str; 16] = [
    "a", "B", "b", "é", "\u{301}", "𝄞", "\\", "\\N", "'", "\"", "{", "},", "NULL", "\t", "\r\n",
    " ",
];

/// Decimals in every notation.
const DECIMALS: [&str; 10] = [
    "0",
    "-0.00",
    "0.10",
    "19.90",
    "1e-30",
    "1.50E+3",
    "123456789.0123456789012345678901234567891",
    "1234567890123456789012345678901234567890",
    "1e-400",
    "1e400",
];

/// More than the copy holds in memory at once.
const MANY: usize = 2_300;

/// Numbers that are the same for the same seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    fn bytes(&mut self, count: usize) -> Value {
        Value::Blob((0..count).map(|_| self.next() as u8).collect())
    }

    fn text(&mut self) -> Value {
        Value::Text((0..self.below(6)).map(|_| self.of(&PIECES)).collect())
    }

    /// A unique text, whatever the case of its letters.
    fn name(&mut self) -> Value {
        let Value::Text(text) = self.text() else {
            unreachable!()
        };
        Value::Text(format!("{text}{:016x}", self.next()))
    }

    fn word(&mut self, words: &[&str]) -> Value {
        Value::Text(self.of(words).to_owned())
    }

    fn number(&mut self) -> Value {
        Value::Integer(self.next() as i64 >> self.below(64))
    }

    fn or_null(&mut self, value: Value) -> Value {
        self.of(&[Value::Null, value])
    }
}

/// Fills the file at `path`, which has the schema and no rows.
pub fn fill(path: &Path, random: &mut Random) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let filler = &mut Filler { connection, random };
    let teams = catalog(filler);
    people(filler, &teams);
    filler.connection.execute_batch("COMMIT").unwrap();
}

struct Filler<'a> {
    connection: Connection,
    random: &'a mut Random,
}

impl Filler<'_> {
    /// Adds rows, and returns the values of the column at this position.
    fn rows(
        &mut self,
        table: &str,
        columns: &str,
        count: usize,
        back: usize,
        mut row: impl FnMut(&mut Random) -> Vec<Value>,
    ) -> Vec<Value> {
        let marks = vec!["?"; columns.split(',').count()].join(", ");
        let insert = format!("INSERT INTO {table} ({columns}) VALUES ({marks})");
        let mut statement = self.connection.prepare(&insert).unwrap();
        let mut values = Vec::new();
        for _ in 0..count {
            let row = row(self.random);
            values.push(row[back].clone());
            statement.execute(params_from_iter(row)).unwrap();
        }
        values
    }
}

/// Adds teams, with their catalogs and keys. Returns the teams.
fn catalog(filler: &mut Filler<'_>) -> Vec<Value> {
    filler.rows("secret", "name, value", 2, 0, |r| {
        vec![r.name(), r.bytes(32)]
    });
    let teams = filler.rows("team", "id, name, created_at", 3, 0, |r| {
        vec![r.bytes(16), r.text(), r.number()]
    });
    let modes = ["live", "test"];
    let keys = "team_id, id, digest, mode, scope, name, created_at, expires_at, revoked_at, last_used_at, \
         last_used_from";
    filler.rows("api_key", keys, 20, 0, |r| {
        let mut row = vec![r.of(&teams), r.bytes(16), r.bytes(32), r.word(&modes)];
        let (name, number) = (r.text(), r.number());
        row.extend([
            r.word(&["read-only", "read-write"]),
            r.or_null(name),
            r.number(),
        ]);
        row.extend((0..3).map(|_| r.or_null(number.clone())));
        let from = r.text();
        row.push(r.or_null(from));
        row
    });
    let products = "team_id, mode, id, status, created_at, updated_at, name, unit_price, currency, sku, \
         tax_rate, description, type, unit_of_measure";
    filler.rows("product", products, MANY, 0, |r| {
        let mut row = vec![r.of(&teams), r.word(&modes), r.bytes(16)];
        row.extend([r.word(&["active", "archived"]), r.number(), r.number()]);
        row.extend([r.text(), r.word(&DECIMALS), r.text()]);
        let (sku, rate) = (r.name(), r.word(&DECIMALS));
        row.extend([r.or_null(sku), r.or_null(rate)]);
        row.extend((0..3).map(|_| {
            let text = r.text();
            r.or_null(text)
        }));
        row
    });
    // The hash is internal to each database; it is not content.
    let records = "team_id, mode, key, request, answer, created_at, key_hash";
    filler.rows("idempotency", records, MANY, 0, |r| {
        let mut row = vec![r.of(&teams), r.word(&modes), r.name()];
        row.extend([r.bytes(32), r.text(), r.number(), r.bytes(16)]);
        row
    });
    teams
}

/// Adds users and apps, sessions, and shared items.
fn people(filler: &mut Filler<'_>, teams: &[Value]) {
    let users = "id, email, name, created_at, removed_at";
    let users = filler.rows("user", users, 20, 0, |r| {
        let removed = r.number();
        vec![
            r.bytes(16),
            r.name(),
            r.text(),
            r.number(),
            r.or_null(removed),
        ]
    });
    let mut each = users.iter();
    filler.rows("member", "user_id, team_id, role, created_at", 20, 0, |r| {
        let user = each.next().unwrap().clone();
        vec![user, r.of(teams), r.word(&["owner", "viewer"]), r.number()]
    });
    let clients = "id, name, created_at, deleted_at";
    let clients = filler.rows("oauth_client", clients, 5, 0, |r| {
        let deleted = r.number();
        vec![r.name(), r.text(), r.number(), r.or_null(deleted)]
    });
    filler.rows(
        "oauth_redirect_uri",
        "client_id, redirect_uri",
        MANY,
        0,
        |r| vec![r.of(&clients), r.name()],
    );
    let sessions = "id, user_id, client_id, created_at, last_used_at, expires_at, install_id, user_agent, ended_at";
    let sessions = filler.rows("session", sessions, 30, 0, |r| {
        let mut row = vec![r.bytes(16), r.of(&users), r.of(&clients)];
        let (text, number) = (r.text(), r.number());
        row.extend([r.number(), r.number(), r.number()]);
        row.extend([r.or_null(text.clone()), r.or_null(text), r.or_null(number)]);
        row
    });
    let codes = "digest, user_id, client_id, redirect_uri, code_challenge, expires_at, session_id";
    filler.rows("auth_code", codes, 30, 0, |r| {
        let mut row = vec![r.bytes(32), r.of(&users), r.of(&clients), r.text()];
        let session = r.of(&sessions);
        row.extend([r.bytes(32), r.number(), r.or_null(session)]);
        row
    });
    filler.rows(
        "access_token",
        "digest, session_id, expires_at",
        MANY,
        0,
        |r| vec![r.bytes(32), r.of(&sessions), r.number()],
    );
    // Without a pair: one within a grace is not copied (`clients.rs`).
    let tokens = "digest, session_id, spent_at";
    filler.rows("refresh_token", tokens, 60, 0, |r| {
        vec![r.bytes(32), r.of(&sessions), r.number()]
    });
    items(filler, teams, &users);
}

fn items(filler: &mut Filler<'_>, teams: &[Value], users: &[Value]) {
    let (team, others) = (&teams[0], &teams[1..]);
    let folders = filler.rows("folder", "team_id, id, name, created_at", 10, 1, |r| {
        vec![team.clone(), r.bytes(16), r.text(), r.number()]
    });
    let file = "team_id, id, name, created_at, folder_id";
    let files = filler.rows("file", file, 10, 1, |r| {
        let folder = r.of(&folders);
        vec![
            team.clone(),
            r.bytes(16),
            r.text(),
            r.number(),
            r.or_null(folder),
        ]
    });
    filler.rows("file", file, 10, 1, |r| {
        vec![r.of(others), r.bytes(16), r.text(), r.number(), Value::Null]
    });
    let links = "id, team_id, item_type, item_id, secret, audience, can_view, can_download, created_by, \
         created_at, updated_at, view_count, download_count, name, password, expires_at, last_viewed_at, revoked_at";
    filler.rows("share_link", links, 1_100, 0, |r| {
        let mut row = vec![r.bytes(16), team.clone(), r.word(&["file"]), r.of(&files)];
        row.extend([r.name(), r.word(&["public", "team"])]);
        row.extend((0..2).map(|_| r.of(&[Value::Integer(0), Value::Integer(1)])));
        row.extend([r.of(users), r.number(), r.number(), r.number(), r.number()]);
        let (text, number) = (r.text(), r.number());
        row.extend((0..2).map(|_| r.or_null(text.clone())));
        row.extend((0..3).map(|_| r.or_null(number.clone())));
        row
    });
}

/// Every row of every table in a file, each with its columns by name, sorted.
pub fn dump(path: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = Connection::open(path).unwrap();
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let rows = |table: &str| {
        let mut all = connection
            .prepare(&format!("SELECT * FROM {table}"))
            .unwrap();
        let names: Vec<_> = all.column_names().map(ToString::to_string).collect();
        let row = |row: &rusqlite::Row<'_>| {
            let value = |(at, name): (usize, &String)| Ok((name.clone(), row.get(at)?));
            let content = names
                .iter()
                .enumerate()
                .filter(|(_, name)| *name != "key_hash");
            content.map(value).collect()
        };
        let found: Result<Vec<BTreeMap<String, Value>>, _> =
            all.query_map([], row).unwrap().collect();
        let mut rows: Vec<_> = found
            .unwrap()
            .iter()
            .map(|row| format!("{row:?}"))
            .collect();
        rows.sort();
        rows
    };
    tables
        .map(|name| name.map(|name| (name.clone(), rows(&name))).unwrap())
        .collect()
}
