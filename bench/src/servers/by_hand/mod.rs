//! Contender (c): what a good engineer would write in a day, without a generator.
//!
//! axum, typed serde, a pool of connections that read and one that writes, `spawn_blocking` around every
//! use of the database, prepared statements, WAL with `synchronous=FULL`, one commit a request, the
//! idempotency record in the transaction of the change. One hop to the blocking threads does all that a
//! request needs. It checks what types and a few lines check; it has no log, no rate limit and no
//! request id, so it does less than the service, not more.

mod change;
mod database;
mod fill;
mod mobile;
mod product;

use std::net::SocketAddr;
use std::path::Path;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde_json::json;
use tokio::net::TcpListener;

pub use change::{Fields, Once, insert_product, once, save_product};
use database::{Database, Digest};
pub use database::{Manager, digest};
pub use fill::make;

use crate::dataset::BoxError;

/// Serves until the process is ended.
///
/// # Errors
/// When the database cannot be opened, or the address not be listened on.
pub async fn serve(address: SocketAddr, path: &Path) -> Result<(), BoxError> {
    let products = get(product::list_products).post(change::create_product);
    let product = get(product::get_product).patch(change::update_product);
    let app = Router::new()
        .route("/api/v1/products", products)
        .route("/api/v1/products/{id}", product)
        .route("/api/auth/mobile/token", post(mobile::exchange_token))
        .route("/api/mobile/items/file/{id}/links", get(mobile::list_links))
        .with_state(Database::open(path)?);
    let listener = axum::serve::ListenerExt::tap_io(TcpListener::bind(address).await?, |stream| {
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, app).await?)
}

/// Why a request is refused.
#[derive(Debug)]
pub enum ApiError {
    InvalidToken,
    ScopeInsufficient,
    InvalidBody(&'static str),
    InvalidQuery(&'static str),
    NotAMember,
    ProductNotFound,
    ItemNotFound,
    DuplicateSku,
    IdempotencyKeyReused,
    Internal(String),
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code) = match &self {
            Self::InvalidToken => (StatusCode::UNAUTHORIZED, "invalid_token"),
            Self::ScopeInsufficient => (StatusCode::FORBIDDEN, "scope_insufficient"),
            Self::InvalidBody(_) => (StatusCode::BAD_REQUEST, "invalid_body"),
            Self::InvalidQuery(_) => (StatusCode::BAD_REQUEST, "invalid_query"),
            Self::NotAMember => (StatusCode::FORBIDDEN, "not_a_member"),
            Self::ItemNotFound => (StatusCode::NOT_FOUND, "item_not_found"),
            Self::ProductNotFound => (StatusCode::NOT_FOUND, "product_not_found"),
            Self::DuplicateSku => (StatusCode::CONFLICT, "duplicate_sku"),
            Self::IdempotencyKeyReused => (StatusCode::CONFLICT, "idempotency_key_reused"),
            Self::Internal(error) => {
                eprintln!("{error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "internal_error")
            }
        };
        let message = match self {
            Self::InvalidBody(why) | Self::InvalidQuery(why) => why,
            _ => code,
        };
        (
            status,
            Json(json!({ "error": { "code": code, "message": message } })),
        )
            .into_response()
    }
}

impl From<rusqlite::Error> for ApiError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error() {
            Some(error) if error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE => {
                Self::DuplicateSku
            }
            _ => Self::Internal(error.to_string()),
        }
    }
}

/// The digest of the credential that a request brings.
fn bearer(headers: &HeaderMap) -> Result<Digest, ApiError> {
    headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
        .map(|key| database::digest([key.as_bytes()]))
        .ok_or(ApiError::InvalidToken)
}
