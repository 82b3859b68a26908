//! Fills the database of the server written by hand on PostgreSQL with the data set.

use tokio_postgres::Error;
use uuid::Uuid;

use crate::dataset::{self, BoxError, CLIENT, Dataset};
use crate::postgres::copy::{connect, copy, null, product_row, settle};
use crate::servers::by_hand_api::{Digest, digest, now};

/// How long tokens are valid: longer than any run.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Fills an empty database.
///
/// # Errors
/// Any error of PostgreSQL.
pub async fn fill(url: &str, dataset: &Dataset) -> Result<(), BoxError> {
    let client = connect(url).await?;
    client.batch_execute(include_str!("schema.sql")).await?;
    let row = |columns: &[String]| columns.join("\t");
    let team = dataset.team.to_string();
    let (live, scope) = ("live".to_owned(), "read-write".to_owned());
    let key = row(&[bytes(&dataset.key), team, live, scope, null(), null()]);
    copy(&client, "api_key", [key].into_iter()).await?;
    let products = (0..dataset.products).map(dataset::product);
    let products = products.map(|product| product_row(dataset.team, &product));
    copy(&client, "product", products).await?;
    add_devices(&client, dataset).await?;
    add_links(&client, dataset).await?;
    Ok(settle(&client).await?)
}

async fn add_devices(client: &tokio_postgres::Client, dataset: &Dataset) -> Result<(), Error> {
    let (user, now) = (dataset.mobile.user, now());
    let end = now + DAY;
    let member = format!("{}\t{user}\tBench", dataset.team);
    copy(client, "member", [member].into_iter()).await?;
    let devices: Vec<_> = dataset
        .mobile
        .devices
        .iter()
        .map(|device| (Uuid::now_v7(), device))
        .collect();
    let sessions = devices
        .iter()
        .map(|(id, _)| format!("{id}\t{user}\t{CLIENT}\t\\N\t\\N\t{now}\t{end}\t\\N"));
    copy(client, "session", sessions).await?;
    let tokens = devices
        .iter()
        .map(|(id, device)| format!("{}\t{id}\t{end}", bytes(&device.access_token)));
    copy(client, "access_token", tokens).await?;
    let tokens = devices
        .iter()
        .map(|(id, device)| format!("{}\t{id}\t\\N", bytes(&device.refresh_token)));
    copy(client, "refresh_token", tokens).await
}

async fn add_links(client: &tokio_postgres::Client, dataset: &Dataset) -> Result<(), Error> {
    let (team, files) = (dataset.team, &dataset.mobile.files);
    let rows = files.iter().map(|(file, _)| format!("{team}\t{file}"));
    copy(client, "file", rows).await?;
    let links = files
        .iter()
        .flat_map(|(file, links)| links.iter().map(move |link| (file, link)));
    let rows = links.map(|(file, link)| {
        [
            link.id.0.to_string(),
            team.to_string(),
            file.to_string(),
            link.secret.reveal().to_owned(),
            link.name.clone().unwrap_or_else(null),
            link.audience.as_str().to_owned(),
            "t\tt".to_owned(),
            link.created_by.id.0.to_string(),
            link.created_at.as_millis().to_string(),
            link.updated_at.as_millis().to_string(),
        ]
        .join("\t")
    });
    let columns = "share_link (id, team_id, file_id, secret, name, audience, can_view, can_download, created_by,
        created_at, updated_at)";
    copy(client, columns, rows).await
}

/// The digest of a credential in the form of a row.
fn bytes(credential: &str) -> String {
    let digest: Digest = digest([credential.as_bytes()]);
    // A backslash is escaped by another.
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("\\\\x{}", digits.collect::<String>())
}
