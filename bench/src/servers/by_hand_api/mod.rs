//! What the servers written by hand have in common, whatever they store in: what they read of a request, what they
//! check, and what they answer.

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

/// Serves until the process is ended.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn serve(address: SocketAddr, app: Router) -> Result<(), BoxError> {
    let listener = axum::serve::ListenerExt::tap_io(TcpListener::bind(address).await?, |stream| {
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, app).await?)
}

/// Whose key a request brings, and what it opens.
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

/// The digest of the credential that a request brings.
pub fn bearer(headers: &HeaderMap) -> Result<Digest, ApiError> {
    headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
        .map(|key| digest([key.as_bytes()]))
        .ok_or(ApiError::InvalidToken)
}

/// What no client can help.
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
