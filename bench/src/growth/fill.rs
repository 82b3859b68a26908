//! Writes the products of a catalogue directly into the service's table; its teams already exist.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, params};

use super::catalog::Team;
use crate::dataset::{self, BoxError};
use crate::postgres::copy::{connect, copy, product_row, settle};

/// Adds the products of the teams to an SQLite file. Returns its size after that, in bytes.
///
/// # Errors
/// Any error of SQLite.
pub fn sqlite(file: &Path, teams: &[Team]) -> Result<u64, BoxError> {
    let mut connection = Connection::open(file)?;
    // If the load fails, its remains are not needed. The service restores its own settings when it opens the file.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")?;
    let journal = "PRAGMA journal_mode = OFF";
    let mode: String = connection.query_row(journal, [], |row| row.get(0))?;
    if mode != "off" {
        return Err(format!("the journal is {mode} still: somebody else has the file open").into());
    }
    let transaction = connection.transaction()?;
    let mut insert = transaction.prepare(
        "INSERT INTO product (team_id, mode, id, name, unit_price, currency, description, sku,
             tax_rate, type, unit_of_measure, status, created_at, updated_at)
         VALUES (?1, 'live', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'active', ?11, ?11)",
    )?;
    for team in teams {
        for product in team.products.clone().map(dataset::product) {
            insert.execute(params![
                team.id.as_bytes(),
                product.id.0.as_bytes(),
                product.name,
                product.unit_price.as_str(),
                product.currency,
                product.description,
                product.sku,
                product.tax_rate.as_ref().map(|rate| rate.as_str()),
                product.product_type,
                product.unit_of_measure,
                product.created_at.as_millis(),
            ])?;
        }
    }
    drop(insert);
    transaction.commit()?;
    Ok(fs::metadata(file)?.len())
}

/// Adds the products of the teams to a PostgreSQL database. Returns its size after that, in bytes.
///
/// # Errors
/// Any error of PostgreSQL.
pub async fn postgres(url: &str, teams: &[Team]) -> Result<u64, BoxError> {
    let client = connect(url).await?;
    // The teams exist. PostgreSQL would look up the team of each product, and keep a list of pending checks.
    let unchecked = "SET session_replication_role = replica";
    client.batch_execute(unchecked).await?;
    let products = teams.iter().flat_map(|team| {
        let rows = team.products.clone().map(dataset::product);
        rows.map(|product| product_row(team.id, &product))
    });
    copy(&client, "product", products).await?;
    settle(&client).await?;
    let size = "SELECT pg_database_size(current_database())";
    let size: i64 = client.query_one(size, &[]).await?.try_get(0)?;
    Ok(size.cast_unsigned())
}
