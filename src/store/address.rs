//! The address of a store, as an operator writes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::postgres;

/// How to write an address, for the errors.
const FORMS: &str =
    "write sqlite:PATH, such as sqlite:invoicing.db, or postgres://USER@HOST/DATABASE";

/// The address of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An SQLite file, written `sqlite:PATH`.
    Sqlite(PathBuf),
    /// A PostgreSQL database, written `postgres://...`. (Boxed: it is much larger.)
    Postgres(Box<postgres::Address>),
}

impl Address {
    /// The SQLite file at `path`.
    pub fn sqlite(path: impl AsRef<Path>) -> Self {
        Self::Sqlite(path.as_ref().to_owned())
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let address = text.parse::<postgres::Address>();
            return address
                .map(|address| Self::Postgres(Box::new(address)))
                .map_err(|error| error.to_string());
        }
        let path = text.strip_prefix("sqlite:").ok_or(FORMS)?;
        if path.is_empty() {
            return Err(
                "the path is missing; write sqlite:PATH, such as sqlite:invoicing.db".into(),
            );
        }
        if path.starts_with("//") {
            return Err("a path follows the colon directly; write sqlite:/srv/invoicing.db".into());
        }
        // A PostgreSQL URL, say, with a password, which would become a file name and appear in errors.
        if path.contains("://") {
            return Err(format!("there is a URL behind sqlite:; {FORMS}"));
        }
        if path.starts_with(":memory:") || path.starts_with("file:") {
            return Err("the database must be an ordinary file; write sqlite:PATH".into());
        }
        Ok(Self::sqlite(path))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        text.parse::<Address>().expect_err(text)
    }

    #[test]
    fn an_address_is_an_sqlite_file_or_a_postgresql_database() {
        assert_eq!("sqlite:a b.db".parse(), Ok(Address::sqlite("a b.db")));
        assert_eq!("sqlite:/srv/x.db".parse(), Ok(Address::sqlite("/srv/x.db")));
        for text in ["postgres://ada@h:5432/d", "postgresql://ada@h/d"] {
            let printed = text.parse::<Address>().unwrap().to_string();
            assert_eq!(printed, "postgres://ada@h:5432/d");
        }
        for other in ["invoicing.db", "mysql://h/d"] {
            let said = refused(other);
            assert!(
                said.contains("sqlite:PATH") && said.contains("postgres://"),
                "{said}"
            );
        }
        assert!(refused("sqlite:").contains("missing"));
        assert!(refused("sqlite:///srv/x.db").contains("directly"));
        assert!(refused("sqlite::memory:").contains("ordinary file"));
    }

    #[test]
    fn a_url_behind_sqlite_is_refused_and_its_password_not_printed() {
        for text in [
            "sqlite:postgres://ada:hunter2@h/d",
            "sqlite:postgresql://ada:hunter2@h/d",
            "sqlite: redis://:hunter2@h",
        ] {
            let said = refused(text);
            assert!(said.contains("URL"), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
