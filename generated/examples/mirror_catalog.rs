//! Mirrors a catalog, including archived products, into a file of JSON with one product per line.
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
//! INVOICING_API_KEY=inv_live_DemoReadOnly00000000000000000000000000000001OqafQ \
//!     cargo run -p invoicing-client --example mirror_catalog -- catalog.jsonl
//! ```
//!
//! A read-only key is enough. The file changes only once all pages have arrived, so a reader never sees half
//! a catalog.

use std::error::Error;
use std::path::PathBuf;

use futures::TryStreamExt;
use invoicing_client::Client;
use tokio::fs::{File, rename};
use tokio::io::{AsyncWriteExt, BufWriter};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args_os().nth(1).ok_or("name a file")?);
    let url = std::env::var("INVOICING_BASE_URL").unwrap_or("http://127.0.0.1:8080".to_owned());
    let key = std::env::var("INVOICING_API_KEY").map_err(|_| "INVOICING_API_KEY is not set")?;
    let client = Client::builder(url).api_key(key).build()?;

    let new = path.with_extension("new");
    let mut file = BufWriter::new(File::create(&new).await?);
    // One page is held at a time, however large the catalog is.
    let mut products = client.products().list().status("all").limit(100).stream();
    let mut count = 0;
    while let Some(product) = products.try_next().await? {
        let mut line = serde_json::to_vec(&product)?;
        line.push(b'\n');
        file.write_all(&line).await?;
        count += 1;
    }
    file.flush().await?;
    file.get_ref().sync_all().await?;
    rename(new, &path).await?;
    println!("{count} products in {}", path.display());
    Ok(())
}
