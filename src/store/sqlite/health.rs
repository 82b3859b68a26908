//! The health of the SQLite file.

use async_trait::async_trait;
use rusqlite::Row;

use super::{Sqlite, migrate};
use crate::domain::Error;
use crate::store::HealthStore;

#[async_trait]
impl HealthStore for Sqlite {
    async fn schema_is_current(&self) -> Result<bool, Error> {
        let version = |row: &Row<'_>| row.get::<_, i64>(0);
        let found = self.read(|sql| sql.optional("PRAGMA user_version", [], version))?;
        Ok(found.is_some_and(|found| found >= migrate::VERSION))
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn a_schema_is_current_from_the_version_that_this_binary_knows() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        let store = Sqlite::open(&path).unwrap();
        let elsewhere = rusqlite::Connection::open(&path).unwrap();
        for (change, current) in [(-1, false), (0, true), (1, true)] {
            let version = migrate::VERSION + change;
            elsewhere
                .pragma_update(None, "user_version", version)
                .unwrap();
            assert_eq!(
                store.schema_is_current().await.unwrap(),
                current,
                "{version}"
            );
        }
    }
}
