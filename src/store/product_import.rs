//! Imports of products: the catalog lookups they need, many rows at once, and the plans that are kept.
//!
//! A PostgreSQL statement takes lists, so an import of ten thousand rows does not take as many round trips. SQLite has no
//! round trips, and a statement per row costs some microseconds.

use uuid::Uuid;

use super::{Batch, Sql, fair, product};
use crate::domain::catalog::Catalog;
use crate::domain::id::{ProductId, ProductImportId, TeamId, UserId};
use crate::domain::product::Product;
use crate::domain::product_import::{Asked, KEPT_FOR_TEAM, KeptImport};
use crate::domain::time::Timestamp;
use crate::sql::value::{Bind, Columns, Value};
use crate::sql::{ScriptError, Statement, sql, table, text, values};

table! {
    /// The rows of plans that are kept.
    pub(super) mod row = "product_import", key [team_id, id];
    (team_id: Uuid, mode: Text, user_id: Uuid)
    KeptImport { id: Uuid, csv: Bytes, rests_on: Bytes, created_at: Integer }
    ()
}

/// PostgreSQL: what follows is read of each product of a catalog that has one of these ids. One is looked up after the other
/// (see [`Many`](crate::sql::Many)), and by each status: otherwise, where PostgreSQL has not counted the products of a team, it
/// goes through all of them.
const OF_IDS: &str = text!(
    EACH_ID,
    OF_ID,
    "'active' UNION ALL ",
    OF_ID,
    "'archived' OFFSET 0) AS found ORDER BY id"
);

/// The same, with a lock on each.
const OF_IDS_LOCKED: &str = text!(
    EACH_ID,
    "SELECT * FROM (",
    OF_ID,
    "'active' FOR UPDATE) AS active UNION ALL SELECT * FROM (",
    OF_ID,
    "'archived' FOR UPDATE) AS archived OFFSET 0) AS found ORDER BY id"
);

const EACH_ID: &str =
    " FROM (SELECT unnest($3::uuid[]) AS asked_id ORDER BY asked_id) AS asked, LATERAL (";
const OF_ID: &str =
    "SELECT * FROM product WHERE team_id = $1 AND mode = $2 AND id = asked_id AND status = ";

/// PostgreSQL: likewise, of the active products that have one of these skus. Where it has not counted the products of a team,
/// it may go through all of them for each, so they are [counted](count).
const OF_SKUS: &str = text!(EACH_SKU, " OFFSET 0) AS found ORDER BY id");
const OF_SKUS_LOCKED: &str = text!(EACH_SKU, " FOR UPDATE OFFSET 0) AS found ORDER BY id");

const EACH_SKU: &str = " FROM (SELECT unnest($3::text[]) AS asked_sku ORDER BY asked_sku) AS asked, LATERAL \
    (SELECT * FROM product WHERE team_id = $1 AND mode = $2 AND status = 'active' AND sku = asked_sku";

/// The active products of a catalog.
const ACTIVE: &str = " FROM product WHERE team_id = $1 AND mode = $2 AND status = 'active' AND ";

/// The archived products of a catalog.
const ARCHIVED: &str =
    " FROM product WHERE team_id = $1 AND mode = $2 AND status = 'archived' AND ";

/// A product, and when it was last changed.
const LAST_CHANGE: &str = "SELECT id, updated_at";

/// Makes other callers wait until the end of the transaction, so that a team's imports run one after the other. Each
/// locks many rows, and two at once could deadlock.
pub fn hold(team_id: TeamId) -> impl Batch {
    fair::alone(fair::Lock::Imports(team_id))
}

/// The products that the lines of an import ask for: those with the ids, then the active ones with the skus, each always in
/// the same order. One may come twice.
///
/// # Errors
/// As for every script.
pub async fn find(
    sql: Sql<'_>,
    catalog: Catalog,
    asked: &Asked,
) -> Result<Vec<Product>, ScriptError> {
    let by_ids = sql!(
        sqlite: [product::ONE],
        postgres: ["SELECT ", product::row::COLUMNS, OF_IDS],
    );
    let by_skus = sql!(
        sqlite: ["SELECT ", product::row::COLUMNS, ACTIVE, "sku = $3"],
        postgres: ["SELECT ", product::row::COLUMNS, OF_SKUS],
    );
    all(sql, catalog, asked, (by_ids, by_skus), product::row::read).await
}

/// When the products that [`find`] finds were last changed, in the same order. No other transaction changes them before this
/// one ends. (PostgreSQL: one whose status another transaction has just changed is missing, so the plan does not fit, either.)
///
/// # Errors
/// As for every script.
pub async fn lock_last_changes(
    sql: Sql<'_>,
    catalog: Catalog,
    asked: &Asked,
) -> Result<Vec<(ProductId, Timestamp)>, ScriptError> {
    let by_ids = sql!(
        sqlite: [LAST_CHANGE, ACTIVE, "id = $3 UNION ALL ", LAST_CHANGE, ARCHIVED, "id = $3"],
        postgres: [LAST_CHANGE, OF_IDS_LOCKED],
    );
    let by_skus = sql!(
        sqlite: [LAST_CHANGE, ACTIVE, "sku = $3"],
        postgres: [LAST_CHANGE, OF_SKUS_LOCKED],
    );
    let read = |row: &mut Columns<'_>| Ok((row.take()?, row.take()?));
    all(sql, catalog, asked, (by_ids, by_skus), read).await
}

/// Runs two statements: one finds products by id, the other by sku. SQLite has one for each product.
async fn all<T>(
    sql: Sql<'_>,
    Catalog { team_id, mode }: Catalog,
    asked: &Asked,
    (by_ids, by_skus): (&'static Statement<3>, &'static Statement<3>),
    read: fn(&mut Columns<'_>) -> Result<T, ScriptError>,
) -> Result<Vec<T>, ScriptError> {
    if let Sql::Sqlite(_) = sql {
        let mut found = Vec::new();
        for id in &asked.ids {
            let by_id = by_ids.with(values![team_id, mode, id]);
            found.extend(sql.run(by_id.first(read)).await?);
        }
        for sku in &asked.skus {
            let by_sku = by_skus.with(values![team_id, mode, sku]);
            found.extend(sql.run(by_sku.first(read)).await?);
        }
        return Ok(found);
    }
    let ids: Vec<Uuid> = asked.ids.iter().map(|id| id.0).collect();
    let skus: Vec<Value<'_>> = asked.skus.iter().map(Bind::value).collect();
    let by_ids = by_ids.with(values![team_id, mode, &ids[..]]).all(read);
    let by_skus = by_skus.with(values![team_id, mode, &skus[..]]).all(read);
    let found = sql
        .run((
            (!ids.is_empty()).then_some(by_ids),
            (!skus.is_empty()).then_some(by_skus),
        ))
        .await?;
    let (by_ids, by_skus) = found;
    Ok(by_ids.into_iter().chain(by_skus).flatten().collect())
}

/// PostgreSQL: counts the products after so many new ones, if these are more than a tenth of those that it knows of: then it
/// would count them itself within a minute (autovacuum). Until then it might take a large catalog for one of a few products, and the next import would
/// take minutes.
///
/// # Errors
/// As for every script.
pub async fn count(sql: Sql<'_>, new: usize) -> Result<(), ScriptError> {
    let Sql::Postgres(_) = sql else {
        return Ok(());
    };
    if new == 0 {
        return Ok(());
    }
    let new = i64::try_from(new).unwrap_or(i64::MAX);
    let are_many = sql!(
        postgres: ["SELECT 1 FROM pg_class WHERE oid = 'product'::regclass AND reltuples < 10 * $1::bigint"],
    );
    if sql.run(are_many.with(values![new]).exists()).await? {
        // Autovacuum may be counting them just now.
        let count = sql!(postgres: ["ANALYZE (SKIP_LOCKED) product"]);
        sql.run(count.with(values![])).await?;
    }
    Ok(())
}

/// Keeps a plan, replacing the user's previous one for this catalog.
///
/// Deletes the team's oldest plans beyond [`KEPT_FOR_TEAM`].
pub fn keep(catalog: Catalog, user_id: UserId, import: &KeptImport) -> impl Batch {
    (
        sql!(
            row::INSERT,
            " ON CONFLICT (team_id, mode, user_id) DO UPDATE SET id = excluded.id, csv = excluded.csv, \
                 rests_on = excluded.rests_on, created_at = excluded.created_at"
        )
        .with(row::values(catalog.team_id, catalog.mode, user_id, import)),
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

/// Whether the plan with that id is still kept.
pub fn is_kept(catalog: Catalog, id: ProductImportId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM product_import WHERE team_id = $1 AND id = $2")
        .with(values![catalog.team_id, id])
        .exists()
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
        "DELETE FROM product_import WHERE (team_id, id) IN ( \
             SELECT team_id, id FROM product_import WHERE team_id = $1 LIMIT $2)"
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
        let query = sql!(sqlite: [LAST_CHANGE, ACTIVE, "sku = $3"]).sqlite;
        let explain = format!("EXPLAIN QUERY PLAN {query}");
        let plan: String = connection
            .query_row(&explain, [None::<i64>; 3], |row| row.get(3))
            .unwrap();
        let index = "USING INDEX product_sku (team_id=? AND mode=? AND sku=?";
        assert!(plan.contains(index), "{plan}");
    }
}
