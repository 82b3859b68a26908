//! What there is to copy: every table of the schema, with its columns as both engines understand them.
//!
//! This is the one place that a migration has to be followed by. A table or a column that an engine has and
//! this list has not (or the other way round) fails a test, which reads the catalog of each engine.

use codegen_runtime::Decimal;
use uuid::Uuid;

/// A table of the schema.
#[derive(Debug)]
pub struct Table {
    /// Its name, the same in both engines.
    pub name: &'static str,
    /// The columns that no two rows share: rows are read in their order, byte by byte.
    pub key: &'static [&'static str],
    /// All columns.
    pub columns: &'static [(&'static str, Kind)],
}

/// What a column holds, whatever an engine calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Boolean,
    /// A digest, or something encrypted.
    Bytes,
    /// A price or a rate.
    Decimal,
    /// A number, or a time in milliseconds since 1970.
    Integer,
    /// Text in Unicode.
    Text,
    /// An id.
    Uuid,
}

/// A value of one of these kinds, or none.
#[derive(Clone, Debug)]
pub enum Value {
    /// None.
    Null,
    /// Of [`Kind::Boolean`].
    Boolean(bool),
    /// Of [`Kind::Bytes`].
    Bytes(Vec<u8>),
    /// Of [`Kind::Decimal`].
    Decimal(Decimal),
    /// Of [`Kind::Integer`].
    Integer(i64),
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Uuid`].
    Uuid(Uuid),
}

/// The values of a row, in the order of [`Table::columns`].
pub type Row = Vec<Value>;

use Kind::{Boolean, Bytes, Decimal as Number, Integer, Text, Uuid as Id};

/// All tables, each behind those that it refers to.
pub const TABLES: &[Table] = &[
    Table {
        name: "secret",
        key: &["name"],
        columns: &[("name", Text), ("value", Bytes)],
    },
    Table {
        name: "team",
        key: &["id"],
        columns: &[("id", Id), ("name", Text), ("created_at", Integer)],
    },
    Table {
        name: "api_key",
        key: &["team_id", "id"],
        columns: &[
            ("team_id", Id),
            ("id", Id),
            ("digest", Bytes),
            ("mode", Text),
            ("scope", Text),
            ("name", Text),
            ("created_at", Integer),
            ("expires_at", Integer),
            ("revoked_at", Integer),
            ("last_used_at", Integer),
        ],
    },
    Table {
        name: "product",
        key: &["team_id", "mode", "status", "id"],
        columns: &[
            ("team_id", Id),
            ("mode", Text),
            ("id", Id),
            ("name", Text),
            ("unit_price", Number),
            ("currency", Text),
            ("description", Text),
            ("sku", Text),
            ("tax_rate", Number),
            ("type", Text),
            ("unit_of_measure", Text),
            ("status", Text),
            ("created_at", Integer),
            ("updated_at", Integer),
        ],
    },
    Table {
        name: "idempotency",
        key: &["team_id", "mode", "key"],
        columns: &[
            ("team_id", Id),
            ("mode", Text),
            ("key", Text),
            ("request", Bytes),
            ("answer", Text),
            ("created_at", Integer),
        ],
    },
    Table {
        name: "user",
        key: &["id"],
        columns: &[
            ("id", Id),
            ("email", Text),
            ("name", Text),
            ("created_at", Integer),
            ("removed_at", Integer),
        ],
    },
    Table {
        name: "member",
        key: &["team_id", "user_id"],
        columns: &[
            ("team_id", Id),
            ("user_id", Id),
            ("role", Text),
            ("created_at", Integer),
        ],
    },
    Table {
        name: "oauth_client",
        key: &["id"],
        columns: &[("id", Text), ("name", Text), ("created_at", Integer)],
    },
    Table {
        name: "oauth_redirect_uri",
        key: &["client_id", "redirect_uri"],
        columns: &[("client_id", Text), ("redirect_uri", Text)],
    },
    Table {
        name: "session",
        key: &["id"],
        columns: &[
            ("id", Id),
            ("user_id", Id),
            ("client_id", Text),
            ("install_id", Text),
            ("user_agent", Text),
            ("created_at", Integer),
            ("last_used_at", Integer),
            ("expires_at", Integer),
            ("ended_at", Integer),
        ],
    },
    Table {
        name: "auth_code",
        key: &["digest"],
        columns: &[
            ("digest", Bytes),
            ("user_id", Id),
            ("client_id", Text),
            ("redirect_uri", Text),
            ("code_challenge", Bytes),
            ("expires_at", Integer),
            ("session_id", Id),
        ],
    },
    Table {
        name: "access_token",
        key: &["digest"],
        columns: &[
            ("digest", Bytes),
            ("session_id", Id),
            ("expires_at", Integer),
        ],
    },
    Table {
        name: "refresh_token",
        key: &["digest"],
        columns: &[
            ("digest", Bytes),
            ("session_id", Id),
            ("spent_at", Integer),
            // Not `successor`: a copy is kept, or handed on, for longer than a sealed pair may be found anywhere.
        ],
    },
    Table {
        name: "folder",
        key: &["team_id", "id"],
        columns: &[
            ("team_id", Id),
            ("id", Id),
            ("name", Text),
            ("created_at", Integer),
        ],
    },
    Table {
        name: "file",
        key: &["team_id", "id"],
        columns: &[
            ("team_id", Id),
            ("id", Id),
            ("name", Text),
            ("folder_id", Id),
            ("created_at", Integer),
        ],
    },
    Table {
        name: "share_link",
        key: &["id"],
        columns: &[
            ("id", Id),
            ("team_id", Id),
            ("item_type", Text),
            ("item_id", Id),
            ("secret", Text),
            ("name", Text),
            ("audience", Text),
            ("can_view", Boolean),
            ("can_download", Boolean),
            ("password", Text),
            ("expires_at", Integer),
            ("view_count", Integer),
            ("download_count", Integer),
            ("last_viewed_at", Integer),
            ("created_by", Id),
            ("created_at", Integer),
            ("updated_at", Integer),
            ("revoked_at", Integer),
        ],
    },
];

impl Table {
    /// Its columns for a statement, quoted: some are words of SQL's own.
    pub(in crate::store) fn quoted_columns(&self) -> String {
        list(self.columns.iter().map(|(name, _)| quoted(name)))
    }

    /// The columns of its key, with what they hold.
    pub(in crate::store) fn key_columns(
        &self,
    ) -> impl Iterator<Item = &'static (&'static str, Kind)> {
        let column = |name| self.columns.iter().find(move |(other, _)| other == name);
        self.key.iter().filter_map(column)
    }

    /// The values of its key in one of its rows.
    pub(in crate::store) fn key_of(&self, row: &Row) -> Row {
        let columns = self.columns.iter().zip(row);
        let value = |name| columns.clone().find(move |((other, _), _)| other == name);
        self.key
            .iter()
            .filter_map(value)
            .map(|(_, value)| value.clone())
            .collect()
    }
}

/// A name for a statement.
pub(in crate::store) fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Items with commas between them.
pub(in crate::store) fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
