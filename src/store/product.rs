//! Products. No call reads or changes anything outside the catalog that it is given.
//!
//! In SQLite the table is ordered by team, mode, status and id, so that a list by status is one range of it. All products of
//! a catalog are two ranges, which SQLite merges. In PostgreSQL a change locks the product's row, reads it, and only then
//! decides. A walk through the pages shows what was committed before it started, exactly once, whatever other replicas
//! create meanwhile: an id never changes, each page is read from the one server that takes writes, and a product that
//! becomes visible behind the cursor did not exist when the walk started.

use super::{Batch, Sql};
use crate::domain::Error;
use crate::domain::catalog::Catalog;
use crate::domain::id::{ProductId, TeamId};
use crate::domain::product::{Product, StatusFilter};
use crate::sql::value::{Bind, columns};
use crate::sql::{Call, RowCollector, ScriptError, Statement, sql, table, text, values};

table! {
    /// The rows of products.
    pub(super) mod row = "product", key [team_id, mode, status, id];
    (team_id: Uuid, mode: Text)
    Product {
        id: Uuid, name: Text, unit_price: Decimal, currency: Text, description: Text, sku: Text, tax_rate: Decimal,
        product_type = "type": Text, unit_of_measure: Text, status: Text, created_at: Integer, updated_at: Integer,
    }
    ()
}

/// All columns of a product.
const SELECT: &str = text!("SELECT ", row::COLUMNS, " FROM product ");

/// SQLite: a product by its id. It is usually active; only otherwise is the second half executed.
pub(super) const ONE: &str = text!(
    SELECT,
    "WHERE team_id = $1 AND mode = $2 AND status = 'active' AND id = $3 UNION ALL ",
    SELECT,
    "WHERE team_id = $1 AND mode = $2 AND status = 'archived' AND id = $3"
);

/// SQLite: the products of a catalog with one status, newest first, after a given id.
const OF_STATUS: &str = text!(
    SELECT,
    "WHERE team_id = $1 AND mode = $2 AND status = $3 AND id < $4 ORDER BY id DESC LIMIT $5"
);

/// SQLite: all products of a catalog, newest first, after a given id.
const ALL: &str = text!(
    SELECT,
    "WHERE team_id = $1 AND mode = $2 AND status = 'active' AND id < $3 UNION ALL ",
    SELECT,
    "WHERE team_id = $1 AND mode = $2 AND status = 'archived' AND id < $3 ORDER BY id DESC LIMIT $4"
);

/// SQLite: as [`row::UPDATE`], but the sku stays as it is. Otherwise its index would be written again, and read for that.
const UPDATE_ALL_BUT_SKU: &str = "UPDATE product SET name = $4, unit_price = $5, currency = $6, description = $7, \
         tax_rate = $9, type = $10, unit_of_measure = $11, created_at = $13, updated_at = $14 \
     WHERE team_id = $1 AND mode = $2 AND id = $3 AND status = $12";

/// SQLite: what [`warm_up`] reads. Both halves are executed, as the first one finds nothing while the product is active.
const WARM_UP: &str = "SELECT 1 FROM product WHERE team_id = $1 AND mode = $2 AND status = 'archived' AND id = $3 UNION ALL \
     SELECT 1 FROM product WHERE team_id = $1 AND mode = $2 AND sku = $4 AND status = 'active'";

/// PostgreSQL: makes an insertion a refusal, not an error, for the sake of those that share its transaction.
const UNLESS_TAKEN: &str =
    " ON CONFLICT (team_id, mode, sku) WHERE status = 'active' AND sku IS NOT NULL DO NOTHING";

/// Adds a product. Fails with [`Error::DuplicateSku`] when another active one has its sku.
pub fn insert(catalog: Catalog, product: &Product) -> impl Batch {
    sql!(
        sqlite: [row::INSERT],
        postgres: [row::INSERT, UNLESS_TAKEN],
        many(3): [row::INSERT_ALL, UNLESS_TAKEN, " RETURNING team_id, mode, id"],
    )
    .with(row::values(catalog.team_id, catalog.mode, product))
    .rule(|inserted| match inserted {
        0 => Err(Error::DuplicateSku),
        _ => Ok(()),
    })
}

/// Whether an active product has this sku. Asked before one gets it: PostgreSQL logs each violation of an index, with the
/// statement, and whatever shares the transaction would be done again.
pub fn has_sku<'a>(catalog: Catalog, sku: &'a str) -> impl Batch<Out = bool> + use<'a> {
    sql!(
        one: ["SELECT 1 FROM product WHERE team_id = $1 AND mode = $2 AND sku = $3 AND status = 'active'"],
        many(3): [
            "SELECT 1, of_team, in_mode, asked_sku \
             FROM unnest($1::uuid[], $2::text[], $3::text[]) AS asked (of_team, in_mode, asked_sku), LATERAL \
                 (SELECT 1 FROM product \
                  WHERE team_id = of_team AND mode = in_mode AND sku = asked_sku AND status = 'active' OFFSET 0) AS found"
        ],
    )
    .with(values![catalog.team_id, catalog.mode, sku])
    .exists()
}

/// SQLite: reads where the entry of a product's sku is, and where the product is once it is archived. Asked before one of these
/// is changed, so that a rehearsal has read it, and no other change waits for the disk meanwhile.
pub fn warm_up(catalog: Catalog, product: &Product) -> impl Batch {
    sql!(sqlite: [WARM_UP])
        .with(values![
            catalog.team_id,
            catalog.mode,
            product.id,
            &product.sku
        ])
        .exists()
}

/// Writes the fields of a product that may change while its status stays. Fails as [`insert`] does, unless it keeps its sku.
pub fn update(catalog: Catalog, product: &Product, keeps_sku: bool) -> impl Batch {
    let sqlite = match keeps_sku {
        true => sql!(sqlite: [UPDATE_ALL_BUT_SKU]),
        false => sql!(sqlite: [row::UPDATE]),
    };
    let postgres = sql!(
        postgres: [row::UPDATE_KEEPING],
        many(3): [row::UPDATE_ALL, " RETURNING product.team_id, product.mode, product.id"],
    );
    let values = row::values(catalog.team_id, catalog.mode, product);
    (sqlite.with(values.clone()), postgres.with(values))
}

/// Adds products: PostgreSQL takes many rows in one round trip, as lists of values. Fails as [`insert`] does.
///
/// # Errors
/// As for every script.
pub async fn insert_all(
    sql: Sql<'_>,
    catalog: Catalog,
    products: &[Product],
) -> Result<(), ScriptError> {
    if let Sql::Sqlite(_) = sql {
        for product in products {
            sql.run(insert(catalog, product)).await?;
        }
        return Ok(());
    }
    write_all(sql, sql!(postgres: [row::INSERT_ALL]), catalog, products).await
}

/// Writes the changes of products whose status stays, in bulk like [`insert_all`]. Fails as [`insert`] does.
///
/// # Errors
/// As for every script.
pub async fn update_all(
    sql: Sql<'_>,
    catalog: Catalog,
    products: &[Product],
) -> Result<(), ScriptError> {
    if let Sql::Sqlite(_) = sql {
        for product in products {
            sql.run(update(catalog, product, false)).await?;
        }
        return Ok(());
    }
    write_all(sql, sql!(postgres: [row::UPDATE_ALL]), catalog, products).await
}

async fn write_all(
    sql: Sql<'_>,
    statement: &'static Statement<14>,
    catalog: Catalog,
    products: &[Product],
) -> Result<(), ScriptError> {
    let Catalog { team_id, mode } = catalog;
    let columns = columns(products.iter().map(|it| row::values(team_id, mode, it)));
    let write = statement.with(columns.each_ref().map(|column| column[..].value()));
    sql.run((!products.is_empty()).then_some(write)).await?;
    Ok(())
}

/// Marks a product as archived.
pub fn archive(catalog: Catalog, product: &Product) -> impl Batch {
    sql!(
        one: [
            "UPDATE product SET status = $4, updated_at = $5 \
             WHERE team_id = $1 AND mode = $2 AND status = 'active' AND id = $3"
        ],
        many(3): [
            "UPDATE product SET status = archived.status, updated_at = archived.updated_at \
             FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::bigint[]) \
                 AS archived (team_id, mode, id, status, updated_at) \
             WHERE product.team_id = archived.team_id AND product.mode = archived.mode AND product.status = 'active' \
             AND product.id = archived.id RETURNING product.team_id, product.mode, product.id"
        ],
    )
    .with(values![
        catalog.team_id,
        catalog.mode,
        product.id,
        product.status,
        product.updated_at
    ])
}

/// The product with that id.
pub fn find<'a>(
    catalog: Catalog,
    id: ProductId,
) -> Call<'a, impl RowCollector<Out = Option<Product>>, 3> {
    sql!(
        sqlite: [ONE],
        postgres: [SELECT, "WHERE team_id = $1 AND mode = $2 AND id = $3"],
        many(3): [
            "SELECT ", row::COLUMNS, ", of_team, in_mode, asked_id \
             FROM unnest($1::uuid[], $2::text[], $3::uuid[]) AS asked (of_team, in_mode, asked_id), LATERAL \
                 (SELECT * FROM product WHERE team_id = of_team AND mode = in_mode AND id = asked_id OFFSET 0) AS found"
        ],
    )
    .with(values![catalog.team_id, catalog.mode, id])
    .first(row::read)
}

/// As [`find`], locked until the end of the transaction.
pub fn lock(catalog: Catalog, id: ProductId) -> impl Batch<Out = Option<Product>> {
    sql!(
        sqlite: [ONE],
        postgres: [SELECT, "WHERE team_id = $1 AND mode = $2 AND id = $3 FOR UPDATE"],
        // In one order, to avoid deadlocks.
        many(3): [
            "SELECT ", row::COLUMNS, ", of_team, in_mode, asked_id FROM (SELECT * \
                 FROM unnest($1::uuid[], $2::text[], $3::uuid[]) AS asked (of_team, in_mode, asked_id) \
                 ORDER BY asked_id) AS asked, LATERAL \
                 (SELECT * FROM product \
                  WHERE team_id = of_team AND mode = in_mode AND id = asked_id FOR UPDATE OFFSET 0) AS found"
        ],
    )
    .with(values![catalog.team_id, catalog.mode, id])
    .first(row::read)
}

/// The `limit` newest products with a status whose ids come before `after`, newest first.
pub fn list(
    catalog: Catalog,
    status: StatusFilter,
    after: Option<ProductId>,
    limit: u32,
) -> impl Batch<Out = Vec<Product>> {
    // Every id comes before the maximum UUID, which is no UUIDv7.
    let after = after.unwrap_or(ProductId(uuid::Uuid::max()));
    let Catalog { team_id, mode } = catalog;
    // The ranges and the order leave PostgreSQL only the index of statuses. For `status = $3`, as long as it has counted
    // hardly any rows of another status, it may as well go through all products of the team, for the few of this one.
    let of_status = status.status().map(|status| {
        sql!(
            sqlite: [OF_STATUS],
            postgres: [
                SELECT,
                "WHERE team_id = $1 AND mode = $2 AND (status, id) < ($3, $4) AND status >= $3 \
                 ORDER BY status DESC, id DESC LIMIT $5"
            ],
            many(5): [
                "SELECT ", row::COLUMNS, ", of_team, in_mode, of_status, before, most \
                 FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::bigint[]) \
                     AS asked (of_team, in_mode, of_status, before, most), LATERAL \
                     (SELECT * FROM product \
                      WHERE team_id = of_team AND mode = in_mode AND (status, id) < (of_status, before) AND status >= of_status \
                      ORDER BY status DESC, id DESC LIMIT most) AS found ORDER BY id DESC"
            ],
        )
        .with(values![team_id, mode, status, after, limit])
        .all(row::read)
    });
    let all = of_status.is_none().then(|| {
        sql!(
            sqlite: [ALL],
            postgres: [SELECT, "WHERE team_id = $1 AND mode = $2 AND id < $3 ORDER BY id DESC LIMIT $4"],
            many(4): [
                "SELECT ", row::COLUMNS, ", of_team, in_mode, before, most \
                 FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[]) AS asked (of_team, in_mode, before, most), \
                     LATERAL (SELECT * FROM product WHERE team_id = of_team AND mode = in_mode AND id < before \
                              ORDER BY id DESC LIMIT most) AS found ORDER BY id DESC"
            ],
        )
        .with(values![team_id, mode, after, limit])
        .all(row::read)
    });
    (of_status, all).rule(|(of_status, all)| Ok(of_status.or(all).unwrap_or_default()))
}

/// Deletes at most `limit` products of a team; returns how many.
///
/// The team is named inside alone, here and wherever some rows are deleted: otherwise PostgreSQL, where it has not counted
/// them yet, goes through all rows of the team and asks anew for each which are to be deleted.
pub fn delete_some(team_id: TeamId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM product WHERE (team_id, mode, status, id) IN ( \
             SELECT team_id, mode, status, id FROM product WHERE team_id = $1 LIMIT $2)"
    )
    .with(values![team_id, limit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::Sqlite;

    /// How SQLite would execute a query, step by step.
    fn plan(query: &str) -> Vec<String> {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        drop(Sqlite::open(&path).unwrap());
        let connection = rusqlite::Connection::open(&path).unwrap();
        let explain = format!("EXPLAIN QUERY PLAN {query}");
        let mut statement = connection.prepare(&explain).unwrap();
        let nothing = rusqlite::params_from_iter(vec![None::<i64>; statement.parameter_count()]);
        let steps = statement.query_map(nothing, |row| row.get(3)).unwrap();
        steps.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn every_query_reads_its_rows_where_they_lie_and_sorts_none() {
        let key = "USING PRIMARY KEY (team_id=? AND mode=? AND status=? AND id";
        let queries = [
            (sql!(OF_STATUS).sqlite, 1),
            (sql!(ALL).sqlite, 2),
            (sql!(ONE).sqlite, 2),
        ];
        for (query, ranges) in queries {
            let plan = plan(query);
            let found = plan.iter().filter(|step| step.contains(key)).count();
            let read = plan
                .iter()
                .filter(|step| step.contains("SCAN") || step.contains("SEARCH"));
            let sorted = plan.iter().any(|step| step.contains("TEMP B-TREE"));
            assert_eq!(
                (found, read.count(), sorted),
                (ranges, ranges, false),
                "{plan:?}"
            );
        }
    }

    #[test]
    fn an_update_that_keeps_the_sku_sets_all_other_columns() {
        let words = |text: &str| {
            let apart = text.replace(',', " , ");
            apart.split_whitespace().map(str::to_owned).collect()
        };
        let all: Vec<_> = words(sql!(row::UPDATE).sqlite);
        let sku = words("sku = ?8,");
        let at = all.windows(sku.len()).position(|it| it == sku).unwrap();
        let others = [&all[..at], &all[at + sku.len()..]].concat();
        assert_eq!(words(sql!(UPDATE_ALL_BUT_SKU).sqlite), others);
    }

    #[test]
    fn a_change_is_warmed_up_where_the_archived_are_and_where_the_skus_are() {
        let places = [
            "USING PRIMARY KEY (team_id=? AND mode=? AND status=? AND id=?)",
            "USING COVERING INDEX product_sku (team_id=? AND mode=? AND sku=?",
        ];
        let plan = plan(WARM_UP);
        for place in places {
            assert!(plan.iter().any(|step| step.contains(place)), "{plan:?}");
        }
    }
}
