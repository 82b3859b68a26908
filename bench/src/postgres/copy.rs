//! Fills tables of PostgreSQL quickly: `COPY`, one row per line.

use axum::body::Bytes;
use futures::{SinkExt as _, stream};
use invoicing::domain::product::Product;
use tokio_postgres::{Client, Error, NoTls};
use uuid::Uuid;

use crate::dataset::BoxError;

/// How much is sent at once.
const CHUNK: usize = 1 << 18;

/// Connects to the database at a URL.
///
/// # Errors
/// When that fails.
pub async fn connect(url: &str) -> Result<Client, BoxError> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Adds rows to a table, each a line of tab-separated columns, without anything that needs escaping.
///
/// # Errors
/// Any error of PostgreSQL.
pub async fn copy(
    client: &Client,
    table: &str,
    mut rows: impl Iterator<Item = String>,
) -> Result<(), Error> {
    let sink = client.copy_in(&format!("COPY {table} FROM STDIN")).await?;
    tokio::pin!(sink);
    let chunks = std::iter::from_fn(|| {
        let mut chunk = String::with_capacity(CHUNK + 1024);
        while chunk.len() < CHUNK
            && let Some(row) = rows.next()
        {
            chunk.push_str(&row);
            chunk.push('\n');
        }
        (!chunk.is_empty()).then(|| Ok(Bytes::from(chunk)))
    });
    sink.send_all(&mut stream::iter(chunks)).await?;
    sink.close().await
}

/// Finishes maintenance that would otherwise run during a measurement: gathers statistics, and writes everything to
/// disk.
///
/// # Errors
/// Any error of PostgreSQL.
pub async fn settle(client: &Client) -> Result<(), Error> {
    // Not one batch: that would be a transaction, which does not allow VACUUM.
    client.batch_execute("VACUUM (FREEZE, ANALYZE)").await?;
    client.batch_execute("CHECKPOINT").await
}

/// A product of a team as a row of `product`, which has the same columns in the service's schema and in that of the
/// server written by hand.
pub fn product_row(team: Uuid, product: &Product) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(null);
    let created_at = product.created_at.as_millis();
    [
        team.to_string(),
        "live".to_owned(),
        product.id.0.to_string(),
        product.name.clone(),
        product.unit_price.as_str().to_owned(),
        product.currency.clone(),
        text(&product.description),
        text(&product.sku),
        product
            .tax_rate
            .as_ref()
            .map_or_else(null, |rate| rate.as_str().to_owned()),
        text(&product.product_type),
        text(&product.unit_of_measure),
        "active".to_owned(),
        created_at.to_string(),
        created_at.to_string(),
    ]
    .join("\t")
}

/// The representation of NULL in a row.
pub fn null() -> String {
    "\\N".to_owned()
}
