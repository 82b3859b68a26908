//! The health of the PostgreSQL database.

use async_trait::async_trait;

use super::{Postgres, migrate};
use crate::domain::Error;
use crate::store::HealthStore;

#[async_trait]
impl HealthStore for Postgres {
    async fn schema_is_current(&self) -> Result<bool, Error> {
        let select = "SELECT invoicing FROM schema_version";
        self.read(|sql| async move {
            let found = sql
                .optional(select, &[], |row| row.try_get::<_, i64>(0))
                .await?;
            Ok(found.is_some_and(|found| found >= migrate::VERSION))
        })
        .await
    }
}
