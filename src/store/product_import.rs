//! Imports of products: the catalog lookups they need, many rows at once, and the plans that are kept.
//!
//! A PostgreSQL statement takes lists, so an import of ten thousand rows does not take as many round trips. SQLite has no
//! round trips, and a statement per row costs some microseconds.

use uuid::Uuid;

use super::{Batch, Sql, fair, product};
use crate::domain::catalog::{Catalog, Mode};
use crate::domain::id::{ProductImportId, TeamId, UserId};
use crate::domain::product::Product;
use crate::domain::product_import::{Asked, KEPT_FOR_TEAM, KeptImport};
use crate::domain::time::Timestamp;
use crate::sql::value::{Bind, Value};
use crate::sql::{ScriptError, sql, table, text, values};

table! {
    /// The rows of plans that are kept.
    pub(super) mod row = "product_import", key [team_id, id];
    (team_id: Uuid, mode: Text, user_id: Uuid)
    KeptImport { id: Uuid, csv: Bytes, rests_on: Bytes, created_at: Integer }
    ()
}

/// PostgreSQL: the products of a catalog that have one of these ids.
const OF_IDS: &str = text!(
    "SELECT ",
    product::row::COLUMNS,
    " FROM product WHERE team_id = $1 AND mode = $2 AND id = ANY($3) ORDER BY id"
);

/// The active products of a catalog that have one of these skus.
const OF_SKUS: &str = text!(
    "SELECT ",
    product::row::COLUMNS,
    " FROM product WHERE team_id = $1 AND mode = $2 AND status = 'active' AND sku"
);

/// Makes other callers wait until the end of the transaction, so that imports into one catalog run one after the other. Each
/// locks many rows, and two at once could deadlock.
pub fn hold(catalog: Catalog) -> impl Batch {
    let number = fair::number(catalog.team_id.0);
    fair::alone(number.wrapping_add(i64::from(catalog.mode == Mode::Test)))
}

/// The products that the rows of an import ask for: those with the ids, then the active ones with the skus, each always in
/// the same order. One may come twice. If `locked`, no other transaction changes them before this one ends; otherwise they
/// are only read.
///
/// # Errors
/// As for every script.
pub async fn find(
    sql: Sql<'_>,
    catalog: Catalog,
    asked: &Asked,
    locked: bool,
) -> Result<Vec<Product>, ScriptError> {
    if let Sql::Sqlite(_) = sql {
        return find_each(sql, catalog, asked).await;
    }
    let by_ids = match locked {
        false => sql!(sqlite: [""], postgres: [OF_IDS]),
        true => sql!(sqlite: [""], postgres: [OF_IDS, " FOR UPDATE"]),
    };
    let by_skus = match locked {
        false => sql!(sqlite: [""], postgres: [OF_SKUS, " = ANY($3) ORDER BY id"]),
        true => sql!(sqlite: [""], postgres: [OF_SKUS, " = ANY($3) ORDER BY id FOR UPDATE"]),
    };
    let ids: Vec<Uuid> = asked.ids.iter().map(|id| id.0).collect();
    let skus: Vec<Value<'_>> = asked.skus.iter().map(Bind::value).collect();
    let Catalog { team_id, mode } = catalog;
    let by_ids = (!ids.is_empty()).then(|| {
        by_ids
            .with(values![team_id, mode, &ids[..]])
            .all(product::row::read)
    });
    let by_skus = (!skus.is_empty()).then(|| {
        by_skus
            .with(values![team_id, mode, &skus[..]])
            .all(product::row::read)
    });
    let (by_ids, by_skus) = sql.run((by_ids, by_skus)).await?;
    let found = by_ids.into_iter().chain(by_skus);
    Ok(found.flatten().collect())
}

async fn find_each(
    sql: Sql<'_>,
    catalog: Catalog,
    asked: &Asked,
) -> Result<Vec<Product>, ScriptError> {
    let mut found = Vec::new();
    for id in &asked.ids {
        found.extend(sql.run(product::find(catalog, *id)).await?);
    }
    for sku in &asked.skus {
        let by_sku = sql!(sqlite: [OF_SKUS, " = $3"], postgres: [""])
            .with(values![catalog.team_id, catalog.mode, sku])
            .first(product::row::read);
        found.extend(sql.run(by_sku).await?);
    }
    Ok(found)
}

/// Keeps a plan, replacing the user's previous one for this catalog.
///
/// Deletes the team's oldest plans beyond [`KEPT_FOR_TEAM`].
pub fn keep(catalog: Catalog, user_id: UserId, import: &KeptImport) -> impl Batch {
    (
        sql!("DELETE FROM product_import WHERE team_id = $1 AND mode = $2 AND user_id = $3")
            .with(values![catalog.team_id, catalog.mode, user_id]),
        sql!(row::INSERT).with(row::values(catalog.team_id, catalog.mode, user_id, import)),
        // Ids sort by time.
        sql!(
            "DELETE FROM product_import WHERE team_id = $1 AND id <= ( \
                 SELECT id FROM product_import WHERE team_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)"
        )
        .with(values![catalog.team_id, KEPT_FOR_TEAM]),
    )
}

/// The plan with that id, if it is this user's, for this catalog, and was made after `expired`.
pub fn find_kept(
    catalog: Catalog,
    user_id: UserId,
    id: ProductImportId,
    expired: Timestamp,
) -> impl Batch<Out = Option<KeptImport>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM product_import \
         WHERE team_id = $1 AND mode = $2 AND user_id = $3 AND id = $4 AND created_at > $5"
    )
    .with(values![catalog.team_id, catalog.mode, user_id, id, expired])
    .first(row::read)
}

/// The catalogs for which a user's plan is kept, and since when, at most `limit`.
pub fn list_of(user_id: UserId, limit: u32) -> impl Batch<Out = Vec<(Catalog, Timestamp)>> {
    sql!(
        "SELECT team_id, mode, created_at FROM product_import WHERE user_id = $1 ORDER BY created_at LIMIT $2"
    )
    .with(values![user_id, limit])
    .all(|row| {
        let (team_id, mode) = (row.take()?, row.take()?);
        Ok((Catalog { team_id, mode }, row.take()?))
    })
}

/// Deletes the plan with that id. Returns how many there were: of two concurrent calls, one gets 0.
pub fn spend(catalog: Catalog, id: ProductImportId) -> impl Batch<Out = u64> {
    sql!("DELETE FROM product_import WHERE team_id = $1 AND id = $2")
        .with(values![catalog.team_id, id])
}

/// Deletes the plans of a user.
pub fn delete_all(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM product_import WHERE user_id = $1").with(values![user_id])
}

/// Deletes at most `limit` plans made at or before `expired`. Returns how many.
pub fn delete_expired(expired: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM product_import WHERE (team_id, id) IN \
             (SELECT team_id, id FROM product_import WHERE created_at <= $1 \
              ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![expired, limit])
}

/// Deletes at most `limit` plans of a team; returns how many.
pub fn delete_some(team_id: TeamId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM product_import WHERE team_id = $1 AND id IN ( \
             SELECT id FROM product_import WHERE team_id = $1 LIMIT $2)"
    )
    .with(values![team_id, limit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::Sqlite;

    #[test]
    fn a_sku_is_found_by_the_index_that_keeps_it_unique() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        drop(Sqlite::open(&path).unwrap());
        let connection = rusqlite::Connection::open(&path).unwrap();
        let query = sql!(sqlite: [OF_SKUS, " = $3"], postgres: [""]).sqlite;
        let explain = format!("EXPLAIN QUERY PLAN {query}");
        let plan: String = connection
            .query_row(&explain, [None::<i64>; 3], |row| row.get(3))
            .unwrap();
        let index = "USING INDEX product_sku (team_id=? AND mode=? AND sku=?";
        assert!(plan.contains(index), "{plan}");
    }
}
