//! Products in PostgreSQL.
//!
//! Who changes a product locks its row, reads it, and only then decides. A walk through the pages shows what
//! was committed before it began, exactly once, whatever other replicas create meanwhile: an id never
//! changes, each page is read from the one server that takes writes, and a product that becomes visible
//! behind the cursor did not exist when the walk began.

use async_trait::async_trait;
use tokio_postgres::Row;

use super::Postgres;
use super::api_key::on_the_word_of;
use super::idempotency::{delete_records, once};
use super::sql::{Failure, Sql};
use super::values::{Exact, params};
use crate::domain::Error;
use crate::domain::api_key::Author;
use crate::domain::id::ProductId;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::product::{Catalog, Product, ProductChanges, StatusFilter};
use crate::domain::time::Timestamp;
use crate::store::ProductStore;

/// A product as [`read_product`] reads it.
const SELECT: &str = "SELECT id, name, unit_price::text, currency, description, sku, tax_rate::text, type, \
     unit_of_measure, status, created_at, updated_at FROM product ";

#[async_trait]
impl ProductStore for Postgres {
    async fn create_product(
        &self,
        author: Author,
        product: Product,
        request: Option<IdempotentRequest>,
        now: Timestamp,
    ) -> Result<Outcome<Product>, Error> {
        let (product, request, catalog) = (&product, request.as_ref(), author.catalog);
        self.write(|sql| async move {
            let decide = async { Ok(product.clone()) };
            let insert = async |product: &Product| insert_product(&sql, catalog, product).await;
            let change = once(&sql, catalog, request, now, decide, insert);
            on_the_word_of(&sql, author, now, change).await
        })
        .await
    }

    async fn get_product(&self, catalog: Catalog, id: ProductId) -> Result<Product, Error> {
        self.read(|sql| async move { find_product(&sql, catalog, id, "").await })
            .await
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
        let limit = i64::from(limit);
        let Catalog { team_id, mode } = catalog;
        self.read(|sql| async move {
            match status.status() {
                Some(status) => {
                    let select = format!(
                        "{SELECT} WHERE team_id = $1 AND mode = $2 AND status = $3 AND id < $4 \
                         ORDER BY id DESC LIMIT $5"
                    );
                    let values = params![team_id, mode, status, after, limit];
                    sql.all(&select, values, read_product).await
                }
                None => {
                    let select = format!(
                        "{SELECT} WHERE team_id = $1 AND mode = $2 AND id < $3 ORDER BY id DESC LIMIT $4"
                    );
                    let values = params![team_id, mode, after, limit];
                    sql.all(&select, values, read_product).await
                }
            }
        })
        .await
    }

    async fn update_product(
        &self,
        author: Author,
        id: ProductId,
        changes: ProductChanges,
        request: Option<IdempotentRequest>,
        now: Timestamp,
    ) -> Result<Outcome<Product>, Error> {
        let (changes, request, catalog) = (&changes, request.as_ref(), author.catalog);
        self.write(|sql| async move {
            let decide = async {
                let product = find_product(&sql, catalog, id, "FOR UPDATE").await?;
                Ok(product.update(changes.clone(), now))
            };
            let save = async |product: &Product| save_product(&sql, catalog, product).await;
            let change = once(&sql, catalog, request, now, decide, save);
            on_the_word_of(&sql, author, now, change).await
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
        self.write(|sql| async move {
            let change = async {
                let product = find_product(&sql, catalog, id, "FOR UPDATE").await?;
                save_product(&sql, catalog, &product.archive(now)?).await
            };
            on_the_word_of(&sql, author, now, change).await
        })
        .await
    }

    async fn delete_idempotency_records(&self, now: Timestamp, limit: u32) -> Result<u32, Error> {
        self.write(|sql| async move { delete_records(&sql, now, limit).await })
            .await
    }
}

/// The product, and a lock on it if `locking` says so.
async fn find_product(
    sql: &Sql,
    catalog: Catalog,
    id: ProductId,
    locking: &str,
) -> Result<Product, Failure> {
    let select = format!("{SELECT} WHERE team_id = $1 AND mode = $2 AND id = $3 {locking}");
    let values = params![catalog.team_id, catalog.mode, id];
    let found = sql.optional(&select, values, read_product).await?;
    found.ok_or(Error::ProductNotFound.into())
}

async fn insert_product(sql: &Sql, catalog: Catalog, product: &Product) -> Result<(), Failure> {
    write_product(
        sql,
        "INSERT INTO product (team_id, mode, id, name, unit_price, currency, description, sku, \
             tax_rate, type, unit_of_measure, status, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5::numeric, $6, $7, $8, $9::numeric, $10, $11, $12, $13, $14)",
        catalog,
        product,
    )
    .await
}

async fn save_product(sql: &Sql, catalog: Catalog, product: &Product) -> Result<(), Failure> {
    write_product(
        sql,
        "UPDATE product SET name = $4, unit_price = $5::numeric, currency = $6, description = $7, \
             sku = $8, tax_rate = $9::numeric, type = $10, unit_of_measure = $11, status = $12, \
             created_at = $13, updated_at = $14 \
         WHERE team_id = $1 AND mode = $2 AND id = $3",
        catalog,
        product,
    )
    .await
}

/// Runs a statement that takes every column of a product, in the order of the table.
async fn write_product(
    sql: &Sql,
    statement: &str,
    catalog: Catalog,
    product: &Product,
) -> Result<(), Failure> {
    let unit_price = Exact::text(&product.unit_price);
    let tax_rate = product.tax_rate.as_ref().map(Exact::text);
    let values = params![
        catalog.team_id,
        catalog.mode,
        product.id,
        product.name,
        unit_price,
        product.currency,
        product.description,
        product.sku,
        tax_rate,
        product.product_type,
        product.unit_of_measure,
        product.status,
        product.created_at,
        product.updated_at,
    ];
    sql.execute(statement, values).await?;
    Ok(())
}

fn read_product(row: &Row) -> Result<Product, tokio_postgres::Error> {
    Ok(Product {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        unit_price: row.try_get::<_, Exact>("unit_price")?.0,
        currency: row.try_get("currency")?,
        description: row.try_get("description")?,
        sku: row.try_get("sku")?,
        tax_rate: row
            .try_get::<_, Option<Exact>>("tax_rate")?
            .map(|rate| rate.0),
        product_type: row.try_get("type")?,
        unit_of_measure: row.try_get("unit_of_measure")?,
        status: row.try_get("status")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
