//! The common parts of the servers written by hand, whatever they store in: reading, checking and answering
//! requests.

pub mod change;
pub mod mobile;
pub mod product;

use std::net::SocketAddr;
use std::time::SystemTime;

use aws_lc_rs::digest::{Context, SHA256};
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::dataset::BoxError;

pub type Digest = [u8; 32];

/// Serves until the process ends.
///
/// # Errors
/// When listening on the address fails.
pub async fn serve(address: SocketAddr, app: Router) -> Result<(), BoxError> {
    let listener = axum::serve::ListenerExt::tap_io(TcpListener::bind(address).await?, |stream| {
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, app).await?)
}

/// The owner of a request's key, and what the key allows.
#[derive(Clone, Debug)]
pub struct Caller {
    pub team_id: Uuid,
    pub mode: String,
    pub may_write: bool,
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

/// The digest of a request's credential.
pub fn bearer(headers: &HeaderMap) -> Result<Digest, ApiError> {
    headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
        .map(|key| digest([key.as_bytes()]))
        .ok_or(ApiError::InvalidToken)
}

/// An error that is not the client's fault.
pub fn internal(error: impl std::fmt::Display) -> ApiError {
    ApiError::Internal(error.to_string())
}

/// SHA-256 of several parts, each with its length in front.
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut digest = Digest::default();
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}
