//! Refreshes and share links: their requests and answers.

use aws_lc_rs::rand;
use axum::Json;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::product::{Data, Page};
use super::{ApiError, Digest, digest, internal};

pub const HOUR: i64 = 60 * 60 * 1000;
pub const MONTH: i64 = 30 * 24 * HOUR;

#[derive(Deserialize)]
pub struct TokenRequest {
    grant_type: String,
    refresh_token: String,
    pub client_id: String,
    pub install_id: Option<String>,
    pub user_agent: Option<String>,
}

impl TokenRequest {
    pub fn check(&self) -> Result<(), ApiError> {
        match self.grant_type.as_str() {
            "refresh_token" => Ok(()),
            _ => Err(ApiError::InvalidBody("grant_type is refresh_token")),
        }
    }

    /// The digest of the presented token, as stored.
    pub fn digest(&self) -> Digest {
        digest([self.refresh_token.as_bytes()])
    }
}

/// The next tokens of a session.
pub struct Pair {
    access_token: String,
    refresh_token: String,
}

/// The digests of both, as stored.
pub struct Digests {
    pub access: Digest,
    pub refresh: Digest,
}

#[derive(Serialize)]
struct TokenSet {
    access_token: String,
    refresh_token: String,
    token_type: &'static str,
    expires_in: i64,
    user_id: Uuid,
}

impl Pair {
    pub fn random() -> Result<Self, ApiError> {
        Ok(Self {
            access_token: random_token()?,
            refresh_token: random_token()?,
        })
    }

    pub fn digests(&self) -> Digests {
        Digests {
            access: digest([self.access_token.as_bytes()]),
            refresh: digest([self.refresh_token.as_bytes()]),
        }
    }

    pub fn into_response(self, user_id: Uuid) -> Response {
        let tokens = TokenSet {
            access_token: self.access_token,
            refresh_token: self.refresh_token,
            token_type: "Bearer",
            expires_in: HOUR / 1000,
            user_id,
        };
        ([(header::CACHE_CONTROL, "no-store")], Json(tokens)).into_response()
    }
}

fn random_token() -> Result<String, ApiError> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(internal)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The team of a request to the mobile API.
pub fn team(headers: &HeaderMap) -> Result<Uuid, ApiError> {
    headers
        .get("x-team-id")
        .and_then(|team| team.to_str().ok()?.parse().ok())
        .ok_or(ApiError::InvalidQuery("X-Team-Id is missing"))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShareLink {
    pub id: Uuid,
    pub url: String,
    pub name: Option<String>,
    pub item_type: &'static str,
    pub item_id: Uuid,
    pub audience: String,
    pub permissions: Permissions,
    pub password_protected: bool,
    pub expires_at: Option<String>,
    pub status: &'static str,
    pub view_count: i64,
    pub download_count: i64,
    pub last_viewed_at: Option<String>,
    pub created_by: Creator,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    pub can_view: bool,
    pub can_download: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Creator {
    pub id: Uuid,
    pub display_name: String,
}

/// All links of a file, on one page.
pub fn links_response(data: Vec<ShareLink>) -> Response {
    let page = Page {
        data,
        has_more: false,
        next_cursor: None,
    };
    Json(Data { data: page }).into_response()
}
