//! Imports a price list from CSV, with a progress bar.
//!
//! In one terminal, a service to try it with:
//!
//! ```sh
//! cargo run -- demo --fixed
//! ```
//!
//! In another:
//!
//! ```sh
//! INVOICING_API_KEY=inv_live_DemoReadWrite00000000000000000000000000000041Ct8q \
//!     cargo run -p invoicing-client --example import_price_list -- generated/examples/price-list.csv
//! ```
//!
//! The columns are `name`, `price`, `currency`, `sku` and `unit`. It can be run again after an interruption:
//! skus that already exist are counted and left alone. Prices are exact, from the file to the service.

use std::error::Error;

use futures::{StreamExt, stream};
use indicatif::ProgressBar;
use invoicing_client::{Client, Code, Error as ClientError};

/// How many products are created at the same time; the rate limit allows 100 a second.
const AT_ONCE: usize = 8;

#[derive(serde::Deserialize)]
struct Row {
    name: String,
    price: String,
    currency: String,
    sku: String,
    unit: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name a CSV file")?;
    let url = std::env::var("INVOICING_BASE_URL").unwrap_or("http://127.0.0.1:8080".to_owned());
    let key = std::env::var("INVOICING_API_KEY").map_err(|_| "INVOICING_API_KEY is not set")?;
    let client = Client::builder(url).api_key(key).build()?;
    let rows: Vec<Row> = csv::Reader::from_path(file)?
        .deserialize()
        .collect::<Result<_, _>>()?;

    let progress = ProgressBar::new(rows.len() as u64);
    let (mut created, mut present) = (0, 0);
    let mut refused = Vec::new();
    let mut outcomes = stream::iter(rows)
        .map(async |row| (import(&client, &row).await, row))
        .buffer_unordered(AT_ONCE);
    while let Some((outcome, row)) = outcomes.next().await {
        progress.inc(1);
        match outcome {
            Ok(()) => created += 1,
            Err(ClientError::Api(error)) if error.code == Code::DuplicateSku => present += 1,
            // The row is wrong, and the next may be right.
            Err(error @ (ClientError::InvalidRequest(_) | ClientError::Api(_))) => {
                refused.push(format!("{}: {error}", row.sku));
            }
            Err(error) => return Err(error.into()),
        }
    }
    progress.finish();
    println!(
        "{created} created, {present} there already, {} refused",
        refused.len()
    );
    refused.iter().for_each(|line| println!("  {line}"));
    Ok(())
}

/// The client retries this as often as is sensible, under one idempotency key.
async fn import(client: &Client, row: &Row) -> Result<(), ClientError> {
    client
        .products()
        .create(row.name.as_str(), row.price.as_str(), row.currency.as_str())
        .sku(row.sku.as_str())
        .unit_of_measure(row.unit.as_str())
        .send()
        .await?;
    Ok(())
}
