//! Products in SQLite.
//!
//! The table is in the order of team, mode, status and id, so that a list by status is one range of it. All
//! products of a catalog are two ranges, which SQLite merges.

use async_trait::async_trait;
use rusqlite::{Row, named_params, params};

use super::Sqlite;
use super::api_key::require_valid_key;
use super::idempotency::{delete_records, once};
use super::sql::{Columns, Exact, Sql};
use crate::domain::Error;
use crate::domain::api_key::Author;
use crate::domain::id::ProductId;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::product::{Catalog, Product, ProductChanges, StatusFilter};
use crate::domain::time::Timestamp;
use crate::store::ProductStore;

/// A query for products: all columns in the order of [`read_product`], and the rest of the statement.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, unit_price, currency, description, sku, tax_rate, type, unit_of_measure,
                 status, created_at, updated_at
             FROM product ",
            $rest
        )
    };
}

/// The products of a catalog in one status, newest first, behind one of them.
const OF_STATUS: &str = select!(
    "WHERE team_id = ?1 AND mode = ?2 AND status = ?3 AND id < ?4 ORDER BY id DESC LIMIT ?5"
);

/// All products of a catalog, newest first, behind one of them.
const ALL: &str = concat!(
    select!("WHERE team_id = ?1 AND mode = ?2 AND status = 'active' AND id < ?3"),
    " UNION ALL ",
    select!("WHERE team_id = ?1 AND mode = ?2 AND status = 'archived' AND id < ?3"),
    " ORDER BY id DESC LIMIT ?4"
);

/// A product by its id. It is active, as a rule: only otherwise is the second half executed.
const ONE: &str = concat!(
    select!("WHERE team_id = ?1 AND mode = ?2 AND status = 'active' AND id = ?3"),
    " UNION ALL ",
    select!("WHERE team_id = ?1 AND mode = ?2 AND status = 'archived' AND id = ?3")
);

#[async_trait]
impl ProductStore for Sqlite {
    async fn create_product(
        &self,
        author: Author,
        product: Product,
        request: Option<IdempotentRequest>,
        now: Timestamp,
    ) -> Result<Outcome<Product>, Error> {
        let catalog = author.catalog;
        self.write(move |sql| {
            require_valid_key(sql, author, now)?;
            once(sql, catalog, request.as_ref(), now, || {
                insert_product(sql, catalog, &product)?;
                Ok(product.clone())
            })
        })
        .await
    }

    async fn get_product(&self, catalog: Catalog, id: ProductId) -> Result<Product, Error> {
        self.read(|sql| find_product(sql, catalog, id))
    }

    async fn list_products(
        &self,
        catalog: Catalog,
        status: StatusFilter,
        after: Option<ProductId>,
        limit: u32,
    ) -> Result<Vec<Product>, Error> {
        // Every id comes before the greatest UUID, which no UUIDv7 is.
        let after = after.unwrap_or(ProductId(uuid::Uuid::max()));
        let Catalog { team_id, mode } = catalog;
        self.read(|sql| match status.status() {
            Some(status) => sql.all(
                OF_STATUS,
                params![team_id, mode, status, after, limit],
                read_product,
            ),
            None => sql.all(ALL, params![team_id, mode, after, limit], read_product),
        })
    }

    async fn update_product(
        &self,
        author: Author,
        id: ProductId,
        changes: ProductChanges,
        request: Option<IdempotentRequest>,
        now: Timestamp,
    ) -> Result<Outcome<Product>, Error> {
        let catalog = author.catalog;
        self.write(move |sql| {
            require_valid_key(sql, author, now)?;
            once(sql, catalog, request.as_ref(), now, || {
                let product = find_product(sql, catalog, id)?.update(changes.clone(), now);
                save_product(sql, catalog, &product)?;
                Ok(product)
            })
        })
        .await
    }

    async fn archive_product(
        &self,
        author: Author,
        id: ProductId,
        now: Timestamp,
    ) -> Result<(), Error> {
        let catalog = author.catalog;
        self.write(move |sql| {
            require_valid_key(sql, author, now)?;
            let product = find_product(sql, catalog, id)?.archive(now)?;
            sql.execute(
                "UPDATE product SET status = ?4, updated_at = ?5
                 WHERE team_id = ?1 AND mode = ?2 AND status = 'active' AND id = ?3",
                params![
                    catalog.team_id,
                    catalog.mode,
                    id,
                    product.status,
                    product.updated_at
                ],
            )?;
            Ok(())
        })
        .await
    }

    async fn delete_idempotency_records(&self, now: Timestamp, limit: u32) -> Result<u32, Error> {
        self.write(move |sql| delete_records(sql, now, limit)).await
    }
}

fn find_product(sql: Sql<'_>, catalog: Catalog, id: ProductId) -> Result<Product, Error> {
    sql.optional(
        ONE,
        params![catalog.team_id, catalog.mode, id],
        read_product,
    )?
    .ok_or(Error::ProductNotFound)
}

fn insert_product(sql: Sql<'_>, catalog: Catalog, product: &Product) -> Result<(), Error> {
    write_product(
        sql,
        "INSERT INTO product (team_id, mode, id, name, unit_price, currency, description, sku,
             tax_rate, type, unit_of_measure, status, created_at, updated_at)
         VALUES (:team_id, :mode, :id, :name, :unit_price, :currency, :description, :sku,
             :tax_rate, :type, :unit_of_measure, :status, :created_at, :updated_at)",
        catalog,
        product,
    )
}

/// Writes what may change of a product whose status stays.
fn save_product(sql: Sql<'_>, catalog: Catalog, product: &Product) -> Result<(), Error> {
    write_product(
        sql,
        "UPDATE product SET name = :name, unit_price = :unit_price, currency = :currency,
             description = :description, sku = :sku, tax_rate = :tax_rate, type = :type,
             unit_of_measure = :unit_of_measure, created_at = :created_at, updated_at = :updated_at
         WHERE team_id = :team_id AND mode = :mode AND status = :status AND id = :id",
        catalog,
        product,
    )
}

/// Runs a statement that takes every column of a product by name.
fn write_product(
    sql: Sql<'_>,
    statement: &str,
    catalog: Catalog,
    product: &Product,
) -> Result<(), Error> {
    sql.execute(
        statement,
        named_params! {
            ":team_id": catalog.team_id,
            ":mode": catalog.mode,
            ":id": product.id,
            ":name": product.name,
            ":unit_price": product.unit_price.as_str(),
            ":currency": product.currency,
            ":description": product.description,
            ":sku": product.sku,
            ":tax_rate": product.tax_rate.as_ref().map(|rate| rate.as_str()),
            ":type": product.product_type,
            ":unit_of_measure": product.unit_of_measure,
            ":status": product.status,
            ":created_at": product.created_at,
            ":updated_at": product.updated_at,
        },
    )?;
    Ok(())
}

/// The columns of `select!`, in its order.
fn read_product(row: &Row<'_>) -> rusqlite::Result<Product> {
    let mut columns = Columns::of(row);
    Ok(Product {
        id: columns.take()?,
        name: columns.take()?,
        unit_price: columns.take::<Exact>()?.0,
        currency: columns.take()?,
        description: columns.take()?,
        sku: columns.take()?,
        tax_rate: columns.take::<Option<Exact>>()?.map(|rate| rate.0),
        product_type: columns.take()?,
        unit_of_measure: columns.take()?,
        status: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::connect;

    #[test]
    fn every_query_reads_its_rows_where_they_lie_and_sorts_none() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        drop(Sqlite::open(&path).unwrap());
        let connection = connect(&path).unwrap();
        let key = "USING PRIMARY KEY (team_id=? AND mode=? AND status=? AND id";
        for (query, ranges) in [(OF_STATUS, 1), (ALL, 2), (ONE, 2)] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let mut statement = connection.prepare(&explain).unwrap();
            let nothing =
                rusqlite::params_from_iter(vec![None::<i64>; statement.parameter_count()]);
            let plan: Vec<String> = statement
                .query_map(nothing, |row| row.get(3))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
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
}
