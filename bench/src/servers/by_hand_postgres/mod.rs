//! Contender (f): the server written by hand (`by_hand`) on PostgreSQL, as a good engineer would write it in a day.
//!
//! axum, a pool of 16 connections (the service has as many), statements that each connection prepares once, one
//! transaction per change with the idempotency record in it. Queries, columns and indexes are those on SQLite. There, a
//! single writer keeps changes apart; here, a change locks the rows that it reads before it writes them, and a unique
//! index lets a key be used once ([`change`]).

mod change;
mod database;
mod fill;
mod mobile;
mod product;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use axum::Router;
use axum::routing::{get, post};

pub use change::{Change, once};
pub use database::Database;
pub use fill::fill;

use crate::dataset::BoxError;
use crate::servers::by_hand_api;

/// Connections to PostgreSQL.
const CONNECTIONS: usize = 16;

/// Serves until the process ends.
///
/// # Errors
/// When the URL is invalid, or listening on the address fails.
pub async fn serve(address: SocketAddr, url: &str) -> Result<(), BoxError> {
    let products = get(product::list_products).post(change::create_product);
    let product = get(product::get_product).patch(change::update_product);
    let app = Router::new()
        .route("/api/v1/products", products)
        .route("/api/v1/products/{id}", product)
        .route("/api/auth/mobile/token", post(mobile::exchange_token))
        .route("/api/mobile/items/file/{id}/links", get(mobile::list_links))
        .with_state(Database::open(url, CONNECTIONS)?);
    by_hand_api::serve(address, app).await
}
