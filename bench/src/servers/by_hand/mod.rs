//! Contender (c): what a good engineer would write in a day, without a generator.
//!
//! axum, typed serde, a pool of connections for reading and one for writing, `spawn_blocking` around
//! every use of the database, prepared statements, WAL with `synchronous=FULL`, one commit per request,
//! the idempotency record in the transaction of the change. One hop to the blocking threads does
//! everything a request needs. It checks what types and a few lines can check; it has no log, no rate
//! limit and no request id, so it does less than the service, not more.

mod change;
mod database;
mod fill;
mod mobile;
mod product;

use std::net::SocketAddr;
use std::path::Path;

use axum::Router;
use axum::routing::{get, post};

pub use change::{insert_product, once, save_product};
use database::Database;
pub use database::Manager;
pub use fill::make;

use crate::dataset::BoxError;
use crate::servers::by_hand_api;

/// Serves until the process ends.
///
/// # Errors
/// When the database cannot be opened, or listening on the address fails.
pub async fn serve(address: SocketAddr, path: &Path) -> Result<(), BoxError> {
    let products = get(product::list_products).post(change::create_product);
    let product = get(product::get_product).patch(change::update_product);
    let app = Router::new()
        .route("/api/v1/products", products)
        .route("/api/v1/products/{id}", product)
        .route("/api/auth/mobile/token", post(mobile::exchange_token))
        .route("/api/mobile/items/file/{id}/links", get(mobile::list_links))
        .with_state(Database::open(path)?);
    by_hand_api::serve(address, app).await
}
