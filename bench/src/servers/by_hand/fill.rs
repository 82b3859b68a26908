//! Fills the database of the server written by hand with the data set.

use std::path::Path;

use r2d2::ManageConnection as _;
use rusqlite::{Transaction, params};
use uuid::Uuid;

use super::database::Manager;
use crate::dataset::{self, BoxError, CLIENT, Dataset};
use crate::servers::by_hand_api::{digest, now};

/// How long tokens are valid: longer than any run.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Makes a database with the data set.
///
/// # Errors
/// Any error of SQLite.
pub fn make(path: &Path, dataset: &Dataset) -> Result<(), BoxError> {
    let mut connection = Manager::new(path).connect()?;
    connection.execute_batch(include_str!("schema.sql"))?;
    let transaction = connection.transaction()?;
    transaction.execute(
        "INSERT INTO api_key (digest, team_id, mode, scope) VALUES (?1, ?2, 'live', 'read-write')",
        params![digest([dataset.key.as_bytes()]), dataset.team.as_bytes()],
    )?;
    add_products(&transaction, dataset)?;
    add_devices(&transaction, dataset)?;
    add_links(&transaction, dataset)?;
    transaction.commit()?;
    // Closing it would checkpoint the log, too, but might fail silently.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

fn add_products(transaction: &Transaction<'_>, dataset: &Dataset) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO product VALUES
         (?1, 'live', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'active', ?11, ?11)",
    )?;
    for product in (0..dataset.products).map(dataset::product) {
        insert.execute(params![
            dataset.team.as_bytes(),
            product.id.as_bytes(),
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
    Ok(())
}

fn add_devices(transaction: &Transaction<'_>, dataset: &Dataset) -> rusqlite::Result<()> {
    let user = dataset.mobile.user.as_bytes();
    transaction.execute(
        "INSERT INTO member VALUES (?1, ?2, 'Bench')",
        params![dataset.team.as_bytes(), user],
    )?;
    for device in &dataset.mobile.devices {
        let (session, end) = (Uuid::now_v7(), now() + DAY);
        transaction.execute(
            "INSERT INTO session VALUES (?1, ?2, ?3, NULL, NULL, ?4, ?5, NULL)",
            params![session.as_bytes(), user, CLIENT, now(), end],
        )?;
        transaction.execute(
            "INSERT INTO access_token VALUES (?1, ?2, ?3)",
            params![
                digest([device.access_token.as_bytes()]),
                session.as_bytes(),
                end
            ],
        )?;
        transaction.execute(
            "INSERT INTO refresh_token VALUES (?1, ?2, NULL)",
            params![
                digest([device.refresh_token.as_bytes()]),
                session.as_bytes()
            ],
        )?;
    }
    Ok(())
}

fn add_links(transaction: &Transaction<'_>, dataset: &Dataset) -> rusqlite::Result<()> {
    let team = dataset.team.as_bytes();
    for (file, links) in &dataset.mobile.files {
        transaction.execute(
            "INSERT INTO file VALUES (?1, ?2)",
            params![team, file.as_bytes()],
        )?;
        for link in links {
            transaction.execute(
                "INSERT INTO share_link (id, team_id, file_id, secret, name, audience, can_view,
                     can_download, created_by, created_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, TRUE, TRUE, ?7, ?8, ?9)",
                params![
                    link.id.as_bytes(),
                    team,
                    file.as_bytes(),
                    link.secret.reveal(),
                    link.name,
                    link.audience.as_str(),
                    link.created_by.id.as_bytes(),
                    link.created_at.as_millis(),
                    link.updated_at.as_millis(),
                ],
            )?;
        }
    }
    Ok(())
}
